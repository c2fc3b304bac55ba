package simulator

import (
	"math"
	"sort"

	"github.com/waitcast/waitcast/internal/byend"
)

// Priority starts jobs in order of a priority that is computed at intervals, like Slurm's multifactor plugin and
// backfill scheduler. Jobs start in order up to the first that does not fit. Then other jobs may overtake that one by
// backfilling.
//
// The priority is WeightAge x min(1, wait / MaxAge) + WeightSize x procs / pool (or 1 - that, with FavorSmall) +
// WeightQueue x Queue.Priority / the highest Queue.Priority + WeightFairShare x 2^(-usage / share). Jobs with equal
// priorities are in the order of Pool.Seq. Usage is the user's part of the processor seconds that all users have used;
// used seconds decay with HalfLife. Share is the user's part of the shares of all users seen so far. (Slurm's
// documentation, "Multifactor Priority Plugin" and "Classic Fairshare Algorithm".)
type Priority struct {
	WeightAge, WeightSize, WeightQueue, WeightFairShare float64

	MaxAge   float64 // seconds; 0 means Slurm's 7 days
	HalfLife float64 // seconds; 0 means Slurm's 7 days
	// seconds between two computations of all priorities; 0 means Slurm's 300; negative means every time
	Every      float64
	FavorSmall bool                              // small jobs get the higher priority
	Share      func(int64) float64               // shares of a user, more than 0; nil means equal shares
	Custom     func(j *Job, now float64) float64 // if set, its result is added to the priority

	Backfill Backfill
	// maximum number of waiting jobs that a backfill visits, in order, including the first: bf_max_job_test; 0 means
	// Slurm's 500
	MaxTest int
	Window  float64 // time for which the backfill plans ahead, in seconds: bf_window; 0 means Slurm's day

	ends    byend.List
	order   []ranked // waiting jobs in order of priority
	usage   usage
	updated float64 // time at which all priorities were last computed
	plan    Profile
}

// Backfill is the rule that says which jobs may overtake the first one.
type Backfill uint8

const (
	// BackfillEASY gives a reservation only to the first job.
	BackfillEASY Backfill = iota
	// BackfillConservative plans every visited job, in order, and starts those whose planned start is now. The plan
	// is rebuilt each time. Unlike in Conservative, a later plan may have later starts. A job whose planned start is
	// beyond the window gets no reservation.
	BackfillConservative
	// BackfillNone allows no overtaking.
	BackfillNone
)

// ranked is a waiting job with its priority.
type ranked struct {
	priority float64
	seq      int64
	ref      Ref
}

func (a *ranked) before(b *ranked) bool {
	return a.priority > b.priority || a.priority == b.priority && a.seq < b.seq
}

// New implements Policy.
func (o *Priority) New() Policy {
	return &Priority{
		WeightAge: o.WeightAge, WeightSize: o.WeightSize, WeightQueue: o.WeightQueue,
		WeightFairShare: o.WeightFairShare,
		MaxAge:          orElse(o.MaxAge, 7*86400), HalfLife: orElse(o.HalfLife, 7*86400), Every: orElse(o.Every, 300),
		FavorSmall: o.FavorSmall, Share: o.Share, Custom: o.Custom,
		Backfill: o.Backfill, MaxTest: int(orElse(float64(o.MaxTest), 500)), Window: orElse(o.Window, 86400),
	}
}

func orElse(x, otherwise float64) float64 {
	if x == 0 {
		return otherwise
	}
	return x
}

// Attach implements Policy.
func (o *Priority) Attach(*Pool) {
	o.ends.Reset()
	o.order = o.order[:0]
	o.usage.reset()
	o.updated = math.Inf(-1)
}

// CopyFrom implements Policy.
func (o *Priority) CopyFrom(src Policy) {
	from, ok := src.(*Priority)
	if !ok {
		return
	}
	old := *o
	*o = *from
	o.ends, o.usage, o.plan = old.ends, old.usage, old.plan
	o.ends.CopyFrom(&from.ends)
	o.usage.copyFrom(&from.usage)
	o.order = append(old.order[:0], from.order...)
}

// Submitted implements Policy.
func (o *Priority) Submitted(p *Pool, r Ref) {
	it := ranked{o.Of(p, r), p.Seq(r), r}
	i := sort.Search(len(o.order), func(i int) bool { return it.before(&o.order[i]) })
	o.order = append(o.order, it)
	copy(o.order[i+1:], o.order[i:])
	o.order[i] = it
}

// Withdrawn implements Policy.
func (o *Priority) Withdrawn(_ *Pool, r Ref) {
	for i := range o.order {
		if o.order[i].ref == r {
			o.order = append(o.order[:i], o.order[i+1:]...)
			return
		}
	}
}

// Started implements Policy.
func (o *Priority) Started(p *Pool, r Ref) {
	o.Withdrawn(p, r)
	o.ends.Add(p.item(r))
	o.usage.started(p, r)
}

// Ended implements Policy.
func (o *Priority) Ended(p *Pool, r Ref) {
	o.ends.Remove(p.Expected(r), int32(r))
	o.usage.charge(p, r, o.usage.weight(p.Now(), o.HalfLife))
}

// Overran implements Policy.
func (o *Priority) Overran(p *Pool, r Ref, was float64) {
	o.ends.Remove(was, int32(r))
	o.ends.Add(p.item(r))
}

// Head implements Policy.
func (o *Priority) Head(p *Pool) Ref {
	for i := range o.order {
		if p.unhindered(o.order[i].ref) {
			return o.order[i].ref
		}
	}
	return p.First()
}

// Wake implements Policy. Scheduling again may be useful because a new order may let other jobs start. Wake returns
// +Inf if no job waits, if Every is negative, or if no job runs, because then all jobs that fit have started.
func (o *Priority) Wake() float64 {
	if o.Every < 0 || len(o.order) == 0 || o.ends.Blocks() == 0 {
		return math.Inf(1)
	}
	return o.updated + o.Every
}

// Of returns the present priority of a job.
func (o *Priority) Of(p *Pool, r Ref) float64 {
	j := p.Job(r)
	size := float64(p.Held(r)) / float64(p.Procs())
	if o.FavorSmall {
		size = 1 - size
	}
	x := o.WeightAge*min(1, (p.Now()-j.Submit)/o.MaxAge) + o.WeightSize*size
	if o.WeightQueue != 0 {
		x += o.WeightQueue * p.queuePriority(r)
	}
	if o.WeightFairShare != 0 {
		x += o.WeightFairShare * o.usage.factor(j.User, o.Share)
	}
	if o.Custom != nil {
		x += o.Custom(j, p.Now())
	}
	return x
}

// queuePriority returns the priority of the job's queue, divided by the highest priority of a queue. It is 0 if there
// are no queues, or no queue has a priority.
func (p *Pool) queuePriority(r Ref) float64 {
	q := p.Queue(r)
	if q < 0 {
		return 0
	}
	highest := 0.0
	for i := range p.s.cfg.Queues {
		highest = max(highest, p.s.cfg.Queues[i].Priority)
	}
	if highest == 0 {
		return 0
	}
	return p.s.cfg.Queues[q].Priority / highest
}

// update recomputes all priorities if Every seconds have passed since the last computation.
func (o *Priority) update(p *Pool) {
	if now := p.Now(); o.Every < 0 || now >= o.updated+o.Every {
		o.updated = now
		weight := o.usage.weight(now, o.HalfLife)
		for r := range p.Running() {
			o.usage.charge(p, r, weight)
		}
		for i := range o.order {
			o.order[i].priority = o.Of(p, o.order[i].ref)
		}
		sort.Sort((*byPriority)(o))
	}
}

// byPriority implements sort.Interface on a pointer. With a pointer, sorting does not allocate; with a slice type it
// would.
type byPriority Priority

func (b *byPriority) Len() int           { return len(b.order) }
func (b *byPriority) Less(i, j int) bool { return b.order[i].before(&b.order[j]) }
func (b *byPriority) Swap(i, j int)      { b.order[i], b.order[j] = b.order[j], b.order[i] }

// Schedule implements Policy.
func (o *Priority) Schedule(p *Pool, _ Cause) {
	o.update(p)
	i := 0
	for i < len(o.order) {
		r := o.order[i].ref
		if !p.unhindered(r) {
			i++ // the limit of the job's queue blocks it: skip it
			continue
		}
		if !p.Fits(r) || !p.Start(r) {
			break
		}
		// The job was removed from the order, so i is now the index of the next job.
	}
	if i < len(o.order) && p.Free() > 0 && o.Backfill != BackfillNone {
		o.backfill(p, i)
	}
}

// backfill lets jobs overtake the i-th job, which is the first that must wait.
func (o *Priority) backfill(p *Pool, i int) {
	now, head, reserved := p.Now(), o.order[i].ref, 0
	o.plan.from(p, &o.ends)
	for tested := 0; tested < o.MaxTest && i < len(o.order) && p.Free() > 0; tested++ {
		r := o.order[i].ref
		held, estimate := p.Held(r), p.Estimate(r)
		i++
		if r != head && held > p.roomBeside(p.Queue(r), head) && o.Backfill == BackfillEASY {
			continue
		}
		at := o.plan.Earliest(now, held, estimate)
		switch {
		case at <= now && r != head && held <= p.roomBeside(p.Queue(r), head) && p.Start(r):
			o.plan.Take(now, estimate, held)
			i-- // the next job has moved to this index
		case at <= now+o.Window && (reserved == 0 || o.Backfill == BackfillConservative) && p.unhindered(r):
			o.plan.Take(at, estimate, held)
			reserved++
		}
	}
}
