package ask

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// waitingJob describes a waiting job without its owner. It reports why the job's forecast has changed. waits are the
// running jobs that the job waits for; nil if they are unknown.
func waitingJob(v *readmodel.View, w *readmodel.Waiting, now time.Time, waits []readmodel.Pivot) wire.Job {
	j := w.Job
	held := job.CauseOf(j.Reason)
	out := wire.Job{
		ID: j.ID, Queue: j.Queue, Procs: j.Procs, Tasks: j.Tasks, TimeLimitSeconds: j.TimeLimit.Seconds(),
		Submit:        j.Submit,
		WaitedSeconds: math.Max(0, now.Sub(j.Submit).Seconds()), Held: j.Held, HeldReason: j.Reason,
		HeldClass: held.String(), HeldAction: action(held), AheadJobs: w.Ahead,
		AheadProcs: w.AheadProcs,
	}
	if out.DetailsPending = j.DetailsPending(); out.DetailsPending && j.Unqueued {
		out.Queue = "" // the queue in the picture is a guess
	}
	served := v.Served(j)
	switch {
	case served == nil:
		out.NoForecast = "afterwards"
	case served.Quantiles == nil:
		out.NoForecast = served.Reason
	default:
		out.Forecast = jobForecast(v, served, j, now)
		out.Forecast.Methods = withIgnored(out.Forecast.Methods, v.Rules != nil)
		m := v.Move(w, served, waits, now)
		out.Moved, out.MovedBy = moved(&out, &m), string(m.Cause)
	}
	return out
}

func jobForecast(v *readmodel.View, served *readmodel.Served, j *cluster.Job, now time.Time) *wire.JobForecast {
	rest := v.RestOf(served, j, now)
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

// explainJob completes out, which describes the waiting job w: it adds the running jobs that the job waits for. If the
// job has a forecast and at most one task, it also adds options that would start sooner. For a held job it adds
// nothing.
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
	rest := v.RestOf(served, w.Job, now)
	a := w.Job.Attributes
	a.Priority = 0 // the scheduler computed this priority for the unchanged job
	out.Sooner = sooner(v, now, readmodel.SoonerQuery{Request: &a, Wait: rest, Job: w.Job, Keep: keep})
}

// moved returns a text for the user that explains why the job's forecast has changed since its submission.
func moved(j *wire.Job, m *readmodel.Move) string {
	text := "it has waited " + about(float64(j.WaitedSeconds))
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

// redact removes the ids of the jobs that the caller may not see. A caller who does not see all jobs gets no id in the
// text about an overrun.
func redact(c Caller, out *wire.Job, waits []readmodel.Pivot) {
	if c.SeesAll() || len(out.WaitsFor) == 0 && out.MovedBy != string(readmodel.MovedOverrun) {
		return
	}
	if out.WaitsFor != nil {
		out.WaitsFor = pivotsFor(c, waits)
	}
	if out.MovedBy == string(readmodel.MovedOverrun) { // the explanation of an overrun names a job
		out.Moved = "a job for whose end it waits runs longer than 9 in 10 such jobs"
	}
}

// nameOwner adds the owner of the job, in the form that the caller may see.
func nameOwner(c Caller, j *cluster.Job, out *wire.Job) {
	out.User = c.NameOf(j.User)
	if c.SeesDetails(j.User) {
		out.Account, out.Name = j.Account, j.Name
	}
}

// JobsRequest selects some of the waiting jobs of a view.
type JobsRequest struct {
	// Queue is empty for any.
	Queue string
	// At most Limit jobs are listed, after skipping Offset jobs.
	Limit, Offset int
}

// Jobs returns the waiting jobs of a view that the caller may see, in order of submission.
func (s *Service) Jobs(v *readmodel.View, in JobsRequest, c Caller) wire.Jobs {
	return s.listJobs(v, in, func(j *cluster.Job) bool { return c.Sees(j.User) }, c)
}

// listJobs returns the page of those waiting jobs that are in the queue of the request and for which wanted is true, in
// order of submission.
func (s *Service) listJobs(v *readmodel.View, in JobsRequest, wanted func(*cluster.Job) bool, c Caller) wire.Jobs {
	out := wire.Jobs{Cluster: v.Cluster, Jobs: []wire.Job{}, AsOf: s.AsOfInstant(v)}
	var now time.Time
	now, out.AgeSeconds, out.Stale = s.AsOf(v)
	for _, w := range v.Waiting() {
		if in.Queue != "" && w.Job.Queue != in.Queue || !wanted(w.Job) {
			continue
		}
		if out.Waiting++; out.Waiting > in.Offset && len(out.Jobs) < in.Limit {
			one := waitingJob(v, &w, now, nil)
			nameOwner(c, w.Job, &one)
			out.Jobs = append(out.Jobs, one)
		}
	}
	if next := in.Offset + len(out.Jobs); len(out.Jobs) > 0 && next < out.Waiting {
		out.NextOffset = &next
	}
	return out
}

// JobQuery is a query about one waiting job.
type JobQuery struct {
	View    *readmodel.View
	service *Service
	caller  Caller
	waiting readmodel.Waiting
	keep    float64 // minimum part of the processors and the time limit that an option keeps
}

// Job finds a waiting job that the caller may see. keep is as in WaitRequest.
func (s *Service) Job(clusterName, id string, keep float64, c Caller) (*JobQuery, error) {
	v, err := s.readCluster(clusterName)
	if err != nil {
		return nil, err
	}
	all := v.Waiting()
	i := indexOfJob(all, id, c)
	if i < 0 {
		return nil,
			NotFound(fmt.Sprintf("no job %q waits in cluster %s: it has started or left, or was never submitted",
				id, v.Cluster))
	}
	return &JobQuery{View: v, service: s, caller: c, waiting: all[i],
		keep: cmp.Or(keep, readmodel.DefaultKeep)}, nil
}

// indexOfJob returns the index of the job with an ID that the caller may see, -1 if there is none. As in the commands
// of PBS, "30" also means the job "30.server" if only one job has such an ID.
func indexOfJob(all []readmodel.Waiting, id string, c Caller) int {
	short, matches := -1, 0
	for i, w := range all {
		if !c.Sees(w.Job.User) {
			continue
		}
		if w.Job.ID == id {
			return i
		}
		if strings.HasPrefix(w.Job.ID, id+".") {
			short = i
			matches++
		}
	}
	if matches != 1 {
		return -1
	}
	return short
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
	if j := q.waiting.Job; j.Held && job.CauseOf(j.Reason) == job.LimitReached {
		if k := v.KeptJob(j); k != nil {
			out.HeldDetail = limitCause(v, j.Queue, j.Account, k, q.caller).Detail
		}
	}
	redact(q.caller, &out.Job, waits)
	nameOwner(q.caller, q.waiting.Job, &out.Job)
	return out
}
