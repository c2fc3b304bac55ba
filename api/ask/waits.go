package ask

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/internal/duration"
	"github.com/waitcast/waitcast/internal/memsize"
	"github.com/waitcast/waitcast/predictor/advice"
)

// whatIf is a query for combinations of sizes, time limits and queues, on the views of one instant.
type whatIf struct {
	sizeQuery
	ask    *wire.WaitsRequest
	limits []time.Duration
	by     time.Time // as WaitRequest.By
}

// Waits ranks the combinations of sizes, time limits and queues of a request.
func (s *Service) Waits(req *wire.WaitsRequest, pace Pace) (wire.Waits, error) {
	w := &whatIf{ask: req}
	w.service, w.request, w.pace = s, advice.NoRequest, paceOf(pace)
	w.req = &wire.SizeRequest{Places: req.Places}
	if req.Runtime != nil {
		w.req.Runtime = *req.Runtime
	}
	for _, step := range []func() error{w.readTargets, w.read, w.gather} {
		if err := step(); err != nil {
			return wire.Waits{}, err
		}
	}
	byMedian := advice.Objective{Kind: advice.FinishQuantile, Level: .5}
	r, err := advice.ChooseInSteps(w.candidates, advice.NoRequest, byMedian, w.rankStep)
	if err != nil {
		return wire.Waits{}, sizeRefusal(err)
	}
	return w.answer(r), nil
}

// moment is the assumed runtime if none is given, in seconds. It is so short that the ranking compares only the starts.
const moment = advice.Fixed(1e-3)

// read parses and checks the request.
func (w *whatIf) read() error {
	r := w.ask
	w.base.User, w.base.Account, w.base.QOS, w.base.Nodes, w.base.GPUs = r.User, r.Account, r.QOS, r.Nodes, r.GPUs
	if r.Memory != "" {
		memory, err := memsize.Parse(r.Memory)
		if err != nil {
			return Invalid("memory", err.Error())
		}
		w.base.Memory = memory
	}
	var err error
	if w.by, err = startBy(r.By, w.now); err != nil {
		return err
	}
	if r.Runtime != nil {
		if err := w.readCurve(); err != nil {
			return err
		}
	}
	w.sizes = unique(r.Procs)
	if i := slices.IndexFunc(w.sizes, func(n int) bool { return n < 1 }); i >= 0 {
		return Invalid("procs", fmt.Sprintf("%d; want 1 or more", w.sizes[i]))
	}
	for i, text := range r.TimeLimits {
		limit, err := timeLimit(fmt.Sprintf("time_limits[%d]", i), text)
		if err != nil {
			return err
		}
		w.limits = append(w.limits, limit)
	}
	if w.limits = unique(w.limits); len(w.limits) == 0 {
		w.limits = []time.Duration{0}
	}
	if n := len(w.targets) * len(w.sizes) * len(w.limits); n > mostCandidates {
		return Invalid("procs", fmt.Sprintf("%d combinations; at most %d are compared", n, mostCandidates))
	}
	return nil
}

// unique returns a list without duplicates.
func unique[T comparable](list []T) []T {
	var out []T
	for _, v := range list {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// gather makes the candidates. It leaves out the sizes and limits that a queue does not accept. It refuses the
// request if no candidate remains.
func (w *whatIf) gather() error {
	w.pace.Expect(len(w.targets) * len(w.sizes) * len(w.limits))
	var refused error
	for _, procs := range w.sizes {
		run, err := w.run(procs)
		if err != nil {
			return err
		}
		for _, limit := range w.limits {
			for i := range w.targets {
				err := w.combine(&w.targets[i], procs, limit, run)
				var out *excludedCandidate
				switch {
				case err == nil:
				case errors.As(err, &out):
					refused = w.exclude(&w.targets[i], procs, out)
				default:
					return err
				}
			}
		}
	}
	if len(w.candidates) == 0 {
		return refused
	}
	return nil
}

// run returns the law of the runtime on the given number of processors.
func (w *whatIf) run(procs int) (advice.Law, error) {
	if w.curve == nil {
		return moment, nil
	}
	run, err := advice.RunOf(w.curve, procs)
	if err != nil {
		return nil, Invalid("runtime", err.Error())
	}
	return run, nil
}

func (w *whatIf) combine(p *targetQueue, procs int, limit time.Duration, run advice.Law) error {
	if median := run.Quantile(.5); limit > 0 && w.curve != nil && median > limit.Seconds() {
		return &excludedCandidate{overTimeLimit,
			Invalid("time_limits",
				fmt.Sprintf("the job runs %s, the time limit is %s", spell(median), duration.Format(limit)))}
	}
	wait, err := w.wait(p, procs, limit)
	if err != nil {
		return err
	}
	a := candidateRequest{target: p, procs: procs, limit: limit, wait: wait}
	w.requests = append(w.requests, a)
	w.candidates = append(w.candidates, advice.Candidate{
		Name: a.name() + "/" + limit.String(), Pool: p.pool, Procs: procs, Wait: advice.Wait{Law: wait}, Run: run,
	})
	return nil
}

func (w *whatIf) answer(r *advice.Result) wire.Waits {
	out := wire.Waits{RankedBy: "start", Candidates: make([]wire.WaitCandidate, 0, len(r.Order)),
		Advice: w.gainSentences(r), LeftOut: w.excluded}
	if w.curve != nil {
		out.RankedBy = "finish"
	}
	if out.LeftOut == nil {
		out.LeftOut = []wire.SizeLeftOut{}
	}
	for _, i := range r.Order {
		a, at := &r.Answers[i], &w.requests[i]
		waits := at.wait.Quantiles()
		c := wire.WaitCandidate{
			Cluster: at.target.view.Cluster, Queue: at.target.queue, AskedQueue: at.target.requested, Procs: at.procs,
			TimeLimitSeconds: at.limit.Seconds(),
			WaitSeconds:      quantiles(waits), Start: instants(waits, at.target.now), Best: digits(a.Best),
			StartWithin: startWithin(at.wait), StartBy: probabilityBy(at.wait, w.by, at.target.now),
		}
		if w.curve != nil {
			run, finish, at := quantiles(a.Run), quantiles(a.Finish), instants(a.Finish, at.target.now)
			c.Run, c.Finish, c.FinishAt = &run, &finish, &at
		}
		out.Candidates = append(out.Candidates, c)
	}
	out.AsOf, out.AgeSeconds, out.Stale = w.age()
	return out
}

// gainSentences returns sentences on what the best candidate gains over the worst one that differs from it only in its
// time limit, only in its queue, or only in its size.
func (w *whatIf) gainSentences(r *advice.Result) []string {
	out := []string{}
	best := r.Order[0]
	b := &w.requests[best]
	type other struct {
		same func(a *candidateRequest) bool
		text func(a *candidateRequest) string
	}
	for _, o := range []other{
		{func(a *candidateRequest) bool {
			return a.target == b.target && a.procs == b.procs && a.limit != b.limit
		}, func(a *candidateRequest) string {
			return fmt.Sprintf("ask for %s instead of %s", limitText(b.limit), limitText(a.limit))
		}},
		{func(a *candidateRequest) bool {
			return a.target != b.target && a.procs == b.procs && a.limit == b.limit
		}, func(a *candidateRequest) string {
			return fmt.Sprintf("ask in %s instead of %s", w.where(b.target), w.where(a.target))
		}},
		{func(a *candidateRequest) bool {
			return a.target == b.target && a.procs != b.procs && a.limit == b.limit
		}, func(a *candidateRequest) string {
			return fmt.Sprintf("ask for %s instead of %d", count(b.procs, "processor"), a.procs)
		}},
	} {
		worst := -1
		for _, i := range r.Order { // in the order from best to worst
			if o.same(&w.requests[i]) {
				worst = i
			}
		}
		if worst < 0 {
			continue
		}
		if gain := w.gains(r.Answers[worst].Score - r.Answers[best].Score); gain != "" {
			out = append(out, o.text(&w.requests[worst])+" and "+gain)
		}
	}
	return out
}

// gains describes a difference of medians, "" if it is below a minute.
func (w *whatIf) gains(seconds float64) string {
	verb := "start"
	if w.curve != nil {
		verb = "finish"
	}
	switch {
	case seconds < 60 || math.IsNaN(seconds):
		return ""
	case math.IsInf(seconds, 1):
		return verb + " where it otherwise may never"
	}
	return fmt.Sprintf("%s %s sooner", verb, about(seconds))
}

func (w *whatIf) where(p *targetQueue) string {
	if len(w.clusters()) > 1 {
		return fmt.Sprintf("queue %s of cluster %s", p.queue, p.view.Cluster)
	}
	return "queue " + p.queue
}
