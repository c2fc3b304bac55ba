package engine

import (
	"math"

	"github.com/waitcast/waitcast/predictor/forward/learn"
)

// rules learns the pools and their policies, and forgets: a second learner begins when the first has heard so many events, and takes its place when that
// has heard twice as many. What each has heard is kept as it is saved; a restored one hears it again.
type rules struct {
	old, young *heard
}

// rulesEvents is how many events the younger learner is behind.
const rulesEvents = 100_000

// heardQueues is of how many queues a learner hears; the jobs of others are left out.
const heardQueues = 256

// heard is a learner and what it was told.
type heard struct {
	learner *learn.Learner
	n       int
	log     writer
	at      float64
	names   map[string]uint64
	queues  map[string]bool
	jobs    map[uint64]bool
}

func newHeard() *heard {
	return &heard{learner: learn.New(), names: map[string]uint64{}, queues: map[string]bool{}, jobs: map[uint64]bool{}}
}

// The kinds of events in a log.
const (
	heardSubmit = iota
	heardStart
	heardEnd
)

func (h *heard) head(kind byte, now float64, id uint64) {
	since := now - h.at
	if h.n > 0 {
		since = math.Max(0, since)
	}
	h.n++
	h.at += since // as it is read
	h.log = append(h.log, kind)
	h.log.real(since)
	h.log.uint(id)
}

func (h *heard) submit(now float64, id uint64, j *learn.Job) {
	if !h.queues[j.Queue] {
		if len(h.queues) >= heardQueues {
			return
		}
		h.queues[j.Queue] = true
	}
	h.head(heardSubmit, now, id)
	h.log.name(h.names, j.Queue)
	h.log.name(h.names, j.Partition)
	h.log.uint(uint64(j.Procs))
	h.log.real(j.Limit)
	h.hear(h.at, heardSubmit, id, j)
}

func (h *heard) other(kind byte, now float64, id uint64) {
	if !h.jobs[id] {
		return
	}
	h.head(kind, now, id)
	h.hear(h.at, kind, id, nil)
}

// hear tells the learner.
func (h *heard) hear(now float64, kind byte, id uint64, j *learn.Job) {
	var err error
	switch kind {
	case heardSubmit:
		err = h.learner.Submit(now, *j)
		h.jobs[id] = err == nil
	case heardStart:
		err = h.learner.Start(now, int64(id))
	default:
		err = h.learner.End(now, int64(id))
		delete(h.jobs, id)
	}
	_ = err // it says what the learner leaves out, which is left out
}

func (e *Engine) ruleJob(j *tracked) *learn.Job {
	return &learn.Job{ID: int64(j.id), Queue: j.Queue, Partition: j.Partition, Procs: j.Procs, Limit: j.Limit}
}

// told tells whether a job is of a pool whose size and policy are told: there is nothing to learn.
func (e *Engine) told(queue string) bool {
	t, ok := e.pools.told[queue]
	return ok && t.Procs > 0 && t.PolicyKnown
}

func (r *rules) each(do func(*heard)) {
	do(r.old)
	if r.young != nil {
		do(r.young)
	}
}

// ruleSubmit tells the learners of a job that competes from now on.
func (e *Engine) ruleSubmit(now float64, j *tracked) {
	if j.told = !e.told(j.Queue); !j.told {
		return
	}
	e.rules.each(func(h *heard) { h.submit(now, j.id, e.ruleJob(j)) })
	e.turn(now)
}

func (e *Engine) ruleOther(kind byte, now float64, j *tracked) {
	if !j.told {
		return
	}
	e.rules.each(func(h *heard) { h.other(kind, now, j.id) })
	if kind == heardEnd {
		j.told = false
	}
	e.turn(now)
}

// turn begins a younger learner, or lets it take the older one's place.
func (e *Engine) turn(now float64) {
	r := &e.rules
	if r.young == nil && r.old.n >= rulesEvents {
		r.young = newHeard()
		e.catchUp(now, r.young)
	}
	if r.old.n >= 2*rulesEvents {
		r.old, r.young = r.young, nil
	}
}

// catchUp tells a new learner of the jobs there are.
func (e *Engine) catchUp(now float64, h *heard) {
	for _, j := range e.runningJobs {
		if j.told {
			h.submit(now, j.id, e.ruleJob(j))
			h.other(heardStart, now, j.id)
		}
	}
	for _, j := range e.line.waiting() {
		if j.told {
			h.submit(now, j.id, e.ruleJob(j))
		}
	}
}

// readHeard hears a log again.
func readHeard(d *reader) *heard {
	h := newHeard()
	h.n = d.count()
	log := d.bytes()
	h.log = append(writer(nil), log...)
	in := &reader{rest: log}
	var names []string
	for range h.n {
		kind := in.byte()
		h.at += in.real()
		id := in.uint()
		if kind > heardEnd || in.bad || math.IsNaN(h.at) || math.IsInf(h.at, 0) {
			d.fail()
			return h
		}
		var j *learn.Job
		if kind == heardSubmit {
			j = &learn.Job{ID: int64(id), Queue: in.name(&names), Partition: in.name(&names), Procs: int(in.uint() & math.MaxInt32), Limit: in.real()}
			h.queues[j.Queue] = true
		}
		h.hear(h.at, kind, id, j)
	}
	for i, name := range names {
		h.names[name] = uint64(i)
	}
	if in.bad || len(in.rest) > 0 {
		d.fail()
	}
	return h
}

func (h *heard) write(w *writer) {
	w.uint(uint64(h.n))
	w.blob(h.log)
}
