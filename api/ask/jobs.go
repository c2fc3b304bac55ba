package ask

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/internal/duration"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// waitingJob describes a job that waits, and why its forecast moved, by what it waits for if that is known. It leaves
// out the owner.
func waitingJob(v *readmodel.View, w *readmodel.Waiting, now time.Time, waits []readmodel.Pivot) wire.Job {
	j := w.Job
	out := wire.Job{
		ID: j.ID, Queue: j.Queue, Procs: j.Procs, Tasks: j.Tasks, TimeLimitSeconds: j.TimeLimit.Seconds(),
		Submit:        j.Submit,
		WaitedSeconds: math.Max(0, now.Sub(j.Submit).Seconds()), Held: j.Held, HeldReason: j.Reason,
		HeldClass: job.CauseOf(j.Reason).String(), HeldAction: Action(job.CauseOf(j.Reason)), AheadJobs: w.Ahead,
		AheadProcs: w.AheadProcs,
	}
	if out.DetailsPending = j.DetailsPending(); out.DetailsPending && j.Unqueued {
		out.Queue = "" // the queue that stands for it in the picture is a guess
	}
	served := v.Served(j)
	switch {
	case served == nil:
		out.NoForecast = "afterwards"
	case served.Quantiles == nil:
		out.NoForecast = served.Reason
	default:
		out.Forecast = jobForecast(served, out.WaitedSeconds, now)
		out.Forecast.Methods = withIgnored(out.Forecast.Methods, v.Rules != nil)
		m := v.Move(w, served, waits, now)
		out.Moved, out.MovedBy = moved(&out, &m), string(m.Cause)
	}
	return out
}

func jobForecast(served *readmodel.Served, waited float64, now time.Time) *wire.JobForecast {
	rest := served.Rest(waited)
	out := &wire.JobForecast{
		AtSubmit: quantiles(served.Quantiles), Now: quantiles(rest), Start: instants(rest, now),
		AheadJobs: served.Ahead, AheadProcs: served.AheadProcs, Methods: []wire.Method{},
	}
	for _, p := range served.Peers {
		m := wire.Method{Name: p.Method}
		if q := p.Quantiles[waittime.Median]; q >= 0 {
			m.MedianSeconds = seconds(q)
		}
		out.Methods = append(out.Methods, m)
	}
	return out
}

// explainJob adds to a waiting job what it waits for and what would start sooner.
func explainJob(v *readmodel.View, w *readmodel.Waiting, now time.Time, keep float64, waits []readmodel.Pivot,
	out *wire.Job) {
	if w.Job.Held {
		return
	}
	out.WaitsFor = pivots(waits)
	served := v.Served(w.Job)
	if served == nil || served.Quantiles == nil || w.Job.Tasks > 1 {
		return
	}
	rest := served.Rest(out.WaitedSeconds)
	a := w.Job.Attributes
	a.Priority = 0 // it is the scheduler's for this job as it is
	out.Sooner = sooner(v, now, readmodel.SoonerQuery{Request: &a, Wait: rest, Job: w.Job, Keep: keep})
}

// moved reports why a job's forecast is another one now.
func moved(j *wire.Job, m *readmodel.Move) string {
	text := "it has waited " + duration.Format(time.Duration(j.WaitedSeconds)*time.Second)
	then, now := j.Forecast.AheadJobs, j.AheadJobs
	switch m.Cause {
	case readmodel.MovedHeld:
		return text + ", and is held: it does not compete"
	case readmodel.MovedCapacity:
		return fmt.Sprintf("%s, and its pool has %s fewer than at its submission", text, count(m.Lost, "processor"))
	case readmodel.MovedOverrun:
		longest := m.Overrun[0]
		return fmt.Sprintf("%s, and job %s with %s, for whose end it waits, runs longer than 9 in 10 such jobs", text,
			longest.Job.ID, count(longest.Procs, "processor"))
	case readmodel.MovedPriority:
		return fmt.Sprintf("%s, and %s ahead of it at its submission, %d now: its priority has fallen", text,
			were(then), now)
	case readmodel.MovedPassed:
		return fmt.Sprintf("%s, and %s ahead of it at its submission, %d now: others were let go before it", text,
			were(then), now)
	case readmodel.MovedOn:
		return fmt.Sprintf("%s, and %s ahead of it at its submission, %d now", text, were(then), now)
	}
	if now == 0 {
		return text + ": nobody is ahead of it"
	}
	return fmt.Sprintf("%s: %s ahead of it, about as at its submission", text, count(now, "job"))
}

// redact takes out which other jobs a job waits for, if the caller sees only the own ones.
func redact(c Caller, out *wire.Job, waits []readmodel.Pivot) {
	if c.SeesAll() || len(out.WaitsFor) == 0 && out.MovedBy != string(readmodel.MovedOverrun) {
		return
	}
	if out.WaitsFor != nil {
		out.WaitsFor = pivotsFor(c, waits)
	}
	if out.MovedBy == string(readmodel.MovedOverrun) { // the sentence names one
		out.Moved = "a job for whose end it waits runs longer than 9 in 10 such jobs"
	}
}

// nameOwner adds whose job it is, as far as the caller may know.
func nameOwner(c Caller, j *cluster.Job, out *wire.Job) {
	out.User = c.NameOf(j.User)
	if c.SeesDetails(j.User) {
		out.Account, out.Name = j.Account, j.Name
	}
}

// Jobs returns the waiting jobs of a view that the caller sees, those submitted first, at most limit of them. An
// empty queue means any.
func (s *Service) Jobs(v *readmodel.View, queue string, limit int, c Caller) wire.Jobs {
	out := wire.Jobs{Cluster: v.Cluster, Jobs: []wire.Job{}, AsOf: s.AsOfInstant(v)}
	var now time.Time
	now, out.AgeSeconds, out.Stale = s.AsOf(v)
	for _, w := range v.Waiting() {
		if queue != "" && w.Job.Queue != queue || !c.Sees(w.Job.User) {
			continue
		}
		if out.Waiting++; len(out.Jobs) < limit {
			one := waitingJob(v, &w, now, nil)
			nameOwner(c, w.Job, &one)
			out.Jobs = append(out.Jobs, one)
		}
	}
	return out
}

// JobQuery is a question about one waiting job.
type JobQuery struct {
	View    *readmodel.View
	service *Service
	caller  Caller
	waiting readmodel.Waiting
	keep    float64 // by an option
}

// Job finds a waiting job that the caller sees. keep is as in WaitRequest.
func (s *Service) Job(clusterName, id string, keep float64, c Caller) (*JobQuery, error) {
	v, err := s.View(clusterName)
	if err != nil {
		return nil, err
	}
	if v.At.IsZero() {
		return nil, nothingRead(v)
	}
	all := v.Waiting()
	i := slices.IndexFunc(all, func(w readmodel.Waiting) bool { return w.Job.ID == id && c.Sees(w.Job.User) })
	if i < 0 {
		return nil,
			NotFound(fmt.Sprintf("no job %q waits in cluster %s: it has started or left, or was never submitted",
				id, v.Cluster))
	}
	return &JobQuery{View: v, service: s, caller: c, waiting: all[i],
		keep: cmp.Or(keep, readmodel.DefaultKeep)}, nil
}

// Answer describes the job.
func (q *JobQuery) Answer() wire.JobAnswer {
	v := q.View
	out := wire.JobAnswer{Cluster: v.Cluster, AsOf: q.service.AsOfInstant(v)}
	var now time.Time
	now, out.AgeSeconds, out.Stale = q.service.AsOf(v)
	waits := v.PivotsOf(q.waiting.Job)
	out.Job = waitingJob(v, &q.waiting, now, waits)
	explainJob(v, &q.waiting, now, q.keep, waits, &out.Job)
	redact(q.caller, &out.Job, waits)
	nameOwner(q.caller, q.waiting.Job, &out.Job)
	return out
}
