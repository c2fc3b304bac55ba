// Package track follows the jobs, queues and users of one cluster for the forecasting engine, and holds the facts that
// features are made from. Time is in seconds and never goes back. A fact is updated by a change of one job; frozen
// facts are shared between views until they change.
package track

import (
	"math"
	"slices"

	"github.com/waitcast/waitcast/cluster/joblimits"
	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/predictor/residual"
)

// Tracker follows the jobs, queues and users of one cluster. It is not safe for concurrent use.
type Tracker struct {
	levels   []float64
	fixed    bool // the capacity is configured, not estimated from use
	use      useHistory
	Capacity int
	Clock    float64
	Seen     uint64 // queues and users looked at
	Entered  uint64 // jobs taken in
	Codes    int    // queues in all
	Numbers  uint64 // users in all

	Jobs        map[uint64]*Job
	RunningJobs []*Job
	Queues      map[string]*Queue
	InOrder     []*Queue // of their first appearance
	Users       map[string]*user
	Waiting     JobCounts
	Running     Amount
	Line        SubmissionQueue
	Recent      RecentWaits
	LastStart   float64
	LastSubmit  float64
	Rate        ForgettingRate
	Bounds      *BoundHistory // the history of QBETS for all queues
	Laws        *residual.Model
	Past        PastJobs
	Starts      NewestStarts
	Flow        Flow
	clocks      limitClocks
	limits      *joblimits.Set
	kept        []*Job       // held ones of which it is known what keeps them, in the order of their submissions
	sampled     residual.Law // scratch
	frozen      frozenFacts
}

// frozenFacts are the parts of a view that views share until they change.
type frozenFacts struct {
	waiting *JobCounts
	queues  []*QueueFacts
	index   map[string]int // of the queues
	users   *UserTable
	changed []*user
	clocks  *StartClocks
}

// NewTracker returns a tracker without jobs. A capacity of 0 is estimated from use.
func NewTracker(levels []float64, capacity int) *Tracker {
	nan := math.NaN()
	return &Tracker{
		levels: levels, fixed: capacity != 0, Capacity: capacity, Clock: math.Inf(-1), LastStart: nan, LastSubmit: nan,
		Jobs: map[uint64]*Job{}, Queues: map[string]*Queue{}, Users: map[string]*user{},
		Bounds: newBounds(levels),
		Laws:   residual.New(residual.Config{}), Flow: Flow{LastEnd: nan},
	}
}

// Law asks for the law of a job's lifetime by what is known now.
func (t *Tracker) Law(j *Job, now float64) {
	t.Laws.LawInto(&t.sampled, j.Kin(), now)
	j.Law = Sample(&t.sampled)
}

// Kin is the job as the lifetime laws know it.
func (j *Job) Kin() residual.Job {
	return residual.Job{Queue: j.Queue, User: j.User, App: j.App, Procs: j.Procs, Limit: j.Limit}
}

// workLeft returns the work that the running jobs are expected to do yet, and that they may do by their limits.
func (t *Tracker) workLeft(now float64) (expected, limits float64) {
	for _, j := range t.RunningJobs {
		age := math.Max(0, now-j.Start)
		left := math.Max(j.ExpectedRuntime-age, 0)
		expected += float64(j.Procs) * left
		if j.Limit > 0 {
			limits += float64(j.Procs) * math.Max(j.Limit-age, 0)
		} else {
			limits += float64(j.Procs) * left
		}
	}
	return expected, limits
}

// ForgettingRate is an exponentially forgetting rate of events per hour.
type ForgettingRate struct{ Value, Last float64 }

const rateMemory = 3600

// At returns the rate at an instant.
func (r *ForgettingRate) At(now float64) float64 {
	return r.Value * math.Exp(-math.Max(0, now-r.Last)/rateMemory)
}

func (r *ForgettingRate) add(now float64) {
	r.Value = r.At(now) + 1
	r.Last = math.Max(r.Last, now)
}

// Expected returns the runtime to expect: what this user's jobs in this queue took, else what the queue's did, at most
// the limit; in units of 1/64 s.
func Expected(r *Request, q *QueueFacts, u *UserFacts) float64 {
	v := q.Runtimes.Value()
	if m := u.runtimesIn(q.Code); m != nil {
		v = m.Value()
	}
	seconds := 3600.0
	if !math.IsNaN(v) {
		seconds = math.Exp(v)
	} else if r.Limit > 0 {
		seconds = r.Limit / 2
	}
	if r.Limit > 0 {
		seconds = math.Min(seconds, r.Limit)
	}
	return math.Round(math.Min(seconds, waittime.Longest)*64) / 64
}

// Enter makes a job of a queue. It waits once Wait is called.
func (t *Tracker) Enter(id uint64, submitted float64, r Request, q *Queue) *Job {
	t.Entered++
	j := &Job{
		Request: r, ID: id, Number: t.Entered, Submit: submitted, SizeClass: SizeClass(r.Procs),
		LimitClass: LimitClass(r.Limit), QueueState: q, UserState: t.user(r.User),
	}
	j.QueueState.live++
	j.UserState.live++
	j.ExpectedRuntime = Expected(&j.Request, &j.QueueState.QueueFacts, &j.UserState.UserFacts)
	j.Bounds = t.limits.Of(j.attributes())
	return j
}

// Wait counts a job that was just made among those of its user that wait.
func (t *Tracker) Wait(j *Job) {
	t.Jobs[j.ID] = j
	t.Prioritize(j)
	j.UserState.Waiting.Add(j, 1)
	j.UserState.Line.Push(j)
	if u := j.UserState; !(j.Submit < u.LastSubmit) {
		u.LastSubmit, u.LastRequest = j.Submit, j.Request
	}
	if !(j.Submit < t.LastSubmit) {
		t.LastSubmit = j.Submit
	}
	t.Rate.add(j.Submit)
	t.Flow.submitted(j.Submit)
}

// Compete puts a job among those that compete.
func (t *Tracker) Compete(j *Job) {
	t.unkeep(j)
	j.State, j.Hold = Waiting, Hold{}
	t.countWaiting(t.Clock, j, 1)
	t.Waiting.Add(j, 1)
	j.QueueState.Waiting.Add(j, 1)
	t.Line.Push(j)
	j.QueueState.Line.Push(j)
	j.QueueState.Of(j.SizeClass).Waiting.Push(j)
	t.Touch(j)
}

// Retire takes a job from those that compete.
func (t *Tracker) Retire(j *Job, to JobState) {
	if j.State == Waiting {
		t.countWaiting(t.Clock, j, -1)
		t.Waiting.Add(j, -1)
		j.QueueState.Waiting.Add(j, -1)
	}
	t.unkeep(j)
	j.State = to
	if to == Held { // it may come back: the lines would know it twice
		t.Line.Remove(j)
		j.QueueState.Line.Remove(j)
		j.QueueState.Of(j.SizeClass).Waiting.Remove(j)
	}
	t.Touch(j)
}

// Prioritize notes the priority of a job, where it is known: it may be the newest of its queue and of its user.
func (t *Tracker) Prioritize(j *Job) {
	if j.Priority <= 0 {
		return
	}
	if q := j.QueueState; j.Number >= q.prioritized {
		q.NewestPriority, q.prioritized = j.Priority, j.Number
	}
	u, as := j.UserState, j.Request
	if as.Priority = u.LastRequest.Priority; u.LastSubmit == j.Submit && u.LastRequest == as {
		u.LastRequest.Priority = j.Priority
		t.TouchUser(u)
	}
}

// Touch notes that the facts of a job's queue and user change.
func (t *Tracker) Touch(j *Job) {
	t.frozen.waiting, t.frozen.clocks = nil, nil
	q := j.QueueState
	q.frozen = nil
	q.Of(j.SizeClass).frozen = nil
	t.TouchUser(j.UserState)
}

// Run puts a job among those that run.
func (t *Tracker) Run(now float64, j *Job) {
	t.use.add(int(t.Running.Procs), t.Clock)
	t.Running.Add(j, 1)
	j.QueueState.Running.Add(j, 1)
	j.UserState.Running.Add(j, 1)
	t.RunningJobs = append(t.RunningJobs, j)
	t.Laws.Started(int64(j.ID), j.Kin(), j.Start)
	t.Law(j, now)
	t.use.widest = max(t.use.widest, j.Procs)
	t.estimateCapacity()
	t.Touch(j)
}

// Learn learns from a wait, given as its logarithm.
func (t *Tracker) Learn(now float64, j *Job, z float64) {
	s := j.QueueState.Of(j.SizeClass)
	s.SimilarFacts.Recent.add(z)
	if !(now < s.LastStart) {
		s.LastStart, s.LastWait = now, z
	}
	if !(j.Submit < s.Newest.Submit) {
		s.Newest = newest{j.Submit, z}
	}
	s.SimilarFacts.Learnt++
	s.latest.add(z)
	s.Lately = nil
	j.QueueState.Recent.add(z)
	t.Recent.add(z)
	if !(now < t.LastStart) {
		t.LastStart = now
	}
	j.UserState.Recent.add(z)
	if !(now < j.UserState.LastStart.At) {
		j.UserState.LastStart = LastStart{now, z}
	}
	j.UserState.started(j.QueueState.Code, j.SizeClass, LastStart{now, z})
	t.learnEvidence(now, j, z)
	t.Touch(j)
}

// learnEvidence learns from a wait what later requests compare themselves with.
func (t *Tracker) learnEvidence(now float64, j *Job, z float64) {
	l := LastStart{now, z}
	j.UserState.History.started(j, l)
	j.QueueState.Of(j.SizeClass).startedSize(j.Procs, l)
	t.Starts.record(StartRecord{At: now, Submit: j.Submit, Wait: z, Limit: j.Limit, Procs: j.Procs,
		Queue: j.QueueState.Code})
	t.countStart(now, j)
}

// Ended learns from the end of a job.
func (t *Tracker) Ended(now float64, j *Job) {
	seconds := math.Max(1, now-j.Start)
	z := math.Log(seconds)
	j.QueueState.Runtimes.Add(z, .98)
	j.UserState.Ran(j.QueueState.Code, z)
	j.UserState.History.ended(now, j, seconds)
	t.Flow.ended(now, float64(j.Procs))
}

// Stop takes a job from those that run.
func (t *Tracker) Stop(j *Job, to JobState) {
	j.State = to
	t.use.add(int(t.Running.Procs), t.Clock)
	t.Running.Add(j, -1)
	j.QueueState.Running.Add(j, -1)
	j.UserState.Running.Add(j, -1)
	i := slices.Index(t.RunningJobs, j)
	t.RunningJobs = slices.Delete(t.RunningJobs, i, i+1)
	t.estimateCapacity()
	t.Touch(j)
}

// estimateCapacity brings the capacity up to date where it is not configured.
func (t *Tracker) estimateCapacity() {
	if !t.fixed {
		t.Capacity = t.use.procs(int(t.Running.Procs))
	}
}

// CodeUse passes from what the capacity is estimated.
func (t *Tracker) CodeUse(s *codec.Codec) { t.use.code(s) }

// Forget drops a job that has left.
func (t *Tracker) Forget(j *Job) {
	delete(t.Jobs, j.ID)
	t.Release(j)
}

// Release takes a job that is counted nowhere from its queue and user. Then Assign must follow.
func (t *Tracker) Release(j *Job) {
	j.QueueState.live--
	j.UserState.live--
}

// Assign gives a released job another request, in a queue.
func (t *Tracker) Assign(j *Job, r Request, q *Queue) {
	j.Request, j.SizeClass, j.LimitClass = r, SizeClass(r.Procs), LimitClass(r.Limit)
	j.QueueState, j.UserState = q, t.user(r.User)
	j.QueueState.live++
	j.UserState.live++
	j.ExpectedRuntime = Expected(&j.Request, &j.QueueState.QueueFacts, &j.UserState.UserFacts)
	j.Bounds = t.limits.Of(j.attributes())
	t.Prioritize(j)
}

// queueTable is every queue's facts.
type queueTable struct {
	All   []*QueueFacts // in the order in which they were first seen
	Index map[string]int
	Codes int
}

// queueTable returns every queue's facts as they are.
func (t *Tracker) queueTable() queueTable {
	f := &t.frozen
	if f.index == nil {
		f.queues, f.index = nil, map[string]int{}
		for i, q := range t.InOrder {
			f.index[q.Name] = i
		}
	}
	table := queueTable{All: f.queues, Index: f.index, Codes: t.Codes}
	same := len(f.queues) == len(t.InOrder)
	for i := 0; same && i < len(t.InOrder); i++ {
		same = t.InOrder[i].frozen != nil
	}
	if !same {
		table.All = make([]*QueueFacts, len(t.InOrder))
		for i, q := range t.InOrder {
			table.All[i] = q.freeze(t.levels)
		}
		f.queues = table.All
	}
	return table
}

// Facts is what a tracker knows at one instant. It does not change.
type Facts struct {
	Instant  float64
	Levels   []float64
	Capacity int

	Waiting              *JobCounts
	Running              Amount
	Oldest               float64
	WorkLeft, LimitsLeft float64
	Recent               RecentWaits
	LastStart            float64
	LastSubmit           float64
	Rate                 ForgettingRate
	Bounds               []float64 // of QBETS, for all queues

	Starts []StartRecord // the newest ones
	Flow   Flow
	Clocks *StartClocks // by limit class

	Queues queueTable
	Users  *UserTable

	Limits *joblimits.Set
}

// Facts returns the state at an instant.
func (t *Tracker) Facts(now float64) Facts {
	f := Facts{
		Instant: now, Levels: t.levels, Capacity: t.Capacity, Running: t.Running, Oldest: t.Line.oldest(),
		Recent: t.Recent, LastStart: t.LastStart, LastSubmit: t.LastSubmit, Rate: t.Rate,
		Bounds: t.Bounds.at(t.levels), Queues: t.queueTable(), Users: t.userTable(), Limits: t.limits,
	}
	if t.frozen.waiting == nil {
		waiting := t.Waiting
		t.frozen.waiting = &waiting
	}
	if t.frozen.clocks == nil {
		t.frozen.clocks = t.clocks.tables()
	}
	f.Starts, f.Flow, f.Clocks = t.Starts.Window(), t.Flow, t.frozen.clocks
	f.Waiting = t.frozen.waiting
	f.WorkLeft, f.LimitsLeft = t.workLeft(now)
	return f
}
