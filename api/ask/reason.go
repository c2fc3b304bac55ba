package ask

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/internal/duration"
	"github.com/waitcast/waitcast/pipeline/accuracy"
	"github.com/waitcast/waitcast/pipeline/readmodel"
	"github.com/waitcast/waitcast/predictor"
	"github.com/waitcast/waitcast/predictor/engine/ensemble"
	enginepools "github.com/waitcast/waitcast/predictor/engine/pools"
)

// reason describes the forecast in one text. It names the free processors, the jobs ahead, the start that follows from
// these, whether the forecast agrees with that start, and the basis of the forecast. If there are any, it adds the
// limit that keeps the job, staleness, the outage in the way, and warnings.
func (q *WaitQuery) reason(w *wire.Wait, scene *predictor.Scene, f *predictor.Forecast) string {
	parts := []string{situation(w, q.mayStart(w))}
	if longer := disagreement(w, knownCauses(q.View, w, f)); longer != "" {
		parts[0] += ", " + longer
	}
	if kept := keptFor(w.Cause); kept != "" {
		parts = append(parts, kept)
	}
	parts = append(parts, basis(w))
	if w.Stale {
		parts = append(parts, fmt.Sprintf("STALE: the newest record is %s old, this is how it looked then",
			duration.Format(time.Duration(w.AgeSeconds)*time.Second)))
	}
	if w.AskedQueue != "" {
		parts = append(parts, fmt.Sprintf("the jobs of queue %s are counted in queue %s", w.AskedQueue, w.Queue))
	}
	if strings.Contains(q.request.Queue, ",") {
		parts = append(parts, fmt.Sprintf("of the queues %s it starts soonest in %s", q.request.Queue, w.Queue))
	}
	if f.Closed {
		parts = append(parts, "it cannot start while "+outages(scene)+" would interrupt it")
	}
	parts = append(parts, w.Warnings...)
	if c := q.service.unread(q.View, q.service.limit()); c != nil {
		parts = append(parts, c.String())
	}
	return strings.Join(parts, "; ")
}

// soon reports whether a start within a minute has a probability of at least 0.5.
func soon(w *wire.Wait) bool { return w.StartWithin.Minute >= .5 }

// mayStart reports whether the job may start if enough is free: the queue is open, and no refusal, no limit and no lack
// of room on the nodes is known.
func (q *WaitQuery) mayStart(w *wire.Wait) bool {
	facts := queueFacts(q.View, w.Queue)
	return w.Refused == nil && !facts.Closed && !facts.Down && keptFor(w.Cause) == ""
}

// situation describes how much of the pool's scarce resource is free, and the jobs ahead. If these and the forecast
// suggest that the job starts at once, and mayStart is set, it also reports that.
func situation(w *wire.Wait, mayStart bool) string {
	what := map[string]string{"procs": "processors", "nodes": "nodes", "gpus": "GPUs",
		"memory": "processors' shares of memory"}[w.State.Binds]
	text := fmt.Sprintf("%d of %d %s are free", w.State.Free, w.State.Capacity, what)
	ahead := count(w.State.QueuedAheadJobs, "job")
	switch {
	case w.State.Needed > 0 && w.State.QueuedAheadJobs == 0:
		return fmt.Sprintf("next in line: %s, %d more must %s", text, w.State.Needed, beFreed(w.State.RunningJobs))
	case w.State.Needed > 0:
		return fmt.Sprintf("%s with %d %s ahead, %s: %d must be freed first, unless this job fits between them",
			ahead, w.State.QueuedAhead, what, text, w.State.Needed)
	case w.State.QueuedAheadJobs == 0:
		text += " and nobody is ahead"
	default:
		text += fmt.Sprintf(", enough for the %s ahead too", ahead)
	}
	if soon(w) && mayStart {
		return "starts at once if it fits: " + text
	}
	return text
}

// beFreed ends a sentence about resources: they must be freed by the running jobs.
func beFreed(running int) string {
	switch running {
	case 0:
		return "become free, and no job runs"
	case 1:
		return "be freed by the job that runs"
	}
	return fmt.Sprintf("be freed by the %d jobs that run", running)
}

// disagreement reports that the forecast differs from what the free processors suggest, with the known causes. It
// returns "" if there is no difference, or if the job may start sooner only because it fits between the jobs ahead.
func disagreement(w *wire.Wait, causes []string) string {
	fits := w.State.Needed == 0
	switch {
	case fits == soon(w):
		return ""
	case !fits && w.State.QueuedAheadJobs > 0: // the job may fit between the jobs ahead, which situation mentions
		return ""
	case !fits:
		return fmt.Sprintf("but %s: %s", evidence(w, "sooner"), half(w))
	}
	text := fmt.Sprintf("but %s: %s", evidence(w, "later"), half(w))
	if len(causes) == 0 {
		return text + " (why is not known here)"
	}
	return text + " (known of why: " + strings.Join(causes, "; ") + ")"
}

// evidence returns a sentence about the evidence that a job starts "later" or "sooner" (how) than free processors
// suggest. Only waits that were learnt prove it. Otherwise the sentence names the simulation or the forecast.
func evidence(w *wire.Wait, how string) string {
	played := []string{ensemble.Names()[ensemble.Simulation], ensemble.Names()[ensemble.Limits], ""}
	text := "such jobs have lately started " + how
	switch {
	case w.Method != accuracy.Waitcast || w.Basis.Learnt == 0:
		text = "by the forecast it starts " + how
	case slices.Contains(played, w.Basis.RestsOn):
		text = "played forward with what is known of the queue it starts " + how
	}
	return text + " than free processors suggest"
}

// half describes the median of the wait in words.
func half(w *wire.Wait) string {
	if w.WaitSeconds.P50 == nil {
		return "half of them may never start"
	}
	return fmt.Sprintf("half of them start within %s", about(*w.WaitSeconds.P50))
}

// knownCauses returns the causes, known from the scheduler, the configuration or the log, that may keep a job waiting
// while processors are free.
func knownCauses(v *readmodel.View, w *wire.Wait, f *predictor.Forecast) []string {
	var out []string
	if f.Closed {
		out = append(out, "an outage is planned")
	}
	if facts := queueFacts(v, w.Queue); facts.Down || facts.Closed {
		out = append(out, "the queue does not work now")
	}
	// A priority that was learnt from starts explains nothing.
	policy, from := v.Policy(w.Queue)
	if from != enginepools.PolicyLearnt && strings.HasPrefix(policy.String(), "priority") {
		out = append(out, "jobs with a higher priority go before it, also those that come later")
	}
	for _, missing := range w.NotConsidered {
		if missing == "limits" {
			out = append(out, "limits of its QOS or account are not all played")
		} else {
			out = append(out, "what it takes of "+missing+" is not played")
		}
	}
	return out
}

// outages names the planned outages of the pool of a scene.
func outages(scene *predictor.Scene) string {
	var names []string
	for _, o := range scene.Pool.Outages {
		names = append(names, o.Name)
	}
	return strings.Join(names, ", ")
}

// fewWaits is the number of learnt waits below which the answer warns that little is known. By default, trees are first
// trained after as many waits (engine.Config.First).
const fewWaits = 300

// basis describes in words from how many waits the forecast was learnt.
func basis(w *wire.Wait) string {
	b := &w.Basis
	switch {
	case w.Method != accuracy.Waitcast && b.Learnt == 0:
		return "no wait has been learnt yet: first come, first served is assumed"
	case w.Method != accuracy.Waitcast:
		return fmt.Sprintf("first come, first served is assumed: nothing that was learnt (%s) is of use for such a job",
			count(b.Learnt, "wait"))
	case b.Learnt < fewWaits && b.Learnt == 1:
		return "little is known yet: 1 wait learnt"
	case b.Learnt < fewWaits:
		return fmt.Sprintf("little is known yet: %d waits learnt", b.Learnt)
	case b.Similar == 0:
		return fmt.Sprintf("no wait of such a job in queue %s is known yet: learnt from %d others", w.Queue, b.Learnt)
	}
	return fmt.Sprintf("learnt from %s of such jobs and %d in all", count(b.Similar, "wait"), b.Learnt)
}
