// Package fastreplay measures the gain and the cost of fast replays, in which the engine follows only some of the
// recorded jobs in full, by a plan (engine.Replay). The gain is the speed of learning from recorded jobs. The cost is
// the increase of the loss of later forecasts, compared with an engine that has replayed everything in full.
package fastreplay

import (
	"fmt"
	"math"
	"slices"
	"syscall"
	"time"

	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/predictor/backtest"
	"github.com/waitcast/waitcast/predictor/engine"
)

// Levels returns the levels whose losses are compared.
func Levels() []float64 { return waittime.ScoredLevels() }

// Options define a run.
type Options struct {
	// Exact is true if all jobs are replayed in full. Otherwise the first Cut jobs are replayed by Plan, in which Run
	// sets the number of submissions.
	Exact bool
	Plan  engine.Replay
	// Cut is the number of replayed jobs. Follow is the number of jobs that the engine follows afterwards as if they
	// were live; 0 means all.
	Cut, Follow int
}

// Result is the result of one run.
type Result struct {
	// Jobs is the number of replayed jobs. Learned is the duration of the replay, including the work at its end. CPU is
	// the processor time of the replay.
	Jobs         int
	Learned, CPU time.Duration
	// Losses has an item for each job after the first Cut: its pinball losses on the scale ln(wait + 60 s) at Levels.
	// The item of a job that is not scored is empty.
	Losses [][]float64
}

// Run replays a trace in the same way as the daemon learns a history, and then lets the engine follow the later jobs.
func Run(t *backtest.Trace, o Options) (*Result, error) {
	e, err := engine.New(engine.Config{Levels: waittime.Levels(), Downey: true})
	if err != nil {
		return nil, err
	}
	defer e.Close()
	o.Cut = min(o.Cut, len(t.Jobs))
	if o.Follow > 0 && o.Cut+o.Follow < len(t.Jobs) {
		part := *t
		part.Jobs = part.Jobs[:o.Cut+o.Follow]
		t = &part
	}
	f := &follower{Engine: e, cut: o.Cut, began: time.Now(), cpu: cpuTime()}
	if !o.Exact {
		o.Plan.Submissions = o.Cut
		e.BeginReplay(o.Plan)
	}
	losses := make([][]float64, len(t.Jobs)-o.Cut)
	t.Replay(f, func(job int, fc engine.Forecast) {
		if j := &t.Jobs[job]; job >= o.Cut && j.Scored() && fc.Quantiles != nil {
			losses[job-o.Cut] = lossesOf(fc.Quantiles, j.Wait())
		}
	})
	f.finish()
	return &Result{Jobs: o.Cut, Learned: f.learned, CPU: f.cpu, Losses: losses}, nil
}

// lossesOf returns the losses of a forecast at Levels. quantiles are at waittime.Levels.
func lossesOf(quantiles []float64, wait float64) []float64 {
	var out []float64
	all := waittime.Levels()
	for _, level := range Levels() {
		q := quantiles[slices.Index(all, level)]
		out = append(out, waittime.Pinball(level, waittime.Log(q), waittime.Log(wait)))
	}
	return out
}

// follower is an engine whose fast replay ends at the submission after the first cut jobs.
type follower struct {
	*engine.Engine
	cut, seen int
	began     time.Time
	finished  bool
	learned   time.Duration
	cpu       time.Duration // at first cpuTime at the beginning, finally the processor time of the replay
}

// Submit passes a submission to the engine. Before that it ends the replay, if cut jobs were submitted.
func (f *follower) Submit(now float64, id uint64, r engine.Request) engine.Forecast {
	if f.seen == f.cut {
		f.finish()
	}
	f.seen++
	return f.Engine.Submit(now, id, r)
}

// finish ends the replay and measures its times. Later calls do nothing.
func (f *follower) finish() {
	if f.finished {
		return
	}
	f.EndReplay()
	f.finished, f.learned, f.cpu = true, time.Since(f.began), cpuTime()-f.cpu
}

// cpuTime returns the processor time of this process so far.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// PeakMemory returns the peak resident memory of this process in MiB.
func PeakMemory() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return u.Maxrss / 1024 // Linux counts in KiB
}

// Ratios compares the losses of two runs on the jobs that both have scored. For each of Levels it returns the mean loss
// of the first run (the argument of), divided by that of the second run (over). n is the number of these jobs.
func Ratios(of, over [][]float64) (ratios []float64, n int) {
	sums := make([][2]float64, len(Levels()))
	for i := range min(len(of), len(over)) {
		if len(of[i]) == 0 || len(over[i]) == 0 {
			continue
		}
		n++
		for l := range sums {
			sums[l][0] += of[i][l]
			sums[l][1] += over[i][l]
		}
	}
	for _, s := range sums {
		ratios = append(ratios, s[0]/s[1])
	}
	return ratios, n
}

// Copies returns a trace that consists of several copies of the trace t, one after the other. Each copy is shifted by
// whole weeks, so that hours and weekdays stay the same.
func Copies(t *backtest.Trace, copies int) (*backtest.Trace, error) {
	const week = 7 * 86400
	out := &backtest.Trace{Name: fmt.Sprintf("%s, %d copies", t.Name, copies), Procs: t.Procs,
		Jobs: make([]backtest.Job, 0, copies*len(t.Jobs))}
	first, last := t.Jobs[0].Submit, t.Jobs[len(t.Jobs)-1].Submit
	shift := math.Ceil((last-first+1)/week) * week
	for c := range copies {
		for i := range t.Jobs {
			j := t.Jobs[i]
			if len(j.Changes) > 0 || j.Key != 0 {
				return nil, fmt.Errorf("%s: job %s cannot be copied: it has changes or a key", t.Name, j.ID())
			}
			by := float64(c) * shift
			j.Submit, j.Start, j.End = j.Submit+by, j.Start+by, j.End+by
			out.Jobs = append(out.Jobs, j)
		}
	}
	return out, nil
}
