package track

import (
	"cmp"
	"slices"
	"strings"
)

// place returns the name under which a job is found: that of its array, or its own.
func (r *Request) place() string { return cmp.Or(r.Array, r.Name) }

// name makes a job findable by its name.
func (t *Tracker) name(j *Job) {
	if place := j.place(); place != "" {
		t.named[place] = append(t.named[place], j)
	}
}

// unname undoes name.
func (t *Tracker) unname(j *Job) {
	place := j.place()
	all := slices.DeleteFunc(t.named[place], func(other *Job) bool { return other == j })
	if len(all) == 0 {
		delete(t.named, place)
		return
	}
	t.named[place] = all
}

// countDependent adds n to the number of kept jobs that wait for others' ends, if the job is one of them.
func (t *Tracker) countDependent(j *Job, n int) {
	if j.Hold.After != "" {
		t.dependent += n
	}
}

// Dependent reports whether jobs wait for the ends of others.
func (t *Tracker) Dependent() bool { return t.dependent > 0 }

// Named returns the jobs that wait or run of those that a text of names means, as Request.After has it. A name of none
// is passed over: that job has ended.
func (t *Tracker) Named(after string) []*Job {
	return Named(after, func(place string) []*Job { return t.named[place] }, func(j *Job) string { return j.Name })
}

// Named returns the jobs that a text of names means, as Request.After has it. at returns those of a place, by the name
// of the array or of the job itself; nameOf returns the name of one. A
// task that has no record of its own waits with its
// array.
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
