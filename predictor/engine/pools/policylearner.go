package pools

import (
	"math"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/forward/learn"
)

// policyLearner learns the pools and their policies with limited memory. A second learner starts when the first has
// learnerEvents events. It replaces the first when the first has twice as many. The events of each learner are saved,
// and a restored learner receives them again.
type policyLearner struct {
	Old, young *policyHistory
}

// learnerEvents is the number of events by which the older learner is ahead of the younger one.
const learnerEvents = 100_000

// MaxLearntQueues is the maximum number of queues that a learner follows. It leaves out the jobs of further queues.
const MaxLearntQueues = 256

// policyHistory is a learner with the events that it has learnt from. In a copied machine it has only the events
// until its result is needed (see copied), because nearly all copies are discarded before.
type policyHistory struct {
	learner *learn.Learner // nil if the events of log, n of them, and of later are still to be learnt
	n       int
	log     codec.Writer
	later   []policyEvent
	at      float64
	names   map[string]uint64
	Queues  map[string]bool
	jobs    map[uint64]bool
}

// policyEvent is an event of a job. The job's attributes are known for submissions only.
type policyEvent struct {
	kind byte
	at   float64
	id   uint64
	job  *learn.Job
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
	h.at += since // a restored history gets the same sum, to the last bit
	h.log = append(h.log, kind)
	h.log.Real(since)
	h.log.Uint(id)
}

func (h *policyHistory) submit(now float64, id uint64, j *learn.Job) {
	if h.learner == nil {
		h.later = append(h.later, policyEvent{submitEvent, now, id, j})
		return
	}
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
	if h.learner == nil {
		h.later = append(h.later, policyEvent{kind, now, id, nil})
		return
	}
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
	_ = err // an event that the learner refuses has no effect
}

// learnJob returns a job in the form for learners of policies.
func learnJob(j *track.Job) *learn.Job {
	return &learn.Job{ID: int64(j.ID), Queue: j.Queue, Partition: j.Partition, Procs: j.Procs, Limit: j.Limit}
}

// configured reports whether the size and policy of a queue's pool are configured. There is nothing to learn then.
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

// LearnSubmit passes a job that competes from now on to the learners, unless there is nothing to learn about its pool.
// It records in j.Observed whether it did so.
func (m *Machine) LearnSubmit(now float64, j *track.Job) {
	if j.Observed = !m.configured(j.Queue); !j.Observed {
		return
	}
	m.PolicyLearner.each(func(h *policyHistory) { h.submit(now, j.ID, learnJob(j)) })
	m.rotateLearners(now)
}

// LearnEvent passes the start or end of a job to the learners, if they have received the job. A waiting job that is
// held or leaves also has an EndEvent.
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

// rotateLearners starts a younger learner, or replaces the older learner by the younger one, if it is time (see
// policyLearner).
func (m *Machine) rotateLearners(now float64) {
	r := &m.PolicyLearner
	if r.young == nil && r.Old.reaches(learnerEvents) {
		r.young = newPolicyHistory()
		m.catchUp(now, r.young)
	}
	if r.Old.reaches(2 * learnerEvents) {
		r.Old, r.young = r.young, nil
	}
}

// catchUp passes the running and waiting jobs that the learners follow to a new learner, as if they were submitted and
// started now.
func (m *Machine) catchUp(now float64, h *policyHistory) {
	for _, j := range m.tracker.RunningJobs {
		if j.Observed {
			h.submit(now, j.ID, learnJob(j))
			h.other(StartEvent, now, j.ID)
		}
	}
	for _, j := range m.tracker.Line.Waiting() {
		if j.Observed {
			h.submit(now, j.ID, learnJob(j))
		}
	}
}

// reaches reports whether the learner has received at least n events.
func (h *policyHistory) reaches(n int) bool {
	if h.n+len(h.later) < n {
		return false
	}
	h.learnAgain()
	return h.n >= n
}

// pools returns the learnt pools and their policies.
func (h *policyHistory) pools() []learn.Pool {
	h.learnAgain()
	return h.learner.Pools()
}

// copied returns a history that continues like this one. The two share the events so far, which do not change.
func (h *policyHistory) copied() *policyHistory {
	return &policyHistory{n: h.n, log: h.log[:len(h.log):len(h.log)], later: h.later[:len(h.later):len(h.later)]}
}

// copied returns learners that continue like these.
func (r *policyLearner) copied() policyLearner {
	c := policyLearner{Old: r.Old.copied()}
	if r.young != nil {
		c.young = r.young.copied()
	}
	return c
}

// learnAgain makes a learner if there is none yet, and passes all events to it.
func (h *policyHistory) learnAgain() {
	if h.learner != nil {
		return
	}
	later := h.later
	var d codec.Reader // no error is possible: the events were learnt once
	*h = *learnHistory(&d, h.n, h.log)
	for _, e := range later {
		if e.job != nil {
			h.submit(e.at, e.id, e.job)
		} else {
			h.other(e.kind, e.at, e.id)
		}
	}
}

// readPolicyHistory reads a saved history and learns it again.
func readPolicyHistory(d *codec.Reader) *policyHistory {
	n := d.Count()
	return learnHistory(d, n, d.Bytes())
}

// learnHistory returns a history that has learnt the n saved events of a log. An invalid log makes d fail.
func learnHistory(d *codec.Reader, n int, log []byte) *policyHistory {
	h := newPolicyHistory()
	h.n = n
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
	h.learnAgain()
	w.Uint(uint64(h.n))
	w.Blob(h.log)
}
