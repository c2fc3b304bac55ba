package api

import (
	"fmt"
	"math"
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/internal/duration"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/pipeline"
)

// pivots tells of the running jobs whose ends a start hangs on. Whose they are it does not tell.
func pivots(all []pipeline.Pivot) []wire.Pivot {
	var out []wire.Pivot
	for _, p := range all {
		out = append(out, wire.Pivot{
			ID: p.Job.ID, Procs: p.Procs, AgeSeconds: math.Round(p.Age*10) / 10, RemainingP50: span(p.Median), RemainingP90: span(p.High),
			Share: math.Round(p.Share*1e4) / 1e4,
		})
	}
	return out
}

// span returns seconds as JSON has them: null where they stand for never.
func span(s float64) *float64 {
	if waittime.IsNever(s) {
		return nil
	}
	return seconds(s)
}

// sooner tells what would start sooner than a wait of the given quantiles.
func sooner(v *pipeline.View, now time.Time, a *job.Attributes, than []float64) []wire.Sooner {
	var out []wire.Sooner
	for _, o := range v.Sooner(now, a, than) {
		s := wire.Sooner{
			Changes: o.Changes, Queue: o.Queue, Procs: o.Procs, Nodes: o.Nodes, TimeLimitSeconds: o.TimeLimit.Seconds(),
			WaitSeconds: quantiles(rising(o.Quantiles)), GainSeconds: span(o.Gain),
		}
		switch o.Changes {
		case pipeline.ChangeLimit:
			s.If = "if it can end within " + duration.Format(o.TimeLimit)
		case pipeline.ChangeQueue:
			s.If = "if it may be submitted to queue " + o.Queue
		default:
			s.If = fmt.Sprintf("if it can run on %s, and still end within its time limit", count(o.Procs, "processor"))
		}
		out = append(out, s)
	}
	return out
}

// explainJob adds to a waiting job what it waits for and what would start sooner.
func explainJob(v *pipeline.View, w *pipeline.Waiting, now time.Time, waits []pipeline.Pivot, out *wire.Job) {
	if w.Job.Held {
		return
	}
	out.WaitsFor = pivots(waits)
	served := v.Served(w.Job)
	if served == nil || served.Quantiles == nil || w.Job.Tasks > 1 {
		return
	}
	rest := pipeline.NewCurve(served.Levels, served.Quantiles).Rest(out.WaitedSeconds)
	a := w.Job.Attributes
	a.Priority = 0 // it is the scheduler's for this job as it is
	out.Sooner = sooner(v, now, &a, rest)
}

// moved says why a job's forecast is another one now.
func moved(j *wire.Job, m *pipeline.Move) string {
	text := "it has waited " + duration.Format(time.Duration(j.WaitedSeconds)*time.Second)
	then, now := j.Forecast.AheadJobs, j.AheadJobs
	switch m.Cause {
	case pipeline.MovedHeld:
		return text + ", and is held: it does not compete"
	case pipeline.MovedCapacity:
		return fmt.Sprintf("%s, and its pool has %s fewer than at its submission", text, count(m.Lost, "processor"))
	case pipeline.MovedOverrun:
		longest := m.Overrun[0]
		return fmt.Sprintf("%s, and job %s with %s, for whose end it waits, runs longer than 9 in 10 such jobs", text, longest.Job.ID, count(longest.Procs, "processor"))
	case pipeline.MovedPriority:
		return fmt.Sprintf("%s, and %s ahead of it at its submission, %d now: its priority has fallen", text, were(then), now)
	case pipeline.MovedPassed:
		return fmt.Sprintf("%s, and %s ahead of it at its submission, %d now: others were let go before it", text, were(then), now)
	case pipeline.MovedOn:
		return fmt.Sprintf("%s, and %s ahead of it at its submission, %d now", text, were(then), now)
	}
	if now == 0 {
		return text + ": nobody is ahead of it"
	}
	return fmt.Sprintf("%s: %s ahead of it, about as at its submission", text, count(now, "job"))
}
