// Package track follows the jobs, queues and users of one cluster for the forecasting engine, and has the facts from
// which features are computed. Time is in seconds and never goes back. Each change of a job updates facts; frozen facts
// are shared between views until they change.
package track

import (
	"cmp"
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
	memory   Memory
	fixed    bool // true if the capacity is configured, not estimated from use
	use      useHistory
	Capacity int
	Clock    float64
	Seen     uint64 // number of look-ups of queues and users
	Entered  uint64 // number of jobs that were taken in
	Codes    int    // number of queues so far
	Numbers  uint64 // number of users so far

	Jobs        map[uint64]*Job
	RunningJobs []*Job
	Queues      map[string]*Queue
	InOrder     []*Queue // the queues in the order of their first appearance
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
	kept        []*Job // the held jobs with a known cause, in the order of their submissions
	dependent   int    // number of kept jobs that wait for the ends of others
	named       map[string][]*Job
	ended       endedNames
	sampled     residual.Law // scratch memory
	frozen      frozenFacts
	forgotten   Forgotten
}

// frozenFacts holds the parts of a view that views share until they change.
type frozenFacts struct {
	waiting *JobCounts
	queues  []*QueueFacts
	index   map[string]int // index of each queue in queues, by name
	users   *UserTable
	changed []*user
	// outdated is true if the next table must be made again from all users.
	outdated bool
	clocks   *StartClocks
}

// NewTracker returns a tracker without jobs. If capacity is 0, the capacity is estimated from use.
func NewTracker(levels []float64, capacity int, m Memory) *Tracker {
	m = m.withDefaults()
	nan := math.NaN()
	return &Tracker{
		levels: levels, memory: m, fixed: capacity != 0, Capacity: capacity, Clock: math.Inf(-1), LastStart: nan,
		LastSubmit: nan,
		Jobs:       map[uint64]*Job{}, Queues: map[string]*Queue{}, Users: map[string]*user{},
		named:  map[string][]*Job{},
		Bounds: newBounds(levels),
		Laws:   residual.New(residual.Config{Users: m.Users}), Flow: Flow{LastEnd: nan},
	}
}

// Law updates the law of a job's lifetime to the present knowledge.
func (t *Tracker) Law(j *Job, now float64) {
	t.Laws.LawInto(&t.sampled, j.Kin(), now)
	j.Law = Sample(&t.sampled)
}

// Kin converts the job to the type of the lifetime laws.
func (j *Job) Kin() residual.Job {
	return residual.Job{Queue: j.Queue, User: j.User, App: j.App, Procs: j.Procs, Limit: j.Limit}
}

// workLeft returns the remaining work of the running jobs, in processor-seconds: the expected work, and the maximum by
// their limits. For a job without a limit the expected work counts in both sums.
func (t *Tracker) workLeft(now float64) (expected, limits float64) {
	for _, j := range t.RunningJobs {
		age := max(0, now-j.Start)
		left := max(j.ExpectedRuntime-age, 0)
		expected += float64(j.Procs) * left
		if j.Limit > 0 {
			limits += float64(j.Procs) * max(j.Limit-age, 0)
		} else {
			limits += float64(j.Procs) * left
		}
	}
	return expected, limits
}

// ForgettingRate is a rate of events per hour in which older events count exponentially less.
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

// Expected returns the expected runtime of a request in seconds, rounded to 1/64 s and at most the limit. It is the
// geometric mean over the user's jobs in the queue, or without any over the queue's jobs. If the queue has none either,
// it is half the limit, or an hour without a limit.
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

// Enter creates a job of a queue. It counts as waiting once Wait is called.
func (t *Tracker) Enter(id uint64, submitted float64, r Request, q *Queue) *Job {
	t.Entered++
	j := &Job{
		Request: r, ID: id, Number: t.Entered, Submit: submitted, SizeClass: SizeClass(r.Procs),
		LimitClass: LimitClass(r.Limit), QueueState: q, UserState: t.user(r.User),
	}
	j.QueueState.live++
	j.UserState.live++
	j.ExpectedRuntime = Expected(&j.Request, &j.QueueState.QueueFacts, &j.UserState.UserFacts)
	j.Bounds, j.Prioritized = j.boundsIn(t.limits), submitted
	return j
}

// mostNewest is the maximum number of newest waiting, running and kept jobs that are searched for new ones.
const mostNewest = 256

// EnteredAfter returns the running jobs, the competing jobs and the jobs that a limit keeps, if they were taken in
// after the job with the given number. They are in the order in which they were taken in. Of each kind only the newest
// mostNewest are searched.
func (t *Tracker) EnteredAfter(number uint64) (out []*Job) {
	for _, jobs := range [...][]*Job{t.Line.Waiting(), t.RunningJobs, t.kept} {
		for _, j := range jobs[max(0, len(jobs)-mostNewest):] {
			if j.Number > number && (j.State != Held || j.Hold.Limit) {
				out = append(out, j)
			}
		}
	}
	slices.SortFunc(out, func(a, b *Job) int { return cmp.Compare(a.Number, b.Number) })
	return out
}

// Wait records the submission of a new job, and counts the job among the waiting jobs of its user.
func (t *Tracker) Wait(j *Job) {
	t.Jobs[j.ID] = j
	t.name(j)
	t.Prioritize(j)
	j.UserState.Waiting.Add(j, 1)
	j.UserState.Line.Push(j)
	if u := j.UserState; !(j.Submit < u.LastSubmit) {
		u.LastSubmit, u.LastRequest = j.Submit, j.kin()
	}
	if !(j.Submit < t.LastSubmit) {
		t.LastSubmit = j.Submit
	}
	t.Rate.add(j.Submit)
	t.Flow.submitted(j.Submit)
}

// Compete adds a job to the competing ones.
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

// Retire removes a waiting job from the competing ones, or a held job from those with a known reason, and sets its new
// state.
func (t *Tracker) Retire(j *Job, to JobState) {
	if j.State == Waiting {
		t.countWaiting(t.Clock, j, -1)
		t.Waiting.Add(j, -1)
		j.QueueState.Waiting.Add(j, -1)
	}
	t.unkeep(j)
	j.State = to
	if to == Held { // a held job may come back, and would then be in the queue twice
		t.Line.Remove(j)
		j.QueueState.Line.Remove(j)
		j.QueueState.Of(j.SizeClass).Waiting.Remove(j)
	}
	t.Touch(j)
}

// Prioritize records the priority of a job, if it is known. It becomes the newest priority of the queue unless a later
// job has one. If the job is the last request of its user, the priority is recorded there, too.
func (t *Tracker) Prioritize(j *Job) {
	if j.Priority <= 0 {
		return
	}
	if q := j.QueueState; j.Number >= q.prioritized {
		q.NewestPriority, q.prioritized = j.Priority, j.Number
	}
	u, as := j.UserState, j.kin()
	if as.Priority = u.LastRequest.Priority; u.LastSubmit == j.Submit && u.LastRequest == as {
		u.LastRequest.Priority = j.Priority
		t.TouchUser(u)
	}
}

// Touch invalidates the frozen facts of a job's queue and user, the frozen counts of all waiting jobs, and the clocks.
func (t *Tracker) Touch(j *Job) {
	t.frozen.waiting, t.frozen.clocks = nil, nil
	q := j.QueueState
	q.frozen = nil
	q.Of(j.SizeClass).frozen = nil
	t.TouchUser(j.UserState)
}

// Run adds a job to the running ones, and updates the law of its lifetime. It also updates the capacity, if that is
// estimated.
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

// Learn records the wait of a job that starts, given as its logarithm z, in the statistics of its queue, size class and
// user, and of all jobs.
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

// learnEvidence records a wait, given as its logarithm z, among the newest starts: of the user, of jobs of the same
// size, and of all jobs. It also counts the start in the clocks.
func (t *Tracker) learnEvidence(now float64, j *Job, z float64) {
	l := LastStart{now, z}
	j.UserState.History.started(j, l)
	j.QueueState.Of(j.SizeClass).startedSize(j.Procs, l)
	t.Starts.record(StartRecord{At: now, Submit: j.Submit, Wait: z, Limit: j.Limit, Procs: j.Procs,
		Queue: j.QueueState.Code})
	t.countStart(now, j)
}

// Ended records the runtime of a job that ends, and the processors that become free.
func (t *Tracker) Ended(now float64, j *Job) {
	seconds := math.Max(1, now-j.Start)
	z := math.Log(seconds)
	j.QueueState.Runtimes.Add(z, .98)
	j.UserState.Ran(j.QueueState.Code, z)
	j.UserState.History.ended(now, j, seconds)
	t.Flow.ended(now, float64(j.Procs))
}

// Stop removes a job from the running ones, and sets its new state. It also updates the capacity, if that is estimated.
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

// estimateCapacity updates the capacity unless it is configured.
func (t *Tracker) estimateCapacity() {
	if !t.fixed {
		t.Capacity = t.use.procs(int(t.Running.Procs))
	}
}

// CodeUse reads or writes the history from which the capacity is estimated.
func (t *Tracker) CodeUse(s *codec.Codec) { t.use.code(s) }

// Forget drops a job that has left. If no other job has its name, the name is remembered as that of an ended job.
func (t *Tracker) Forget(j *Job) {
	delete(t.Jobs, j.ID)
	t.Release(j)
	if place := j.place(); len(t.named[place]) == 0 {
		t.ended.add(place)
	}
}

// Release removes a job from its queue and user. The job must no longer count as waiting or running (see Retire and
// Stop). Unless the job is dropped, Assign must follow.
func (t *Tracker) Release(j *Job) {
	t.unname(j)
	j.QueueState.live--
	if j.UserState.live--; j.UserState.live == 0 {
		j.UserState.Line = SubmissionQueue{} // the list would keep jobs that have left until it is read
	}
}

// Assign gives a released job another request, in a queue.
func (t *Tracker) Assign(j *Job, r Request, q *Queue) {
	if r.Priority != j.Priority {
		j.Prioritized = t.Clock
	}
	j.Request, j.SizeClass, j.LimitClass = r, SizeClass(r.Procs), LimitClass(r.Limit)
	t.name(j)
	j.QueueState, j.UserState = q, t.user(r.User)
	j.QueueState.live++
	j.UserState.live++
	j.ExpectedRuntime = Expected(&j.Request, &j.QueueState.QueueFacts, &j.UserState.UserFacts)
	j.Bounds = j.boundsIn(t.limits)
	t.Prioritize(j)
}

// queueTable holds the facts of every queue.
type queueTable struct {
	All   []*QueueFacts // in the order in which the queues were first seen
	Index map[string]int
	Codes int
}

// queueTable returns the present facts of every queue.
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

// Facts is the state of a tracker at one instant. It is immutable.
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
	Bounds               []float64 // QBETS's bounds for all queues

	Starts []StartRecord // the newest starts
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
