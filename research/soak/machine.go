package soak

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/waitcast/waitcast/simulator"
)

const (
	// cancelled is the share of the jobs that their users delete while they wait, by a minute to some hours after the
	// submission.
	cancelled = .02
	// repeated is the share of the lines that the scheduler writes twice.
	repeated = .002
	// crashDays is the mean time from crash to crash of the machine; a crash kills what runs, and the jobs are queued
	// again.
	crashDays = 20
	// stepDays is the mean time from step to step of the clock that the log is written by; stepSeconds bounds a step,
	// and after stepLasts the clock is right again.
	stepDays, stepSeconds, stepLasts = 5, 8, 600.
	// pauseDays is the mean time between the pauses of the users, in which nobody submits for pauseHours.
	pauseDays, pauseHours = 30, 18
)

// tally counts what befell the cluster, for the report.
type tally struct {
	Jobs, Cancelled, Requeued, Crashes, Steps, Pauses int
	Lines, Repeated                                   int64
	Bad                                               map[string]int // by reason
	Busy                                              float64        // processor seconds
}

// told is what the log has told of a job that lives.
type told struct {
	job     simulator.Job
	line    record
	running bool
	since   float64 // simulated second of its start
}

// machine is a simulated cluster that says what its scheduler's log says.
type machine struct {
	epoch  time.Time
	nodes  int
	format format
	rng    *rand.Rand
	source arrivals
	ahead  *simulator.Job // drawn from source, not submitted yet
	handed bool           // the simulator has it
	floor  float64        // nobody submits before
	sim    *simulator.Simulator
	live   map[int64]*told
	tally  tally

	deleted  []deletion // rising
	crash    float64
	step     float64 // when the clock steps next
	back     float64 // by how many seconds the log's clock is behind now
	right    float64 // until then
	pause    float64
	badEvery int64 // lines from bad line to bad line
	long     int   // long lines that are still to come

	buf    []byte
	emit   func([]byte) error
	shown  time.Time // what the log's clock showed last
	newest time.Time // the latest instant that a line has told
}

// deletion is a waiting job that its user deletes.
type deletion struct {
	at   float64
	line record
}

// newMachine returns a cluster at midnight of epoch. badLines is about how many of its log's lines will be bad ones, of
// all reasons in turn.
func newMachine(epoch time.Time, nodes, jobs, badLines int, f format, source arrivals, seed uint64) (*machine, error) {
	m := &machine{
		epoch: epoch, nodes: nodes, format: f, rng: rand.New(rand.NewPCG(seed, 4)), source: source,
		live: map[int64]*told{}, badEvery: max(2, int64(3*jobs/max(1, badLines))), long: mostLongLines,
	}
	m.tally.Bad = map[string]int{}
	m.crash, m.step, m.pause = m.after(0, crashDays), m.after(0, stepDays), m.after(0, pauseDays)
	return m, m.boot(simulator.State{})
}

func (m *machine) after(at, days float64) float64 {
	return at + math.Ceil(m.rng.ExpFloat64()*days*daySeconds)
}

// boot starts the scheduler in a state.
func (m *machine) boot(state simulator.State) error {
	var err error
	m.sim, err = simulator.New(simulator.Config{Procs: m.nodes, Policy: &simulator.EASY{}, Kill: true,
		Arrivals: m.next})
	if err != nil {
		return err
	}
	return m.sim.Load(state)
}

// next draws the simulator's next job: it asks when the one before has been submitted. Jobs that are deleted while they
// wait go into the log alone.
func (m *machine) next() (simulator.Job, bool) {
	if m.handed {
		m.ahead, m.handed = nil, false
	}
	for {
		if m.ahead == nil {
			j, ok := m.source()
			if !ok {
				return j, false
			}
			m.tally.Jobs++
			m.ahead = &j
		}
		j := *m.ahead
		j.Submit = max(j.Submit, m.floor)
		if j.Submit >= m.pause {
			m.floor, m.pause = m.pause+pauseHours*3600, m.after(m.pause+pauseHours*3600, pauseDays)
			m.tally.Pauses++
			continue
		}
		if m.rng.Float64() >= cancelled {
			m.handed = true
			return j, true
		}
		m.ahead = nil
		m.tally.Cancelled++
		line := m.record(&j)
		m.inject(deletion{j.Submit, line}, deletion{j.Submit + 60 + math.Floor(m.rng.ExpFloat64()*3600), line})
	}
}

func (m *machine) inject(ds ...deletion) {
	m.deleted = append(m.deleted, ds...)
	slices.SortStableFunc(m.deleted, func(a, b deletion) int { return cmp.Compare(a.at, b.at) })
}

// run lets the cluster run up to an instant, and hands on every line of its log.
func (m *machine) run(until float64, emit func([]byte) error) error {
	m.emit = emit
	for {
		at := min(until, m.crash)
		if len(m.deleted) > 0 {
			at = min(at, m.deleted[0].at)
		}
		e, ok, err := m.sim.Next(at)
		switch {
		case err != nil:
			return fmt.Errorf("simulated cluster: %w", err)
		case ok:
			err = errors.Join(m.deleteUntil(e.Time), m.happened(e)) // Next may have drawn one more job that is deleted
		case len(m.deleted) > 0 && m.deleted[0].at <= at:
			err = m.deleteUntil(at)
		case m.crash <= at:
			err = m.crashed(at)
		case at >= until:
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// over reports whether nothing more will happen.
func (m *machine) over() bool { return m.ahead == nil && len(m.live) == 0 && len(m.deleted) == 0 }

// clock returns what the log's clock shows, not before what it has told of the job already.
func (m *machine) clock(at float64, not time.Time) time.Time {
	if at >= m.step {
		m.back, m.right = float64(2+m.rng.IntN(stepSeconds-1)), at+stepLasts
		m.step = m.after(m.right, stepDays)
		m.tally.Steps++
	}
	if at >= m.right {
		m.back = 0
	}
	t := m.epoch.Add(time.Duration(at-m.back) * time.Second)
	m.shown = later(t, not)
	return m.shown
}

func (m *machine) record(j *simulator.Job) record {
	return record{ID: j.ID, User: fmt.Sprintf("u%d", j.User), Queue: j.Queue, Procs: j.Procs,
		Limit: time.Duration(j.Limit) * time.Second}
}

// happened writes what the simulator tells into the log.
func (m *machine) happened(e simulator.Event) error {
	j := e.Job
	switch e.Kind {
	case simulator.Submitted:
		t := &told{job: *j, line: m.record(j)}
		t.line.Submit = m.clock(e.Time, time.Time{})
		m.live[j.ID] = t
		return m.say(m.format.submitted(m.buf[:0], &t.line), e.Time)
	case simulator.Started:
		t := m.live[j.ID]
		t.running, t.since = true, e.Time
		t.line.Start = m.clock(e.Time, later(t.line.Submit, t.line.Start))
		return m.say(m.format.started(m.buf[:0], &t.line), e.Time)
	case simulator.Ended:
		t := m.live[j.ID]
		delete(m.live, j.ID)
		t.line.End = m.clock(e.Time, t.line.Start)
		m.tally.Busy += float64(j.Procs) * (e.Time - t.since)
		return m.say(m.format.ended(m.buf[:0], &t.line), e.Time)
	}
	return nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// deleteUntil writes of the jobs that never run what comes first.
func (m *machine) deleteUntil(at float64) error {
	for len(m.deleted) > 0 && m.deleted[0].at <= at {
		d := m.deleted[0]
		m.deleted = m.deleted[1:]
		if err := m.delete(d); err != nil {
			return err
		}
	}
	return nil
}

// delete writes the submission, or the deletion, of a job that never runs.
func (m *machine) delete(d deletion) error {
	if t := m.live[d.line.ID]; t == nil {
		d.line.Submit = m.clock(d.at, time.Time{})
		m.live[d.line.ID] = &told{line: d.line}
		return m.say(m.format.submitted(m.buf[:0], &d.line), d.at)
	}
	line := m.live[d.line.ID].line
	delete(m.live, d.line.ID)
	line.End = m.clock(d.at, line.Submit)
	return m.say(m.format.cancelled(m.buf[:0], &line), d.at)
}

// crashed lets the machine fall: what runs is killed and queued again, before what waits; nothing happens until it is
// up again.
func (m *machine) crashed(at float64) error {
	m.tally.Crashes++
	down := 1800 + math.Floor(m.rng.ExpFloat64()*4*3600)
	m.crash, m.floor = m.after(at+down, crashDays), max(m.floor, at+down)
	var again, waiting []*told
	for _, t := range m.live {
		switch {
		case t.job.ID == 0: // one that is to be deleted
		case t.running:
			again = append(again, t)
		default:
			waiting = append(waiting, t)
		}
	}
	byID := func(a, b *told) int { return cmp.Compare(a.job.ID, b.job.ID) }
	slices.SortFunc(again, byID)
	slices.SortFunc(waiting, byID)
	state := simulator.State{Now: at + down}
	for _, t := range again {
		m.tally.Requeued++
		m.tally.Busy += float64(t.job.Procs) * (at - t.since)
		t.running = false
		t.line.End = m.clock(at, t.line.Start)
		if err := m.say(m.format.requeued(m.buf[:0], &t.line), at); err != nil {
			return err
		}
		t.line.Start, t.line.End = t.line.End, time.Time{}
	}
	for _, t := range append(again, waiting...) {
		state.Waiting = append(state.Waiting, t.job)
	}
	for i := range m.deleted { // users are late, too
		m.deleted[i].at = max(m.deleted[i].at, at+down)
	}
	m.handed = false // the scheduler that fell takes it with it
	return m.boot(state)
}

// say hands a line on, now and then twice, and bad lines in between.
func (m *machine) say(line []byte, at float64) error {
	if m.buf = line; len(line) == 0 {
		return nil
	}
	if err := m.emit(line); err != nil {
		return err
	}
	m.newest = later(m.newest, m.shown)
	m.tally.Lines++
	if m.rng.Float64() < repeated && m.format.repeats() {
		m.tally.Repeated++
		m.tally.Lines++
		if err := m.emit(line); err != nil {
			return err
		}
	}
	if m.tally.Lines%m.badEvery != 0 {
		return nil
	}
	return m.blemish(at)
}
