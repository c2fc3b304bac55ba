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
	// cancelled is the share of the jobs that their users delete while they wait, a minute to some hours after the
	// submission.
	cancelled = .02
	// repeated is the share of the lines that a scheduler writes twice, if its format repeats lines.
	repeated = .002
	// crashDays is the mean time in days between crashes of the machine. A crash kills the running jobs, and they are
	// queued again.
	crashDays = 20
	// stepDays is the mean time in days between steps of the clock that gives the times in the log. A step sets the
	// clock back by at most stepSeconds. After stepLasts seconds the clock is right again.
	stepDays, stepSeconds, stepLasts = 5, 8, 600.
	// pauseDays is the mean time in days between two pauses, in which no user submits a job for pauseHours.
	pauseDays, pauseHours = 30, 18
	// floodDays is the mean time in days between two floods of the queue. In a flood a user submits many jobs within a
	// minute, and an array of bombTasks tasks, and deletes them all within about an hour. The number of these jobs is
	// the share floodPart of all jobs of the log, but at least floodLeast and at most floodMost.
	floodDays, floodPart, floodLeast, floodMost = 40, .02, 40, 5000
	bombTasks                                   = 1_000_000
	// firstFloodDay is the day of the first flood, so that short logs have one.
	firstFloodDay = 10
	// firstFlood is the number of the first job of a flood; other jobs have lower numbers.
	firstFlood = 2_000_000_000
)

// tally counts what happens in the simulated cluster, for the report.
type tally struct {
	Jobs, Cancelled, Requeued, Crashes, Steps, Pauses int
	Floods, Flooding                                  int // number of floods, and of the jobs and arrays in them
	Lines, Repeated                                   int64
	Bad                                               map[string]int // by reason
	Busy                                              float64        // processor seconds
}

// told has what the log has of a job that waits or runs.
type told struct {
	job     simulator.Job
	line    record
	running bool
	since   float64 // simulated second of the job's start
}

// machine is a simulated cluster that writes the log of a scheduler. Instants are in simulated seconds since epoch.
type machine struct {
	epoch  time.Time
	nodes  int
	format format
	rng    *rand.Rand
	source arrivals
	ahead  *simulator.Job // drawn from source and not submitted yet
	handed bool           // the simulator has received ahead already
	floor  float64        // nobody submits before this instant
	sim    *simulator.Simulator
	live   map[int64]*told
	tally  tally

	deleted  []deletion // in rising order
	crash    float64
	step     float64 // instant of the next step of the clock
	back     float64 // number of seconds by which the log's clock is behind at present
	right    float64 // the log's clock is behind until this instant
	pause    float64
	flood    float64 // instant of the next flood of the queue
	crowd    int     // number of jobs in a flood
	badEvery int64   // number of lines from a bad line to the next
	long     int     // number of too long lines that may still be written

	buf    []byte
	emit   func([]byte) error
	shown  time.Time // the last time that the log's clock showed
	newest time.Time // the latest instant in any line
}

// deletion is one of two entries for a job that never runs: the first writes its submission, the second its deletion.
// at is in simulated seconds.
type deletion struct {
	at    float64
	line  record
	array bool // the job is an array of bombTasks tasks
}

// newMachine returns a cluster without jobs, at the instant epoch. badLines is the approximate number of bad lines in
// its log.
func newMachine(epoch time.Time, nodes, jobs, badLines int, f format, source arrivals, seed uint64) (*machine, error) {
	m := &machine{
		epoch: epoch, nodes: nodes, format: f, rng: rand.New(rand.NewPCG(seed, 4)), source: source,
		live: map[int64]*told{}, badEvery: max(2, int64(3*jobs/max(1, badLines))), long: mostLongLines,
	}
	m.tally.Bad = map[string]int{}
	m.crash, m.step, m.pause = m.after(0, crashDays), m.after(0, stepDays), m.after(0, pauseDays)
	m.flood, m.crowd = firstFloodDay*daySeconds, min(max(floodLeast, int(floodPart*float64(jobs))), floodMost)
	return m, m.boot(simulator.State{})
}

func (m *machine) after(at, days float64) float64 {
	return at + math.Ceil(m.rng.ExpFloat64()*days*daySeconds)
}

// boot starts the simulated scheduler with the jobs of the given state.
func (m *machine) boot(state simulator.State) error {
	var err error
	m.sim, err = simulator.New(simulator.Config{Procs: m.nodes, Policy: &simulator.EASY{}, Kill: true,
		Arrivals: m.next})
	if err != nil {
		return err
	}
	return m.sim.Load(state)
}

// next returns the simulator's next job. The simulator calls it when the previous job was submitted. Jobs that are
// deleted while they wait are only written into the log, not passed to the simulator.
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
		if j.Submit >= m.flood {
			m.flooded(j.Submit)
		}
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
		m.inject(deletion{at: j.Submit, line: line},
			deletion{at: j.Submit + 60 + math.Floor(m.rng.ExpFloat64()*3600), line: line})
	}
}

// flooded lets a user flood the queue from an instant on. None of the user's jobs runs.
func (m *machine) flooded(at float64) {
	m.tally.Floods++
	m.flood = m.after(at, floodDays)
	over := at + 600 + math.Floor(m.rng.Float64()*3000)
	all := make([]deletion, 0, 2*m.crowd+2)
	for i := range m.crowd + 1 {
		line := record{ID: firstFlood + int64(m.tally.Flooding), User: "flood", Queue: queues()[i%len(queues())],
			Procs: 1 + i%64, Limit: time.Duration(1+i%20) * time.Hour}
		d := deletion{at: at + math.Floor(60*float64(i)/float64(m.crowd)), line: line, array: i == m.crowd}
		all = append(all, d)
		d.at = over + math.Floor(60*float64(i)/float64(m.crowd))
		all = append(all, d)
		m.tally.Flooding++
	}
	m.inject(all...)
}

func (m *machine) inject(ds ...deletion) {
	m.deleted = append(m.deleted, ds...)
	slices.SortStableFunc(m.deleted, func(a, b deletion) int { return cmp.Compare(a.at, b.at) })
}

// run simulates the cluster up to an instant, and calls emit with every line of its log.
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
			err = errors.Join(m.deleteUntil(e.Time), m.happened(e)) // Next may have drawn a job that is to be deleted
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

// over reports whether the workload has ended and all its jobs are over. It is also true before the first job was
// drawn.
func (m *machine) over() bool { return m.ahead == nil && len(m.live) == 0 && len(m.deleted) == 0 }

// clock returns the time that the log's clock shows at an instant, or the argument not if that is later. not is a time
// that the log already has for the same job, whose times must not go back. If a step of the clock is due, clock makes
// it first.
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

// happened writes the lines for an event of the simulator into the log.
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

// deleteUntil writes all items of m.deleted up to an instant into the log.
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

// delete writes the submission of a job that never runs into the log, or its deletion if the log has its submission.
func (m *machine) delete(d deletion) error {
	if t := m.live[d.line.ID]; t == nil {
		d.line.Submit = m.clock(d.at, time.Time{})
		m.live[d.line.ID] = &told{line: d.line}
		if d.array {
			return m.say(m.format.array(m.buf[:0], &d.line, bombTasks), d.at)
		}
		return m.say(m.format.submitted(m.buf[:0], &d.line), d.at)
	}
	line := m.live[d.line.ID].line
	delete(m.live, d.line.ID)
	line.End = m.clock(d.at, line.Submit)
	if d.array {
		return m.say(m.format.arrayCancelled(m.buf[:0], &line), d.at)
	}
	return m.say(m.format.cancelled(m.buf[:0], &line), d.at)
}

// crashed lets the machine crash. Running jobs are killed and queued again, before the waiting jobs. Nothing else
// happens until the machine is up again.
func (m *machine) crashed(at float64) error {
	m.tally.Crashes++
	down := 1800 + math.Floor(m.rng.ExpFloat64()*4*3600)
	m.crash, m.floor = m.after(at+down, crashDays), max(m.floor, at+down)
	var again, waiting []*told
	for _, t := range m.live {
		switch {
		case t.job.ID == 0: // a job that will be deleted
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
	for i := range m.deleted { // users delete their jobs only when the machine is up
		m.deleted[i].at = max(m.deleted[i].at, at+down)
	}
	m.handed = false // the scheduler that crashed had received the job
	return m.boot(state)
}

// say writes a line into the log, sometimes twice, and from time to time a bad line after it.
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
