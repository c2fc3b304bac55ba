package pools

import (
	"cmp"
	"slices"
	"sort"

	"github.com/waitcast/waitcast/predictor/engine/track"
)

// chain finds the jobs for whose ends the held jobs of a pool wait. Its zero value is ready for use.
type chain struct {
	played    map[uint64]bool // the simulated jobs among the waiting ones, by id
	elsewhere map[uint64]bool // the jobs of Facts.elsewhere, by id
}

// add records that a held job is simulated.
func (c *chain) add(w *track.Job) {
	if c.played != nil {
		c.played[w.ID] = true
	}
}

// link returns the keys of the jobs that are named in after, for whose ends a held job waits. It adds those of them
// that run in other pools to f.elsewhere. known is false if one of the jobs is not simulated or not known, so that its
// end is unknown.
func (c *chain) link(m *Machine, p *Pool, f *Facts, after string) (keys []uint64, known bool) {
	if c.played == nil {
		c.played, c.elsewhere = map[uint64]bool{}, map[uint64]bool{}
		for i := range f.queued {
			c.played[f.queued[i].key-1] = true
		}
		for i := range f.elsewhere {
			c.elsewhere[f.elsewhere[i].key-1] = true
		}
	}
	if !m.tracker.Knows(after) {
		return nil, false
	}
	for _, j := range m.tracker.Named(after) {
		switch here := p == nil || m.At(j.QueueState) == p; {
		case j.State != track.Running && !c.played[j.ID]:
			return nil, false
		case j.State == track.Running && !here && !c.elsewhere[j.ID]:
			c.elsewhere[j.ID] = true
			f.elsewhere = append(f.elsewhere, elsewhere(j))
		}
		keys = append(keys, j.ID+1)
	}
	return keys, true
}

// Linked returns the jobs that are named in after (see track.Request.After), and the jobs for which these wait in turn.
// It returns only jobs that f lacks, for example because they became known after f was made. here reports whether a
// queue belongs to the pool f. A job that runs in another pool is returned without processors. For a large pool Linked
// returns no jobs.
func (f *Facts) Linked(t *track.Tracker, after string, here func(queue string) bool) (out []Member) {
	if after == "" || f.Large {
		return nil
	}
	known := map[uint64]bool{}
	for _, jobs := range [...][]Member{f.Running, f.queued, f.elsewhere} {
		for i := range jobs {
			known[jobs[i].key] = true
		}
	}
	var add func(after string)
	add = func(after string) {
		for _, j := range t.Named(after) {
			if known[j.ID+1] {
				continue
			}
			known[j.ID+1] = true
			if j.State == track.Running && !here(j.Queue) {
				out = append(out, elsewhere(j))
				continue
			}
			w := f.member(j)
			w.eligible, w.tasks = 0, 0
			if j.After != "" {
				for _, other := range t.Named(j.After) {
					w.after = append(w.after, other.ID+1)
				}
				add(j.After)
			}
			out = append(out, w)
		}
	}
	add(after)
	return out
}

// Beside converts waiting jobs, which the pool must not have, to the form of RankedRequest.Beside. For a large pool, or
// if f is nil, it returns none.
func (f *Facts) Beside(jobs []*track.Job) (out []Member) {
	if f == nil || f.Large {
		return nil
	}
	for _, j := range jobs {
		w := f.member(j)
		w.owner = f.ownerOf(&RankedRequest{Request: j.Request})
		if n := f.nodes.Nodes; n != nil {
			w.needs = n.needs(w.Queue, w.Procs, &w.asks, false)
		}
		out = append(out, w)
	}
	return eachTask(out)
}

// withBeside adds the jobs of RankedRequest.Beside to the pool f, which must be a copy.
func (f *Facts) withBeside(jobs []Member) {
	for _, w := range jobs {
		if n := f.nodes.Nodes; n != nil {
			f.nodes.binds = f.nodes.binds || n.bindsOf(w.needs, w.Procs)
			f.nodes.memory = f.nodes.memory || w.needs != nil && w.needs.Memory > 0
		}
		f.limited = f.limited || len(w.bounds) > 0
		f.insert(w)
	}
}

// insert adds a job at its place to the queue of the pool f, which must be a copy.
func (f *Facts) insert(w Member) {
	place := len(f.queued)
	if f.fitted == nil && f.ranked() {
		place = sort.Search(len(f.queued), func(i int) bool { return f.queued[i].rank > w.rank })
	}
	f.queued = slices.Insert(f.queued, place, w)
}

// withLinked returns the pool with the jobs of r.Beside and r.Linked added. A job in both lists is added once. r may be
// nil.
func (f *Facts) withLinked(r *RankedRequest) *Facts {
	if r == nil || len(r.Linked) == 0 && len(r.Beside) == 0 {
		return f
	}
	g := *f
	g.queued, g.elsewhere = slices.Clone(f.queued), slices.Clip(f.elsewhere)
	g.withBeside(r.Beside)
	for i := range r.Linked {
		w := r.Linked[i]
		if w.Procs == 0 { // it runs in another pool
			g.elsewhere = append(g.elsewhere, w)
			continue
		}
		w.owner = f.ownerOf(r)
		if !slices.ContainsFunc(r.Beside, func(b Member) bool { return b.key == w.key }) {
			g.insert(w)
		}
	}
	return &g
}

// isLinked reports whether a simulated job, or a request (nil for none), waits for the ends of other jobs.
func (f *Facts) isLinked(r *RankedRequest) bool {
	return r != nil && r.After != "" ||
		slices.ContainsFunc(f.queued, func(w Member) bool { return len(w.after) > 0 })
}

// WaitsForOthers reports whether a request waits for the ends of simulated jobs.
func (f *Facts) WaitsForOthers(r *RankedRequest) bool { return len(f.after(r)) > 0 }

// after returns the keys of the simulated jobs for whose ends a request waits.
func (f *Facts) after(r *RankedRequest) (keys []uint64) {
	if r.After == "" {
		return nil
	}
	at := map[string][]*Member{}
	for _, jobs := range [...][]Member{f.Running, f.queued, f.elsewhere} {
		for i := range jobs {
			j := &jobs[i]
			at[cmp.Or(j.array, j.name)] = append(at[cmp.Or(j.array, j.name)], j)
		}
	}
	for _, j := range track.Named(r.After, func(place string) []*Member { return at[place] },
		func(j *Member) string { return j.name }) {
		keys = append(keys, j.key)
	}
	return keys
}
