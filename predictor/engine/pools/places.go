package pools

import "github.com/waitcast/waitcast/predictor/engine/track"

// addPlaces adds to a member of a pool the further queues of the pool in which the job may start. The job competes at
// the best of its ranks in them. A nil pool means the whole machine.
func (m *Machine) addPlaces(p *Pool, f *Facts, j *Member, r *track.Request) {
	for _, place := range r.Places() {
		if place.Queue == r.Queue || p != nil && m.Of[place.Queue] != p {
			continue
		}
		in := r.In(place)
		j.also = append(j.also, place.Queue)
		j.rank = min(j.rank, f.rankOf(&in))
	}
}
