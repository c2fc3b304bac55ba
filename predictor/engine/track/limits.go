package track

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/waitcast/waitcast/cluster/joblimits"
	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/job"
)

// attributes returns the attributes on which limits depend.
func (r *Request) attributes() *job.Attributes {
	return &job.Attributes{Queue: r.Queue, User: r.User, Account: r.Account, QOS: r.QOS, Procs: r.Procs, Nodes: r.Nodes,
		Memory: r.Memory, GPUs: r.GPUs, GPUType: r.GPUType, Group: r.Group, Whole: r.Whole,
		TimeLimit: time.Duration(r.Limit * float64(time.Second))}
}

// boundsIn returns the limits that apply to a request: the limits of a set, and the throttle of the request's array.
func (r *Request) boundsIn(s *joblimits.Set) []joblimits.Bound {
	bounds := s.Of(r.attributes())
	if r.Throttle > 0 && r.place() != "" {
		bounds = append(bounds, joblimits.OfArray(r.place(), r.Throttle))
	}
	return bounds
}

// BoundsOf returns the limits that apply to a request.
func (f *Facts) BoundsOf(r *Request) []joblimits.Bound { return r.boundsIn(f.Limits) }

// MayPreempt reports whether a request may preempt running jobs by the rules of a set.
func (r *Request) MayPreempt(s *joblimits.Set) bool { return s.MayPreempt(r.attributes()) }

// Preempts reports whether a request may preempt a job that has run for some seconds, by the rules of a set. grace is
// the number of seconds for which the preempted job still runs.
func (r *Request) Preempts(s *joblimits.Set, victim *Request, ran float64) (may bool, grace float64) {
	lasted := time.Duration(math.Max(0, math.Min(ran, 1e9)) * float64(time.Second))
	may, left := s.Preempts(r.attributes(), victim.attributes(), lasted)
	return may, left.Seconds()
}

// SetLimits sets the limits from now on; nil for none.
func (t *Tracker) SetLimits(s *joblimits.Set) {
	t.limits = s
	for _, j := range t.Jobs {
		j.Bounds = j.boundsIn(s)
	}
}

// Limits returns the limits in force, nil for none.
func (t *Tracker) Limits() *joblimits.Set { return t.limits }

// CodeLimits reads or writes the limits. It must be called before CodeJobs, because the jobs are counted in the
// limits.
func (t *Tracker) CodeLimits(s *codec.Codec) { joblimits.Code(s, &t.limits) }

// ShareLimits copies the limits of another tracker, and the limits of those jobs that both trackers have.
func (t *Tracker) ShareLimits(of *Tracker) {
	t.limits = of.limits
	for id, j := range t.Jobs {
		if other := of.Jobs[id]; other != nil {
			j.Bounds = other.Bounds
		}
	}
}

// SetHold records the reason why a job that was just retired is held.
func (t *Tracker) SetHold(j *Job, h Hold) {
	j.Hold = h
	t.keep(j)
}

// keep adds a job to t.kept if it is held for a known reason.
func (t *Tracker) keep(j *Job) {
	if j.State != Held || !j.Hold.isKnown() {
		return
	}
	if i, found := slices.BinarySearchFunc(t.kept, j, inOrder); !found {
		t.kept = slices.Insert(t.kept, i, j)
		t.countDependent(j, 1)
	}
}

// unkeep removes a job from t.kept, if it is there.
func (t *Tracker) unkeep(j *Job) {
	if i, found := slices.BinarySearchFunc(t.kept, j, inOrder); found {
		t.kept = slices.Delete(t.kept, i, i+1)
		t.countDependent(j, -1)
	}
}

// inOrder compares jobs by their submissions, and jobs of one instant by their order of arrival.
func inOrder(a, b *Job) int {
	return cmp.Or(cmp.Compare(a.Submit, b.Submit), cmp.Compare(a.Number, b.Number))
}

// KeptJobs calls each for every held job whose reason is known, in order of submission, until each returns false. It
// includes jobs that are held by limits only if the limits are known.
func (t *Tracker) KeptJobs(each func(*Job) bool) {
	for _, j := range t.kept {
		if (!j.Hold.Limit || len(j.Bounds) > 0) && !each(j) {
			return
		}
	}
}
