package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/waitcast/waitcast/collector/pbs"
)

// cluster simulates a large OpenPBS. Its jobs have log-uniform runtimes and sizes of powers of two, in four queues.
type cluster struct {
	dir             string
	o               *options
	rnd             *rand.Rand
	next            int
	running, queued []pbs.Record
	runtimes        map[string]time.Duration
	log             *os.File
}

func newCluster(dir string, o *options) *cluster {
	return &cluster{dir: dir, o: o, rnd: rand.New(rand.NewPCG(1, 2)), runtimes: map[string]time.Duration{}}
}

// job returns the next job, submitted at an instant. Its runtime is stored separately, because the log must not contain
// it yet.
func (c *cluster) job(submit time.Time) pbs.Record {
	c.next++
	runtime := time.Duration(math.Exp(math.Log(30)+c.rnd.Float64()*math.Log(4000)) *
		float64(time.Second)).Round(time.Second)
	procs := 1 << c.rnd.IntN(8)
	rec := pbs.Record{
		ID: fmt.Sprintf("%d.server", c.next), User: fmt.Sprintf("u%d", int(200*math.Pow(c.rnd.Float64(), 2))),
		Group: "users", Name: fmt.Sprintf("run%d", c.next%50),
		Queue:    []string{"batch", "batch", "batch", "short", "long", "wide"}[c.rnd.IntN(6)],
		ExecHost: fmt.Sprintf("n1/0*%d", procs), Procs: procs,
		TimeLimit: time.Duration(float64(runtime)*(1+3*c.rnd.Float64())).Truncate(time.Minute) + time.Minute,
	}
	rec.Created, rec.Queued, rec.Eligible = submit, submit, submit
	c.runtimes[rec.ID] = runtime
	return rec
}

// begin creates the log with the history, the running jobs and the waiting jobs.
func (c *cluster) begin() error {
	type line struct {
		at   time.Time
		text []byte
	}
	var lines []line
	now := time.Now().UTC().Truncate(time.Second)
	for i := range c.o.history {
		j := c.job(now.Add(-time.Duration(c.o.history-i)*20*time.Second - 48*time.Hour))
		j.Start = j.Queued.Add(
			time.Duration(c.rnd.ExpFloat64() * float64(j.Procs) * float64(time.Minute)).Truncate(time.Second))
		j.End = j.Start.Add(c.runtimes[j.ID])
		lines = append(lines, line{j.Queued, pbs.AppendQueued(nil, j)}, line{j.Start, pbs.AppendStarted(nil, j)},
			line{j.End, pbs.AppendEnded(nil, j)})
	}
	for range c.o.running {
		j := c.job(now)
		j.Start = now.Add(-time.Duration(c.rnd.Float64() * float64(c.runtimes[j.ID])).Truncate(time.Second))
		j.Created = j.Start.Add(-time.Hour)
		j.Queued, j.Eligible = j.Created, j.Created
		c.running = append(c.running, j)
		lines = append(lines, line{j.Queued, pbs.AppendQueued(nil, j)}, line{j.Start, pbs.AppendStarted(nil, j)})
	}
	for i := range c.o.queued {
		j := c.job(now.Add(-time.Duration(c.o.queued-i) * time.Second / 4))
		c.queued = append(c.queued, j)
		lines = append(lines, line{j.Queued, pbs.AppendQueued(nil, j)})
	}
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(a.at.Unix(), b.at.Unix()) })
	var err error
	if c.log, err = os.Create(filepath.Join(c.dir, "accounting")); err != nil {
		return err
	}
	w := bufio.NewWriter(c.log)
	for _, l := range lines {
		if l.at.After(now) {
			continue
		}
		if _, err := w.Write(l.text); err != nil {
			return err
		}
	}
	return w.Flush()
}

// live lets jobs end, start and arrive until the context ends.
func (c *cluster) live(ctx context.Context, rate float64) {
	tick := time.NewTicker(time.Duration(float64(time.Second) / rate))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case at := <-tick.C:
			if err := c.move(at.UTC().Truncate(time.Second)); err != nil {
				fmt.Fprintln(os.Stderr, "bench-http: the cluster:", err)
				return
			}
		}
	}
}

// move lets one job end, one start and one arrive.
func (c *cluster) move(now time.Time) error {
	i := c.rnd.IntN(len(c.running))
	ended, started, fresh := c.running[i], c.queued[0], c.job(now)
	ended.End, started.Start = now, now
	c.running[i], c.queued = started, append(c.queued[1:], fresh)
	text := pbs.AppendEnded(nil, ended)
	text = pbs.AppendStarted(text, started)
	_, err := c.log.Write(pbs.AppendQueued(text, fresh))
	return err
}
