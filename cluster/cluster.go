// Package cluster keeps the live picture of one cluster: which jobs run, which wait and in what order, and how many
// processors there are. It is a deterministic fold over events: the same events give the same state, and an event that
// was applied before changes nothing.
package cluster

import (
	"cmp"
	"slices"
	"time"

	"github.com/waitcast/waitcast/job"
)

// DefaultQueue is the name of the queue of jobs whose log names none.
const DefaultQueue = "default"

// memory is the number of jobs that the fold remembers after they left. Older ones are looked up through Known.
const memory = 20_000

// Job is one job in the picture. A published Job is never changed: the fold replaces it.
type Job struct {
	ID string `json:"id"`
	// Attempt counts the job's lives from 0.
	Attempt int `json:"attempt,omitempty"`
	// Seq numbers the submissions of the cluster; a requeued job keeps its own.
	Seq uint64 `json:"seq"`
	job.Attributes
	// FirstQueue is the queue the job was submitted to, even if it was moved since. If the record of the submission has
	// none (Unqueued), it is DefaultQueue until a later record names one.
	FirstQueue string `json:"first_queue"`
	Unqueued   bool   `json:"unqueued,omitempty"`
	// Unsized is true while Procs is a guess: the job runs, and no record has its size.
	Unsized bool `json:"unsized,omitempty"`
	// Given is true once a record since its start had the size: before, Procs is what it asked for.
	Given bool `json:"given,omitempty"`
	// Order is the instant by which the queue is ordered: the job's first submission.
	Order time.Time `json:"order"`
	// Submit is the instant from which the wait of this attempt counts: the submission, or the requeue.
	Submit time.Time `json:"submit"`
	// Eligible is when the job began to compete, where the log has it.
	Eligible time.Time `json:"eligible,omitzero"`
	// Start is when the job got its processors; zero while it waits.
	Start time.Time `json:"start,omitzero"`
	// Held is true while the job waits for something else than processors.
	Held bool `json:"held,omitempty"`
	// Suspended is since when the running job has had no processors; zero while it has them. Paused is how long it had
	// none before.
	Suspended time.Time     `json:"suspended,omitzero"`
	Paused    time.Duration `json:"paused,omitempty"`
	// Switched is when it was suspended or resumed last.
	Switched time.Time `json:"switched,omitzero"`
	// Asked is when the deletion of the running job was asked for; zero if it was not.
	Asked time.Time `json:"asked,omitzero"`
	// Updated is the event time of the newest record with attributes; LastStart is the start of the attempt before this
	// one, if that was requeued. By these a record that is read again is known.
	Updated   time.Time `json:"updated"`
	LastStart time.Time `json:"last_start,omitzero"`
}

// Running reports whether the job has started; a suspended one runs, too.
func (j *Job) Running() bool { return !j.Start.IsZero() }

// DetailsPending reports whether the records so far have neither the job's request nor its allocation: its queue and
// its size, or its size alone, are not known yet.
func (j *Job) DetailsPending() bool { return j.Procs < 1 || j.Unsized }

// Guessed reports whether the size or the queue of a job is a guess because no record has it yet.
func (j *Job) Guessed() bool { return j.Unsized || j.Unqueued }

// DetailsGrace is how long, in event time, one waits for the size and the queue of a job: well above the time between
// two snapshots of a scheduler, and no more than it keeps ended jobs itself (Slurm's MinJobAge is 300 s by default).
const DetailsGrace = 5 * time.Minute

// Holds reports whether the job holds processors.
func (j *Job) Holds() bool { return j.Running() && j.Suspended.IsZero() }

// Age returns how long the job has run at an instant, the times of its suspension left out.
func (j *Job) Age(at time.Time) time.Duration {
	if !j.Suspended.IsZero() && j.Suspended.Before(at) {
		at = j.Suspended
	}
	return max(0, at.Sub(j.Start)-j.Paused)
}

// Left is what the fold remembers of a job that is gone.
type Left struct {
	ID      string `json:"id"`
	Attempt int    `json:"attempt,omitempty"`
	// Submit is its first submission.
	Submit time.Time `json:"submit"`
	// At is when it left: the latest of its end, its cancellation and every other instant that records have of it.
	At time.Time `json:"at"`
	// Began is when its last attempt was submitted or requeued; zero if that never ran.
	Began time.Time `json:"began,omitzero"`
	// Job is the job as it left, if too little was known of it then: a record that comes late may complete it.
	Job *Job `json:"job,omitempty"`
}

// State is the picture of one cluster. It is not safe for concurrent use: one writer folds, readers get a View.
type State struct {
	name       string
	configured int
	highest    int
	used       int
	seq        uint64
	now        time.Time
	jobs       map[string]*Job
	parts      map[string]int // of each whole with live parts, how many
	running    []*Job         // by Start, then Seq
	queued     []*Job         // by Order, then Seq
	doomed     []*Job         // running jobs whose deletion was asked for, by Asked, then Seq
	left       map[string]Left
	leftRing   []string // ids in the order in which they left; next is the oldest
	leftNext   int
	count      Counts

	byHand       []PoolConfig
	facts        *job.Facts // immutable
	rules        *Rules     // immutable, of the facts
	pools        []*pool
	poolOf       map[string]int // by queue; the first pool has the others
	outagesUntil time.Time      // when an outage begins or ends next
}

// Counts reports what became of the events folded so far. Duplicates and Orphans count records that changed nothing, so
// a replay of the changes does not see them; all others come out of it as they were.
type Counts struct {
	Submitted int64 `json:"submitted"`
	Started   int64 `json:"started"`
	Ended     int64 `json:"ended"`
	Cancelled int64 `json:"cancelled"`
	Requeued  int64 `json:"requeued"`
	// Duplicates were applied before.
	Duplicates int64 `json:"duplicates"`
	// Derived events were learnt from a later record.
	Derived int64 `json:"derived"`
	// Orphans speak of a job of which too little is known to place it.
	Orphans int64 `json:"orphans"`
	// LostEnds are jobs that ran and are gone, but whose end was in no record: see Apply.
	LostEnds int64 `json:"lost_ends"`
	// OutOfOrder changes happened before the newest change of the cluster.
	OutOfOrder int64 `json:"out_of_order"`
}

// New returns an empty picture of the named cluster. procs is the configured capacity; 0 means that the highest use
// seen so far counts as the capacity.
func New(name string, procs int) *State {
	s := &State{
		name: name, configured: procs,
		jobs: map[string]*Job{}, parts: map[string]int{}, left: map[string]Left{},
	}
	s.SetPools(nil)
	return s
}

// Name returns the cluster's name.
func (s *State) Name() string { return s.name }

// Now returns the event time of the newest change.
func (s *State) Now() time.Time { return s.now }

// Counts returns what became of the events so far.
func (s *State) Counts() Counts { return s.count }

// Capacity returns the number of processors of the cluster: what its pools have together, the configured number, or the
// highest use seen.
func (s *State) Capacity() int {
	if len(s.pools) == 1 && s.pools[0].Source == FromHighestUse {
		return s.highest
	}
	var procs int64
	for _, p := range s.pools {
		procs += p.Has[Procs]
	}
	return int(procs)
}

// Source is where the capacity is known from: FromConfig, FromScheduler or FromHighestUse; the weakest of those of its
// pools.
func (s *State) Source() string {
	source := s.pools[0].Source
	for _, p := range s.pools {
		if p.Source == FromHighestUse {
			return p.Source
		}
	}
	return source
}

// Used returns the processors that running jobs hold.
func (s *State) Used() int { return s.used }

// Running returns the running jobs by start. The slice belongs to the State and is valid until the next event.
func (s *State) Running() []*Job { return s.running }

// Queued returns the waiting jobs, held ones included, in the order of their submission. The slice belongs to the
// State and is valid until the next event.
func (s *State) Queued() []*Job { return s.queued }

// Job returns the live job with this id, or nil.
func (s *State) Job(id string) *Job { return s.jobs[id] }

// Forgotten reports whether the fold knows nothing about a job of this id: neither live nor recently left. The caller
// may then look further back.
func (s *State) Forgotten(id string) bool {
	if _, live := s.jobs[id]; live {
		return false
	}
	_, known := s.left[id]
	return !known
}

// LeftAt returns when the last life of a job of this id left, as far as the fold remembers or known does; the zero time
// if it lives or was never seen.
func (s *State) LeftAt(id string, known Known) time.Time {
	if _, live := s.jobs[id]; live {
		return time.Time{}
	}
	l, _ := fold{s, &Hooks{Known: known}}.gone(id)
	return l.At
}

func byStart(a, b *Job) int {
	return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.Seq, b.Seq))
}

// ByOrder compares two jobs by the order of their submissions; of the same instant, by their numbers.
func ByOrder(a, b *Job) int {
	return cmp.Or(a.Order.Compare(b.Order), cmp.Compare(a.Seq, b.Seq))
}

func byAsked(a, b *Job) int {
	return cmp.Or(a.Asked.Compare(b.Asked), cmp.Compare(a.Seq, b.Seq))
}

func insert(list []*Job, j *Job, by func(a, b *Job) int) []*Job {
	i, _ := slices.BinarySearchFunc(list, j, by)
	return slices.Insert(list, i, j)
}

func remove(list []*Job, j *Job, by func(a, b *Job) int) []*Job {
	i, found := slices.BinarySearchFunc(list, j, by)
	if !found {
		return list
	}
	return slices.Delete(list, i, i+1)
}

// put adds a job, or a new version of one, to the picture.
func (s *State) put(j *Job) {
	s.jobs[j.ID] = j
	s.countPart(j.ID, 1)
	s.hold(j, 1)
	if j.Running() {
		s.running = insert(s.running, j, byStart)
		if j.Holds() {
			s.used += j.Procs
		}
		if !j.Asked.IsZero() {
			s.doomed = insert(s.doomed, j, byAsked)
		}
		return
	}
	s.queued = insert(s.queued, j, ByOrder)
}

// take removes the present version of a job from the picture.
func (s *State) take(j *Job) {
	delete(s.jobs, j.ID)
	s.countPart(j.ID, -1)
	s.hold(j, -1)
	if j.Running() {
		s.running = remove(s.running, j, byStart)
		if j.Holds() {
			s.used -= j.Procs
		}
		if !j.Asked.IsZero() {
			s.doomed = remove(s.doomed, j, byAsked)
		}
		return
	}
	s.queued = remove(s.queued, j, ByOrder)
}

// remember keeps what must be known of a job that left, and forgets the oldest beyond the limit.
func (s *State) remember(l Left) {
	if _, again := s.left[l.ID]; again {
		s.left[l.ID] = l
		return
	}
	s.left[l.ID] = l
	if len(s.leftRing) < memory {
		s.leftRing = append(s.leftRing, l.ID)
		return
	}
	delete(s.left, s.leftRing[s.leftNext])
	s.leftRing[s.leftNext] = l.ID
	s.leftNext = (s.leftNext + 1) % memory
}
