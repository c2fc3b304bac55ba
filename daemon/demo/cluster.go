// Package demo runs waitcast without a scheduler. A simulated cluster writes a real PBS accounting log. The same
// daemon as in production follows the log.
package demo

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/waitcast/waitcast/collector/pbs"
	"github.com/waitcast/waitcast/simulator"
)

// nodes is the number of nodes of the simulated machine. Each has one processor.
const nodes = 128

// queueSpec is a queue of the simulated cluster.
type queueSpec struct {
	name     string
	limit    time.Duration // the maximum time limit that the queue accepts
	priority float64
}

func queueSpecs() []queueSpec {
	return []queueSpec{{"short", time.Hour, 3}, {"medium", 4 * time.Hour, 2}, {"long", 24 * time.Hour, 1}}
}

// queueOf returns the queue for a time limit.
func queueOf(limit time.Duration) string {
	all := queueSpecs()
	for _, q := range all {
		if limit <= q.limit {
			return q.name
		}
	}
	return all[len(all)-1].name
}

// policy returns the policy of the simulated cluster: jobs start in the order of their queues' priority, with EASY
// backfilling. The priority of a job rises while it waits: 12 hours of waiting count as much as the difference between
// the queues short and long.
func policy() *simulator.Priority {
	return &simulator.Priority{
		WeightQueue: 1, WeightAge: 1, MaxAge: (18 * time.Hour).Seconds(), Every: 60, Backfill: simulator.BackfillEASY,
	}
}

// facts returns the queues as PBS's qmgr prints them.
func facts() []byte {
	var text []byte
	for _, q := range queueSpecs() {
		text = fmt.Appendf(text, "create queue %[1]s\nset queue %[1]s queue_type = Execution\n"+
			"set queue %[1]s resources_max.walltime = %02[2]d:00:00\nset queue %[1]s enabled = True\n"+
			"set queue %[1]s started = True\n", q.name, int(q.limit.Hours()))
	}
	return text
}

// cluster is a simulated machine that writes its own accounting log.
type cluster struct {
	dir     string
	epoch   time.Time // midnight at the instant 0 of the simulation
	from    float64   // in seconds after the epoch; jobs before this instant are not written
	sim     *simulator.Simulator
	rng     *rand.Rand
	buf     []byte
	file    *os.File
	day     string
	jobs    int64
	events  int     // number of events written into the log
	waiting float64 // processor seconds that the waiting jobs need
}

// newCluster returns a machine. Its first job is submitted at or after the given instant. The machine writes its log
// into dir, in files named by date.
func newCluster(dir string, from time.Time, seed uint64) (*cluster, error) {
	c := &cluster{dir: dir, epoch: from.Truncate(24 * time.Hour), rng: rand.New(rand.NewPCG(seed, 1))}
	c.from = from.Sub(c.epoch).Seconds()
	arrivals, err := newStream(seed)
	if err != nil {
		return nil, err
	}
	queues := make([]simulator.Queue, 0, len(queueSpecs()))
	for _, q := range queueSpecs() {
		queues = append(queues, simulator.Queue{Name: q.name, MaxTime: q.limit.Seconds(), Priority: q.priority})
	}
	c.sim, err = simulator.New(simulator.Config{
		Procs: nodes, Queues: queues, Policy: policy(),
		Arrivals: func() (simulator.Job, bool) { return c.job(c.wanted(arrivals)), true },
	})
	return c, err
}

// advance simulates the machine up to an instant and writes the events to its log.
func (c *cluster) advance(until time.Time) error {
	var failed error
	err := c.sim.Advance(until.Sub(c.epoch).Seconds(), func(e simulator.Event) {
		if failed == nil {
			failed = c.write(e)
		}
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return fmt.Errorf("simulated cluster: %w", err)
	}
	return c.flush()
}

// backlog returns the work of the waiting jobs, in hours for which the whole machine would be busy.
func (c *cluster) backlog() float64 { return c.waiting / nodes / 3600 }

func (c *cluster) at(seconds float64) time.Time {
	return c.epoch.Add(time.Duration(seconds * float64(time.Second)))
}

// write appends the record of one event. The name of the file is the date of the record, as in PBS.
func (c *cluster) write(e simulator.Event) error {
	at := c.at(e.Time)
	if day := at.Format("20060102"); day != c.day {
		if err := c.open(day); err != nil {
			return err
		}
	}
	c.events++
	j := e.Job
	submit := c.at(j.Submit)
	rec := pbs.Record{
		ID: fmt.Sprintf("%d.demo", j.ID), User: userName(j.User), Group: "users", Name: program(j.Limit),
		Queue:   j.Queue,
		Created: submit, Queued: submit, Eligible: submit, Procs: j.Procs, Nodes: j.Procs,
		TimeLimit: time.Duration(j.Limit) * time.Second,
	}
	switch e.Kind {
	case simulator.Submitted:
		c.waiting += float64(j.Procs) * j.Runtime
		c.buf = pbs.AppendQueued(c.buf, rec)
	case simulator.Started:
		c.waiting -= float64(j.Procs) * j.Runtime
		rec.Start = at
		c.buf = pbs.AppendStarted(c.buf, rec)
	case simulator.Ended:
		rec.Start, rec.End = c.at(j.Start), at
		c.buf = pbs.AppendEnded(c.buf, rec)
	}
	return nil
}

// open closes the present file and opens the file of a day, given as 20060102.
func (c *cluster) open(day string) error {
	if err := c.close(); err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(c.dir, day), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	c.file, c.day = file, day
	return err
}

func (c *cluster) flush() error {
	if len(c.buf) == 0 {
		return nil
	}
	_, err := c.file.Write(c.buf)
	c.buf = c.buf[:0]
	return err
}

func (c *cluster) close() error {
	if c.file == nil {
		return nil
	}
	err := c.flush()
	if cerr := c.file.Close(); err == nil {
		err = cerr
	}
	c.file = nil
	return err
}
