package track

import (
	"maps"
	"math"
	"slices"

	"github.com/waitcast/waitcast/predictor/residual"
)

// Memory bounds a tracker's memory of users.
type Memory struct {
	// Users is the maximum number of users that are remembered, and of pairs of a user and a queue whose runs are
	// remembered; 8192 by default. Only users without a waiting or running job are forgotten, the least recently seen
	// first. An eighth of the users, or a quarter of the pairs, is forgotten at a time.
	Users int
	// Age is how long a user without a job is remembered, in seconds of event time. The same holds for the runs of a
	// user in a queue and for those of a class. 0 means without end.
	Age float64
}

func (m Memory) withDefaults() Memory {
	if m.Users <= 0 {
		m.Users = 8192
	}
	return m
}

// Forgotten counts the forgotten users and runs since a tracker was made or restored.
type Forgotten struct {
	// UsersForRoom counts users that were forgotten to make room for others. UsersByAge counts users that were not
	// seen for too long.
	UsersForRoom, UsersByAge int
	// Laws counts the runs and the classes of runs that the laws of lifetimes forgot.
	Laws residual.Forgotten
}

// Forgotten returns what was forgotten so far.
func (t *Tracker) Forgotten() Forgotten {
	f := t.forgotten
	f.Laws = t.Laws.Forgotten()
	return f
}

// makeRoomForUsers forgets an eighth of the users, those without a job that were seen least recently.
func (t *Tracker) makeRoomForUsers() {
	// The order of the map does not matter, because no two users were last seen at the same look-up.
	all := slices.Collect(maps.Values(t.Users))
	for _, u := range leastRecentlySeen(all, func(u *user) (uint64, bool) { return u.seen, u.live == 0 }) {
		t.forgetUser(u)
		t.forgotten.UsersForRoom++
	}
}

func (t *Tracker) forgetUser(u *user) {
	delete(t.Users, u.name)
	t.frozen.change(u, len(t.Users))
}

// Expire forgets users and runs that were not seen for too long. It is called after every change of the clock; before
// is the time before the change. It acts only if a new day of event time has begun. So its result depends only on the
// clock and on saved state.
func (t *Tracker) Expire(before float64) {
	today := math.Floor(t.Clock / Day)
	if t.memory.Age <= 0 || math.Floor(before/Day) == today {
		return
	}
	until := today*Day - t.memory.Age
	for _, u := range t.Users {
		if u.live == 0 && !(u.lastSeen() >= until) {
			t.forgetUser(u)
			t.forgotten.UsersByAge++
		}
	}
	t.Laws.Forget(until)
}

// lastSeen returns the time at which a job of the user was last submitted, started or ended, NaN if it is unknown.
func (u *user) lastSeen() float64 {
	last := math.NaN()
	for _, at := range [...]float64{u.LastSubmit, u.LastStart.At, u.History.LastEnd} {
		if !(at <= last) && !math.IsNaN(at) {
			last = at
		}
	}
	return last
}
