package track

import (
	"cmp"
	"slices"
	"strings"

	"github.com/waitcast/waitcast/internal/codec"
)

// place returns the name under which a job is found: the name of its array, or its own name without an array.
func (r *Request) place() string { return cmp.Or(r.Array, r.Name) }

// name makes a job findable by its name.
func (t *Tracker) name(j *Job) {
	if place := j.place(); place != "" {
		t.named[place] = append(t.named[place], j)
	}
}

// unname removes a job from the index of names.
func (t *Tracker) unname(j *Job) {
	place := j.place()
	all := slices.DeleteFunc(t.named[place], func(other *Job) bool { return other == j })
	if len(all) == 0 {
		delete(t.named, place)
		return
	}
	t.named[place] = all
}

// countDependent adds n to the number of kept jobs that wait for the ends of other jobs, if the job is one of them.
func (t *Tracker) countDependent(j *Job, n int) {
	if j.Hold.After != "" {
		t.dependent += n
	}
}

// Dependent reports whether any job waits for the ends of others.
func (t *Tracker) Dependent() bool { return t.dependent > 0 }

// mostEnded is the maximum number of remembered names of jobs that have ended. A scheduler drops a dependency soon
// after it is fulfilled, so a name is needed only until the next listing.
const mostEnded = 1024

// endedNames are the names under which the jobs that ended last were found.
type endedNames struct {
	known map[string]bool
	ring  []string // ring[next] is the oldest name once the ring is full
	next  int
}

// add records a name.
func (e *endedNames) add(name string) {
	if name == "" || e.known[name] {
		return
	}
	if e.known == nil {
		e.known = map[string]bool{}
	}
	e.known[name] = true
	if len(e.ring) < mostEnded {
		e.ring = append(e.ring, name)
		return
	}
	delete(e.known, e.ring[e.next])
	e.ring[e.next] = name
	e.next = (e.next + 1) % mostEnded
}

// code reads or writes the names, the oldest first.
func (e *endedNames) code(s *codec.Codec) {
	names := slices.Concat(e.ring[e.next:], e.ring[:e.next])
	codec.List(s, &names, func(name *string) { s.Text(name) })
	if !s.Reading {
		return
	}
	for _, name := range names {
		e.add(name)
	}
	if len(e.ring) != len(names) || e.next != 0 {
		s.Fail()
	}
}

// CodeEnded reads or writes the names of jobs that have ended.
func (t *Tracker) CodeEnded(s *codec.Codec) { t.ended.code(s) }

// Knows reports whether each of the job names listed in after (see Request.After) belongs to a job that waits, runs or
// has ended recently. If it is false, a name may belong to a job that the tracker has not received yet.
func (t *Tracker) Knows(after string) bool {
	for name := range strings.SplitSeq(after, ",") {
		whole, _, _ := strings.Cut(name, "_")
		if whole != "" && len(t.named[whole]) == 0 && !t.ended.known[whole] {
			return false
		}
	}
	return true
}

// Named returns the waiting and running jobs that are named in after (see Request.After). It ignores the names of other
// jobs.
func (t *Tracker) Named(after string) []*Job {
	return Named(after, func(place string) []*Job { return t.named[place] }, func(j *Job) string { return j.Name })
}

// Named returns the jobs that are named in after (see Request.After). at returns the jobs that have a name or are tasks
// of the array with that name; nameOf returns the name of a job. For a task without a record of its own, Named returns
// the job of its array.
func Named[J any](after string, at func(place string) []J, nameOf func(J) string) (out []J) {
	for name := range strings.SplitSeq(after, ",") {
		whole, part, _ := strings.Cut(name, "_")
		all := at(whole)
		found := false
		for _, j := range all {
			if part == "*" || nameOf(j) == name {
				out, found = append(out, j), true
			}
		}
		if found || part == "" {
			continue
		}
		for _, j := range all {
			if nameOf(j) == whole {
				out = append(out, j)
			}
		}
	}
	return out
}
