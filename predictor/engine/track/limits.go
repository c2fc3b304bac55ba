package track

import (
	"cmp"
	"slices"
	"time"

	"github.com/waitcast/waitcast/cluster/joblimits"
	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/job"
)

// attributes returns what limits depend on.
func (r *Request) attributes() *job.Attributes {
	return &job.Attributes{Queue: r.Queue, User: r.User, Account: r.Account, QOS: r.QOS, Procs: r.Procs, Nodes: r.Nodes,
		Memory: r.Memory, GPUs: r.GPUs, GPUType: r.GPUType, TimeLimit: time.Duration(r.Limit * float64(time.Second))}
}

// BoundsOf returns the limits that hold for a request.
func (f *Facts) BoundsOf(r *Request) []joblimits.Bound { return f.Limits.Of(r.attributes()) }

// SetLimits sets the limits that hold from now on; nil for none.
func (t *Tracker) SetLimits(s *joblimits.Set) {
	t.limits = s
	for _, j := range t.Jobs {
		j.Bounds = s.Of(j.attributes())
	}
}

// Limits returns the limits that hold, nil for none.
func (t *Tracker) Limits() *joblimits.Set { return t.limits }

// CodeLimits passes the limits that hold. It must go before the jobs, which count in them.
func (t *Tracker) CodeLimits(s *codec.Codec) { joblimits.Code(s, &t.limits) }

// ShareLimits takes over the limits of another tracker.
func (t *Tracker) ShareLimits(of *Tracker) {
	t.limits = of.limits
	for id, j := range t.Jobs {
		if other := of.Jobs[id]; other != nil {
			j.Bounds = other.Bounds
		}
	}
}

// SetHold notes why a job is held that was just retired.
func (t *Tracker) SetHold(j *Job, h Hold) {
	j.Hold = h
	t.keep(j)
}

// keep notes a held job of which it is known what keeps it.
func (t *Tracker) keep(j *Job) {
	if j.State != Held || !j.Hold.Limit && !(j.Hold.Until > 0) {
		return
	}
	if i, found := slices.BinarySearchFunc(t.kept, j, inOrder); !found {
		t.kept = slices.Insert(t.kept, i, j)
	}
}

// unkeep forgets what kept a job.
func (t *Tracker) unkeep(j *Job) {
	if i, found := slices.BinarySearchFunc(t.kept, j, inOrder); found {
		t.kept = slices.Delete(t.kept, i, i+1)
	}
}

// inOrder compares jobs by their submissions, those of one instant as they came.
func inOrder(a, b *Job) int {
	return cmp.Or(cmp.Compare(a.Submit, b.Submit), cmp.Compare(a.Number, b.Number))
}

// KeptJobs passes the held jobs of which it is known what keeps them, in the order of their submissions, until each
// returns false: those of limits only where the limits are known.
func (t *Tracker) KeptJobs(each func(*Job) bool) {
	for _, j := range t.kept {
		if (!j.Hold.Limit || len(j.Bounds) > 0) && !each(j) {
			return
		}
	}
}
