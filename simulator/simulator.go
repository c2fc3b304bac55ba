// Package simulator is an event-driven simulator of a space-sharing batch scheduler: a pool of processors, jobs that
// hold a fixed number of them from start to end, and a queue.
//
// Time is in seconds as float64, from any origin at or above 0. The only policy so far is strict first come, first
// served: jobs start in the order of submission, and nothing overtakes the first one waiting.
//
// The simulator is driven: nothing happens but by [Simulator.Next] or [Simulator.Advance], which return the events up to
// an instant in order. At one instant there come first ends, then submits in the order given, then starts. A job of
// runtime 0 ends right after its own start, before the next job starts.
package simulator

import (
	"errors"
	"fmt"
	"math"
)

// Kind says what happens in an event.
type Kind uint8

// The kinds of events.
const (
	Submitted Kind = iota + 1 // the job joins the queue
	Started                   // the job takes its processors
	Ended                     // the job frees its processors
)

// String returns the kind as a word.
func (k Kind) String() string {
	switch k {
	case Submitted:
		return "submit"
	case Started:
		return "start"
	case Ended:
		return "end"
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Job is what the simulator is told of a job, and what it finds out.
type Job struct {
	ID       int64   // the caller's; need not be unique
	Submit   float64 // seconds
	Procs    int     // 1 up to the machine's processors
	Runtime  float64 // seconds it runs, 0 or more; Config.Runtime may replace it at the start
	Estimate float64 // time limit in seconds, which first come, first served does not look at
	Queue    string  // free for the caller
	User     int64   // free for the caller

	Start float64 // set when the job starts, NaN before
	End   float64 // set when the job starts: Start + Runtime; NaN before
}

// Wait returns Start - Submit, NaN before the start.
func (j *Job) Wait() float64 { return j.Start - j.Submit }

// Event is one thing that happens. Job belongs to the simulator and is reused: after a job's Ended event it is valid until
// the next call of Next or, in a function given to Advance, until that function returns. Copy what is kept for longer, and
// write nothing to it.
type Event struct {
	Kind Kind
	Time float64
	Job  *Job
}

// Config describes a machine and where its jobs come from.
type Config struct {
	Procs int // processors, at least 1

	// Arrivals, if set, is asked for the next job whenever the one before has been submitted, so that an endless
	// workload needs no memory; false ends it. Its jobs must come in order of submission. They mix with those given to
	// Submit.
	Arrivals func() (Job, bool)

	// Runtime, if set, is asked for the runtime of every job at its start. It must not keep or change the job.
	Runtime func(*Job) float64
}

// Simulator is one machine. It is not safe for use by several goroutines.
type Simulator struct {
	cfg     Config
	now     float64
	free    int
	seq     uint64
	pending jobHeap // by submit time
	running jobHeap // by end time
	queue   fifo
	spare   []*Job // jobs that have ended, to be used again
	done    *Job   // job of the Ended event returned last
	drained bool   // Arrivals has ended
	ahead   *Job   // job of Arrivals that is still pending
}

// New returns an empty machine at time 0.
func New(cfg Config) (*Simulator, error) {
	if cfg.Procs < 1 {
		return nil, fmt.Errorf("simulator: %d processors, need at least 1", cfg.Procs)
	}
	return &Simulator{cfg: cfg, free: cfg.Procs, drained: cfg.Arrivals == nil}, nil
}

// TooLargeError is a job that could never start.
type TooLargeError struct {
	ID             int64
	Procs, Machine int // what the job asks for, and what there is
}

// Error names the job and both sizes.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("job %d: asks for %d processors of a machine of %d", e.ID, e.Procs, e.Machine)
}

// PastError is a job submitted at an instant that is over.
type PastError struct {
	ID          int64
	Submit, Now float64 // seconds
}

// Error names the job and both times.
func (e *PastError) Error() string {
	return fmt.Sprintf("job %d: submitted at %v s, but the simulation is at %v s", e.ID, e.Submit, e.Now)
}

// ErrBadJob is wrapped by the errors about jobs whose numbers make no sense.
var ErrBadJob = errors.New("bad job")

func (s *Simulator) check(j *Job) error {
	switch {
	case j.Procs > s.cfg.Procs:
		return &TooLargeError{ID: j.ID, Procs: j.Procs, Machine: s.cfg.Procs}
	case j.Procs < 1:
		return fmt.Errorf("%w: job %d asks for %d processors, need at least 1", ErrBadJob, j.ID, j.Procs)
	case !isTime(j.Submit):
		return fmt.Errorf("%w: job %d has submit time %v, need a finite number from 0", ErrBadJob, j.ID, j.Submit)
	case !isTime(j.Runtime):
		return fmt.Errorf("%w: job %d has runtime %v, need a finite number from 0", ErrBadJob, j.ID, j.Runtime)
	case j.Submit < s.now:
		return &PastError{ID: j.ID, Submit: j.Submit, Now: s.now}
	}
	return nil
}

func isTime(x float64) bool { return x >= 0 && !math.IsInf(x, 1) }

// Submit gives the machine a job, of which it keeps a copy; Start and End are ignored. The job's submit time may lie in the
// future, not in the past. Jobs of equal submit times queue in the order of the calls. The error is a
// *TooLargeError, a *PastError, or wraps ErrBadJob; the job is then not taken.
func (s *Simulator) Submit(job Job) error {
	if err := s.check(&job); err != nil {
		return err
	}
	s.pending.push(job.Submit, s.nextSeq(), s.store(job))
	return nil
}

// store copies a job to memory of the simulator.
func (s *Simulator) store(job Job) *Job {
	job.Start, job.End = math.NaN(), math.NaN()
	if n := len(s.spare); n > 0 {
		j := s.spare[n-1]
		s.spare = s.spare[:n-1]
		*j = job
		return j
	}
	j := new(Job)
	*j = job
	return j
}

func (s *Simulator) nextSeq() uint64 {
	s.seq++
	return s.seq
}

// Now returns the time up to which everything has happened, in seconds.
func (s *Simulator) Now() float64 { return s.now }

// Free returns the number of idle processors.
func (s *Simulator) Free() int { return s.free }

// Running returns the number of jobs that run.
func (s *Simulator) Running() int { return len(s.running) }

// Queued returns the number of jobs that wait.
func (s *Simulator) Queued() int { return s.queue.len() }

// Next returns the next event that happens at or before until, or false if there is none; then the clock stands at until, if that is
// later. Calling it until it says false gives every event; until = +Inf runs the machine empty and leaves the clock at the
// last event. An error comes from a job of Config.Arrivals (as from Submit; the job is left out) or from a runtime of
// Config.Runtime that makes no sense (wraps ErrBadJob; its job runs for 0 s); Next may be called again after either.
func (s *Simulator) Next(until float64) (Event, bool, error) {
	if s.done != nil {
		s.spare = append(s.spare, s.done)
		s.done = nil
	}
	if err := s.pull(); err != nil {
		return Event{}, false, err
	}
	for s.now <= until {
		switch {
		case s.running.due(s.now):
			return s.end(), true, nil
		case s.pending.due(s.now):
			return s.join(), true, nil
		case s.queue.len() > 0 && s.queue.first().Procs <= s.free:
			ev, err := s.start()
			return ev, true, err
		}
		t := min(s.running.first(), s.pending.first())
		if t > until || math.IsInf(t, 1) {
			if !math.IsInf(until, 1) {
				s.now = until
			}
			break
		}
		s.now = t
	}
	return Event{}, false, nil
}

// Advance calls emit for every event up to and including the instant until, in order; emit may call Submit. It stops at the
// first error; see Next.
func (s *Simulator) Advance(until float64, emit func(Event)) error {
	for {
		ev, ok, err := s.Next(until)
		if ok {
			emit(ev)
		}
		if err != nil {
			return err
		}
		if !ok {
			return nil
		}
	}
}

// pull keeps one job of Arrivals among the pending ones.
func (s *Simulator) pull() error {
	if s.drained || s.ahead != nil {
		return nil
	}
	job, ok := s.cfg.Arrivals()
	if !ok {
		s.drained = true
		return nil
	}
	if err := s.check(&job); err != nil {
		return fmt.Errorf("arrivals: %w", err)
	}
	s.ahead = s.store(job)
	s.pending.push(job.Submit, s.nextSeq(), s.ahead)
	return nil
}

func (s *Simulator) join() Event {
	j := s.pending.pop()
	if j == s.ahead {
		s.ahead = nil
	}
	s.queue.push(j)
	return Event{Kind: Submitted, Time: s.now, Job: j}
}

func (s *Simulator) start() (Event, error) {
	j := s.queue.pop()
	s.free -= j.Procs
	var err error
	if s.cfg.Runtime != nil {
		if j.Runtime = s.cfg.Runtime(j); !isTime(j.Runtime) {
			err = fmt.Errorf("%w: job %d was given runtime %v at its start, need a finite number from 0", ErrBadJob, j.ID, j.Runtime)
			j.Runtime = 0
		}
	}
	j.Start, j.End = s.now, s.now+j.Runtime
	s.running.push(j.End, s.nextSeq(), j)
	return Event{Kind: Started, Time: s.now, Job: j}, err
}

func (s *Simulator) end() Event {
	j := s.running.pop()
	s.free += j.Procs
	s.done = j
	return Event{Kind: Ended, Time: s.now, Job: j}
}
