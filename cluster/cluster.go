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

// DefaultQueue is the queue of jobs whose records name no queue.
const DefaultQueue = "default"

// memory is the number of jobs that the fold remembers after they left. Known looks up older ones.
const memory = 20_000

// Job is one job in the picture. A published Job is never changed: the fold replaces it by a new one.
type Job struct {
	ID string `json:"id"`
	// Attempt numbers the attempts of the job from 0.
	Attempt int `json:"attempt,omitempty"`
	// Seq numbers the submissions of the cluster. A requeued job keeps its number.
	Seq uint64 `json:"seq"`
	job.Attributes
	// FirstQueue is the queue to which the job was submitted, even if it was moved since. If the record of the
	// submission has no queue (Unqueued), FirstQueue is DefaultQueue until a later record names one.
	FirstQueue string `json:"first_queue"`
	Unqueued   bool   `json:"unqueued,omitempty"`
	// Unsized is true while Procs is a guess: the job runs, and no record has its size.
	Unsized bool `json:"unsized,omitempty"`
	// Given is true if a record since the start has the size. Until then Procs is the requested number.
	Given bool `json:"given,omitempty"`
	// Order is the instant by which the queue is ordered: the job's first submission.
	Order time.Time `json:"order"`
	// Submit is the instant from which the wait of this attempt counts: the submission, or the requeue.
	Submit time.Time `json:"submit"`
	// Eligible is the instant at which the job began to compete, if the log has it.
	Eligible time.Time `json:"eligible,omitzero"`
	// Start is the instant at which the job got its processors; zero while it waits.
	Start time.Time `json:"start,omitzero"`
	// Held is true while the job waits for something other than processors.
	Held bool `json:"held,omitempty"`
	// Split is the number of tasks that have left the record of the array so far, because each got a record of its own.
	Split int `json:"split,omitempty"`
	// Suspended is the time at which a running job was suspended; zero if the job has its processors. Paused is the
	// total length of earlier suspensions.
	Suspended time.Time     `json:"suspended,omitzero"`
	Paused    time.Duration `json:"paused,omitempty"`
	// Switched is the time of the last suspension or resumption.
	Switched time.Time `json:"switched,omitzero"`
	// Asked is the time at which the deletion of the running job was requested; zero if it was not.
	Asked time.Time `json:"asked,omitzero"`
	// Over is the time at which the job ended although no record has its start; zero for all other jobs. Such a job
	// counts as held until a record has its start, or until UnseenGrace is over. Its start lies between Waited() and
	// Over.
	Over time.Time `json:"over,omitzero"`
	// Ends is true if the record of the start has the end, too, which comes later. Such a job is never overdue.
	Ends bool `json:"ends,omitempty"`
	// Updated is the event time of the newest record with attributes. LastStart is the start of the previous attempt,
	// if that was requeued. With both, a record that is read a second time is recognized.
	Updated   time.Time `json:"updated"`
	LastStart time.Time `json:"last_start,omitzero"`
}

// Waited returns the newest time at which the job is known to have waited. The job must not be running.
func (j *Job) Waited() time.Time { return later(j.Submit, j.Updated) }

// Running reports whether the job has started. A suspended job counts as running.
func (j *Job) Running() bool { return !j.Start.IsZero() }

// DetailsPending reports whether the size of the job, and perhaps its queue, is still unknown, because no record so far
// has its request or its allocation.
func (j *Job) DetailsPending() bool { return j.Procs < 1 || j.Unsized }

// Guessed reports whether the size or the queue of a job is a guess because no record has it yet.
func (j *Job) Guessed() bool { return j.Unsized || j.Unqueued }

// Reported returns the attributes that are in records of the job. It leaves out guesses of the size and the queue,
// even if a guess is right by chance.
func (j *Job) Reported() job.Attributes {
	a := j.Attributes
	if j.Unqueued {
		a.Queue = ""
	}
	if j.Unsized {
		a.Procs = 0
	}
	return a
}

// DetailsGrace is how long, in event time, the daemon waits for the size and the queue of a job. It is well above the
// time between two listings of a scheduler. It is at most the time for which a scheduler keeps ended jobs (Slurm's
// MinJobAge is 300 s by default).
const DetailsGrace = 5 * time.Minute

// Holds reports whether the job holds processors.
func (j *Job) Holds() bool { return j.Running() && j.Suspended.IsZero() }

// Age returns the running time of the job at an instant, without its suspensions.
func (j *Job) Age(at time.Time) time.Duration {
	if !j.Suspended.IsZero() && j.Suspended.Before(at) {
		at = j.Suspended
	}
	return max(0, at.Sub(j.Start)-j.Paused)
}

// Left is the part of a gone job that the fold remembers.
type Left struct {
	ID      string `json:"id"`
	Attempt int    `json:"attempt,omitempty"`
	// Submit is the first submission of the job.
	Submit time.Time `json:"submit"`
	// At is the time at which the job left. It is the end or the cancellation, but not before the start and the
	// submission.
	At time.Time `json:"at"`
	// Began is the time at which its last attempt was submitted or requeued; zero if that attempt never ran.
	Began time.Time `json:"began,omitzero"`
	// Job is the job as it was when it left, if too little was known of it then. A record that comes late may
	// complete it.
	Job *Job `json:"job,omitempty"`
}

// State is the picture of one cluster. It is not safe for concurrent use: one writer folds, and readers get a View.
type State struct {
	name       string
	configured int
	highest    int
	used       int
	seq        uint64
	now        time.Time
	jobs       map[string]*Job
	parts      map[string]int // number of live parts of each array or heterogeneous job
	running    []*Job         // by Start, then Seq
	queued     []*Job         // by Order, then Seq
	doomed     []*Job         // running jobs whose deletion was requested, by Asked, then Seq
	over       []*Job         // jobs whose start no record has, by Over, then Seq
	unseenAt   time.Time      // the end of the last job whose start was in no record
	missing    map[string]Missing
	// firstDeadline is at most the earliest deadline of a running job; zero if none has one.
	firstDeadline time.Time
	history       bool            // the next events are of imported logs
	imported      map[string]bool // open jobs that only the history has; empty after EndHistory
	left          map[string]Left
	leftRing      []string // ids in the order in which they left; the oldest is at leftNext
	leftNext      int
	count         Counts

	byHand       []PoolConfig
	facts        *job.Facts // immutable
	rules        *Rules     // immutable; derived from the facts
	pools        []*pool
	poolOf       map[string]int // index of the pool by queue; other queues use the first pool
	outagesUntil time.Time      // when an outage begins or ends next
}

// Counts counts the events folded so far by their effect. Duplicates and Orphans count records that changed nothing.
// A replay of the changes gives the same counts, except for these two.
type Counts struct {
	Submitted int64 `json:"submitted"`
	Started   int64 `json:"started"`
	Ended     int64 `json:"ended"`
	Cancelled int64 `json:"cancelled"`
	Requeued  int64 `json:"requeued"`
	// Duplicates counts events that were applied before.
	Duplicates int64 `json:"duplicates"`
	// Derived counts events that were inferred from a later record.
	Derived int64 `json:"derived"`
	// Orphans counts events about which too little is known to assign them to a job.
	Orphans int64 `json:"orphans"`
	// LostEnds counts jobs that ran and are gone, but whose end was in no record: see Apply.
	LostEnds int64 `json:"lost_ends"`
	// UnseenStarts counts jobs that ran and ended, and whose start was in no record: see Job.Over.
	UnseenStarts int64 `json:"unseen_starts"`
	// OutOfOrder counts changes that happened before the newest change of the cluster.
	OutOfOrder int64 `json:"out_of_order"`
}

// New returns an empty picture of the named cluster. procs is the configured capacity; 0 means that the highest use
// seen so far counts as the capacity.
func New(name string, procs int) *State {
	s := &State{
		name: name, configured: procs,
		jobs: map[string]*Job{}, parts: map[string]int{}, left: map[string]Left{}, missing: map[string]Missing{},
		imported: map[string]bool{},
	}
	s.SetPools(nil)
	return s
}

// Name returns the cluster's name.
func (s *State) Name() string { return s.name }

// Now returns the event time of the newest change.
func (s *State) Now() time.Time { return s.now }

// Counts returns the numbers of events by their effect so far.
func (s *State) Counts() Counts { return s.count }

// Capacity returns the number of processors of the cluster. It is the highest use seen if there is one pool whose size
// is known only from that. Otherwise it is the sum over the pools.
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

// Source returns the origin of the capacity: FromConfig, FromScheduler or FromHighestUse. With several pools it is
// the least reliable of their origins.
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

// Queued returns the waiting jobs, including held ones, in the order of their submission. The slice belongs to the
// State and is valid until the next event.
func (s *State) Queued() []*Job { return s.queued }

// Job returns the live job with this id, or nil.
func (s *State) Job(id string) *Job { return s.jobs[id] }

// Forgotten reports whether the fold has no record of a job with this id, neither live nor recently left. The caller
// may then search older data.
func (s *State) Forgotten(id string) bool {
	if _, live := s.jobs[id]; live {
		return false
	}
	_, known := s.left[id]
	return !known
}

// LeftAt returns the time at which the last job with this id left, from the fold's memory or from known. It is zero if
// the job is live or was never seen.
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

// ByOrder compares two jobs by their first submissions. Jobs of the same instant are compared by their numbers.
func ByOrder(a, b *Job) int {
	return cmp.Or(a.Order.Compare(b.Order), cmp.Compare(a.Seq, b.Seq))
}

func byAsked(a, b *Job) int {
	return cmp.Or(a.Asked.Compare(b.Asked), cmp.Compare(a.Seq, b.Seq))
}

func byOver(a, b *Job) int {
	return cmp.Or(a.Over.Compare(b.Over), cmp.Compare(a.Seq, b.Seq))
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
		s.noteDeadline(j)
		return
	}
	s.queued = insert(s.queued, j, ByOrder)
	if !j.Over.IsZero() {
		s.over = insert(s.over, j, byOver)
	}
}

// take removes a job from the picture.
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
	if !j.Over.IsZero() {
		s.over = remove(s.over, j, byOver)
	}
}

// remember keeps a job that left, and forgets the oldest ones above the limit.
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
