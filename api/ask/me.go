package ask

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/internal/duration"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/pipeline/livemodels"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

const (
	// leastRuns is the minimum number of runs from which a habit is reported. Of fewer runs, 9/10 would be all of
	// them.
	leastRuns = 10
	// mostHabits is the maximum number of job names whose habits are reported. Each takes up to two forecasts.
	mostHabits = 8
	// A shorter limit is proposed only if it would have been enough for at least the share enoughRuns of the runs. It
	// must also be at least spareTime times the time in which 9/10 of the runs ended.
	enoughRuns, spareTime = .95, 1.25
)

// MeRequest is a request about the jobs of one user.
type MeRequest struct {
	// Cluster may be empty if there is only one.
	Cluster string
	// User is the owner of the jobs: the caller, or the user whom an administrator names.
	User string
	// Name is a job name whose habit is reported in addition to those of the waiting and running jobs; empty for none.
	Name string
	// Limit and Offset select among the waiting jobs.
	Limit, Offset int
}

// MeQuery is a query of a user, on one view.
type MeQuery struct {
	View    *readmodel.View
	service *Service
	request MeRequest
}

// Me finds the cluster of a request, and refuses one without any record.
func (s *Service) Me(in MeRequest) (*MeQuery, error) {
	v, err := s.readCluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	return &MeQuery{v, s, in}, nil
}

// Answer reports the waiting jobs and the habits of the request's user, as the receiver c may see them.
func (q *MeQuery) Answer(c Caller) wire.Me {
	v, in := q.View, &q.request
	own := func(j *cluster.Job) bool { return j.User == in.User }
	list := q.service.listJobs(v, JobsRequest{Limit: in.Limit, Offset: in.Offset}, own, c)
	out := wire.Me{
		User: in.User, Cluster: v.Cluster, Waiting: list.Waiting, NextOffset: list.NextOffset, Jobs: list.Jobs,
		Habits: []wire.Habit{},
		AsOf:   list.AsOf, AgeSeconds: list.AgeSeconds, Stale: list.Stale,
	}
	for _, j := range v.Running {
		if own(j) {
			out.RunningJobs++
		}
	}
	now, _, _ := q.service.AsOf(v)
	programs := v.Models.History.Programs(in.User)
	newest := newestOf(v, own)
	names := make([]string, 0, len(newest))
	for _, j := range newest {
		names = append(names, j.Name)
	}
	if in.Name != "" && !slices.Contains(names, in.Name) {
		names = slices.Insert(names, 0, in.Name)
		newest = slices.Insert(newest, 0, nil)
	}
	names = names[:min(len(names), mostHabits)]
	for i, name := range names {
		out.Habits = append(out.Habits, q.habit(now, name, newest[i], programs.Of(name)))
	}
	out.OtherNames = programs.Others(leastRuns, names)
	return out
}

// newestOf returns the newest waiting or running job of each job name, the newest first.
func newestOf(v *readmodel.View, own func(*cluster.Job) bool) []*cluster.Job {
	var all []*cluster.Job
	for _, list := range [...][]*cluster.Job{v.Queued, v.Running} {
		for _, j := range list {
			if own(j) && j.Name != "" {
				all = append(all, j)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *cluster.Job) int {
		return cmp.Or(b.Submit.Compare(a.Submit), cmp.Compare(b.Seq, a.Seq))
	})
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(j *cluster.Job) bool {
		again := seen[j.Name]
		seen[j.Name] = true
		return again
	})
}

// habit reports how long the jobs with a name ran. newest is the newest waiting or running job with that name, nil if
// there is none.
func (q *MeQuery) habit(now time.Time, name string, newest *cluster.Job, runs []livemodels.Run) wire.Habit {
	out := wire.Habit{Name: name, Runs: len(runs)}
	var limit time.Duration
	if len(runs) > 0 {
		limit = runs[0].Limit
	}
	if newest != nil {
		limit = newest.TimeLimit
		out.Queue, out.Procs = newest.Queue, newest.Procs
	}
	out.TimeLimitSeconds = limit.Seconds()
	if len(runs) < leastRuns {
		out.Text = fmt.Sprintf("%s of your %s jobs: a habit shows from %d on", ended(len(runs)), name, leastRuns)
		return out
	}
	lives, needed := make([]float64, len(runs)), make([]float64, len(runs))
	for i := range runs {
		lives[i], needed[i] = runs[i].Seconds, runs[i].Seconds
		if runs[i].ReachedLimit() {
			out.ReachedLimit++
			needed[i] = math.Inf(1) // the limit ended the run, so its full runtime is unknown
		}
	}
	slices.Sort(lives)
	slices.Sort(needed)
	var at []float64
	for _, level := range waittime.Levels() {
		at = append(at, stat.Quantile(level, stat.Empirical, lives, nil))
	}
	told := quantiles(at)
	out.RuntimeSeconds = &told
	if shorter := shorterLimit(needed, limit); shorter > 0 {
		enough, _ := slices.BinarySearch(needed, math.Nextafter(shorter.Seconds(), math.Inf(1)))
		out.Shorter = &wire.Shorter{TimeLimitSeconds: shorter.Seconds(),
			Enough: decimals(float64(enough)/float64(len(needed)), 3)}
		q.compare(now, newest, shorter, out.Shorter)
	}
	out.Text = habitText(&out, limit)
	return out
}

// ended formats the number of jobs that have ended.
func ended(n int) string {
	switch n {
	case 0:
		return "no run is known"
	case 1:
		return "1 run is known"
	}
	return fmt.Sprintf("%d runs are known", n)
}

// shorterLimit returns the shortest round limit that meets the conditions stated at enoughRuns. It returns 0 if there
// is none, or if it is not shorter than limit, the requested one (0 for none). needed are the sorted runtimes in
// seconds, with +Inf for a run that reached its limit.
func shorterLimit(needed []float64, limit time.Duration) time.Duration {
	least := math.Max(stat.Quantile(enoughRuns, stat.Empirical, needed, nil),
		spareTime*stat.Quantile(.9, stat.Empirical, needed, nil))
	for _, round := range slices.Backward(readmodel.RoundLimits()) {
		if round.Seconds() >= least {
			if limit > 0 && round >= limit {
				return 0
			}
			return round
		}
	}
	return 0
}

// compare adds to out the gain of a shorter limit for a job that is submitted now with the other attributes of newest.
// It adds nothing if newest is nil, if its attributes are not all known yet, if such a job could never start, or if
// there is no forecast for it.
func (q *MeQuery) compare(now time.Time, newest *cluster.Job, limit time.Duration, out *wire.Shorter) {
	if newest == nil || newest.DetailsPending() || newest.Unqueued {
		return
	}
	v := q.View
	a := asSubmitted(newest)
	if fits(v, &a) != nil {
		return
	}
	_, f, _, err := q.service.forecast(v, now, a)
	if err != nil || f == nil {
		return
	}
	o, ok := v.WithLimit(now, &readmodel.SoonerQuery{Request: &a, Wait: f.Quantiles}, limit)
	if !ok {
		return
	}
	wait := quantiles(waittime.Rising(o.Quantiles))
	probability := decimals(o.Probability, 3)
	out.WaitSeconds, out.GainSeconds, out.Probability = &wait, span(o.Gain), &probability
}

// asSubmitted returns the request of a job that is submitted again; for an array, of one task.
func asSubmitted(j *cluster.Job) job.Attributes {
	return attributes(&job.Request{
		Queue: j.Queue, User: j.User, Account: j.Account, QOS: j.QOS, Procs: j.Procs, Nodes: j.Nodes, GPUs: j.GPUs,
		GPUType: j.GPUType, Memory: j.Memory, TimeLimit: j.TimeLimit,
	})
}

// habitText describes a habit in a sentence.
func habitText(h *wire.Habit, limit time.Duration) string {
	if 10*h.ReachedLimit > h.Runs {
		return fmt.Sprintf("%d of your last %d %s jobs reached their time limit: they may have been cut off",
			h.ReachedLimit, h.Runs, h.Name)
	}
	text := fmt.Sprintf("90 %% of your %s jobs end within %s", h.Name,
		duration.About(fromSeconds(*h.RuntimeSeconds.P90)))
	if limit > 0 {
		text += " of the " + duration.Format(limit) + " that you ask"
	} else {
		text += ", and you ask for no time limit"
	}
	s := h.Shorter
	if s == nil {
		return text
	}
	asking := "; asking for " + duration.Format(fromSeconds(s.TimeLimitSeconds))
	switch {
	case s.Probability == nil:
		return text + asking + fmt.Sprintf(" would have been enough for %s of them", percent(s.Enough))
	case s.GainSeconds == nil || *s.GainSeconds < 60 || *s.Probability < .5:
		return text + asking + " would not start sooner now"
	}
	return fmt.Sprintf("%s%s would start about %s sooner (probability %.2f)", text, asking,
		duration.About(fromSeconds(*s.GainSeconds)), *s.Probability)
}
