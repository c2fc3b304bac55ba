package pools

import (
	"math"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/forward/learn"
)

// policyLearner learns the pools and their policies, and forgets: a second learner begins when the first has
// learnerEvents events, and replaces it when the first has twice as many. The events of each are saved; a restored
// learner receives them again.
type policyLearner struct {
	Old, young *policyHistory
}

// learnerEvents is how many events the younger learner is behind.
const learnerEvents = 100_000

// MaxLearntQueues is the number of queues that a learner follows; the jobs of others are left out.
const MaxLearntQueues = 256

// policyHistory is a learner with the events that it has learnt from.
type policyHistory struct {
	learner *learn.Learner
	n       int
	log     codec.Writer
	at      float64
	names   map[string]uint64
	Queues  map[string]bool
	jobs    map[uint64]bool
}

func newPolicyHistory() *policyHistory {
	return &policyHistory{learner: learn.New(), names: map[string]uint64{}, Queues: map[string]bool{},
		jobs: map[uint64]bool{}}
}

// The kinds of events in a log.
const (
	submitEvent = iota
	StartEvent
	EndEvent
)

func (h *policyHistory) head(kind byte, now float64, id uint64) {
	since := now - h.at
	if h.n > 0 {
		since = math.Max(0, since)
	}
	h.n++
	h.at += since // as it is read
	h.log = append(h.log, kind)
	h.log.Real(since)
	h.log.Uint(id)
}

func (h *policyHistory) submit(now float64, id uint64, j *learn.Job) {
	if !h.Queues[j.Queue] {
		if len(h.Queues) >= MaxLearntQueues {
			return
		}
		h.Queues[j.Queue] = true
	}
	h.head(submitEvent, now, id)
	h.log.Name(h.names, j.Queue)
	h.log.Name(h.names, j.Partition)
	h.log.Uint(uint64(j.Procs))
	h.log.Real(j.Limit)
	h.learn(h.at, submitEvent, id, j)
}

func (h *policyHistory) other(kind byte, now float64, id uint64) {
	if !h.jobs[id] {
		return
	}
	h.head(kind, now, id)
	h.learn(h.at, kind, id, nil)
}

// learn passes an event to the learner.
func (h *policyHistory) learn(now float64, kind byte, id uint64, j *learn.Job) {
	var err error
	switch kind {
	case submitEvent:
		err = h.learner.Submit(now, *j)
		h.jobs[id] = err == nil
	case StartEvent:
		err = h.learner.Start(now, int64(id))
	default:
		err = h.learner.End(now, int64(id))
		delete(h.jobs, id)
	}
	_ = err // it says what the learner leaves out, which is left out
}

func (m *Machine) ruleJob(j *track.Job) *learn.Job {
	return &learn.Job{ID: int64(j.ID), Queue: j.Queue, Partition: j.Partition, Procs: j.Procs, Limit: j.Limit}
}

// configured reports whether the size and policy of a queue's pool are configured: there is nothing to learn.
func (m *Machine) configured(queue string) bool {
	t, ok := m.configuredPools[queue]
	return ok && t.Procs > 0 && t.PolicyKnown
}

func (r *policyLearner) each(do func(*policyHistory)) {
	do(r.Old)
	if r.young != nil {
		do(r.young)
	}
}

// LearnSubmit passes a job that competes from now on to the learners.
func (m *Machine) LearnSubmit(now float64, j *track.Job) {
	if j.Observed = !m.configured(j.Queue); !j.Observed {
		return
	}
	m.PolicyLearner.each(func(h *policyHistory) { h.submit(now, j.ID, m.ruleJob(j)) })
	m.rotateLearners(now)
}

// LearnEvent records the start or end of a job for those that learn the policy.
func (m *Machine) LearnEvent(kind byte, now float64, j *track.Job) {
	if !j.Observed {
		return
	}
	m.PolicyLearner.each(func(h *policyHistory) { h.other(kind, now, j.ID) })
	if kind == EndEvent {
		j.Observed = false
	}
	m.rotateLearners(now)
}

// rotateLearners begins a younger learner, or lets it take the older one's place.
func (m *Machine) rotateLearners(now float64) {
	r := &m.PolicyLearner
	if r.young == nil && r.Old.n >= learnerEvents {
		r.young = newPolicyHistory()
		m.catchUp(now, r.young)
	}
	if r.Old.n >= 2*learnerEvents {
		r.Old, r.young = r.young, nil
	}
}

// catchUp passes the present jobs to a new learner.
func (m *Machine) catchUp(now float64, h *policyHistory) {
	for _, j := range m.tracker.RunningJobs {
		if j.Observed {
			h.submit(now, j.ID, m.ruleJob(j))
			h.other(StartEvent, now, j.ID)
		}
	}
	for _, j := range m.tracker.Line.Waiting() {
		if j.Observed {
			h.submit(now, j.ID, m.ruleJob(j))
		}
	}
}

// readPolicyHistory reads a saved history and learns it again.
func readPolicyHistory(d *codec.Reader) *policyHistory {
	h := newPolicyHistory()
	h.n = d.Count()
	log := d.Bytes()
	h.log = append(codec.Writer(nil), log...)
	in := &codec.Reader{Rest: log}
	var names []string
	for range h.n {
		kind := in.Byte()
		h.at += in.Real()
		id := in.Uint()
		if kind > EndEvent || in.Bad || math.IsNaN(h.at) || math.IsInf(h.at, 0) {
			d.Fail()
			return h
		}
		var j *learn.Job
		if kind == submitEvent {
			j = &learn.Job{ID: int64(id), Queue: in.Name(&names), Partition: in.Name(&names),
				Procs: int(in.Uint() & math.MaxInt32), Limit: in.Real()}
			h.Queues[j.Queue] = true
		}
		h.learn(h.at, kind, id, j)
	}
	for i, name := range names {
		h.names[name] = uint64(i)
	}
	if in.Bad || len(in.Rest) > 0 {
		d.Fail()
	}
	return h
}

func (h *policyHistory) write(w *codec.Writer) {
	w.Uint(uint64(h.n))
	w.Blob(h.log)
}
