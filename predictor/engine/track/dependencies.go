package track

import (
	"cmp"
	"slices"
	"strings"
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

// Named returns the waiting and running jobs that a text of names refers to (see Request.After). It ignores the name
// of a job that has ended.
func (t *Tracker) Named(after string) []*Job {
	return Named(after, func(place string) []*Job { return t.named[place] }, func(j *Job) string { return j.Name })
}

// Named returns the jobs that a text of names refers to (see Request.After). at returns the jobs whose array, or
// which themselves, have a name; nameOf returns the name of a job. A task that has no record of its own waits with
// its array.
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
