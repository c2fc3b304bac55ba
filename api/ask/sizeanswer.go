package ask

import (
	"fmt"
	"math"
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/predictor/advice"
)

// answer converts a result and the standing advice to the answer of the request.
func (q *sizeQuery) answer(r *advice.Result, stands advice.Standing) wire.Size {
	out := wire.Size{
		Objective: q.kind(), Candidates: make([]wire.SizeCandidate, 0, len(r.Answers)), LeftOut: q.excluded,
		Advice: q.advise(r, stands),
	}
	if out.LeftOut == nil {
		out.LeftOut = []wire.SizeLeftOut{}
	}
	for _, i := range r.Order {
		out.Candidates = append(out.Candidates, q.candidate(&r.Answers[i], i))
	}
	out.AsOf, out.AgeSeconds, out.Stale = q.age()
	return out
}

// age returns the instant and the age of the oldest view behind an answer, and whether any of its views is stale.
func (q *sizeQuery) age() (asOf time.Time, seconds float64, stale bool) {
	for i := range q.targets {
		v := q.targets[i].view
		_, age, old := q.service.AsOf(v)
		stale = stale || old
		if i == 0 || v.At.Before(asOf) {
			asOf, seconds = q.service.AsOfInstant(v), age
		}
	}
	return asOf, seconds, stale
}

func (q *sizeQuery) candidate(a *advice.Answer, i int) wire.SizeCandidate {
	at := &q.requests[i]
	out := wire.SizeCandidate{
		Cluster: at.target.view.Cluster, Queue: at.target.queue, AskedQueue: at.target.requested, Procs: at.procs,
		TimeLimitSeconds: at.limit.Seconds(),
		Wait:             quantiles(a.Wait), Run: quantiles(a.Run), Finish: quantiles(a.Finish),
		FinishAt: instants(a.Finish, at.target.now), MeanWait: seconds(a.MeanWait), MeanRun: seconds(a.MeanRun),
		MeanFinish: seconds(a.MeanFinish), MeanBefore: seconds(a.MeanBefore), MeanAfter: seconds(a.MeanAfter),
		InTime: rounded(a.InTime), ProcHours: digits(a.ProcHours), Cost: rounded(a.Cost), Score: rounded(a.Score),
		Best: digits(a.Best), Requested: i == q.request,
	}
	if g := a.Gain; g != nil {
		out.Gain = &wire.SizeGain{
			Score: rounded(g.Score), MeanFinish: seconds(g.MeanFinish), Finish: seconds(g.Finish),
			Better: digits(g.Better), Worse: digits(g.Worse),
		}
	}
	return out
}

// advise describes the standing advice for the answer.
func (q *sizeQuery) advise(r *advice.Result, stands advice.Standing) wire.SizeAdvice {
	i := standingIndex(r, stands)
	a, at := &r.Answers[i], &q.requests[i]
	out := wire.SizeAdvice{
		Action: "ask", Cluster: at.target.view.Cluster, Queue: at.target.queue, Procs: at.procs,
		TimeLimitSeconds: at.limit.Seconds(),
		Best:             digits(a.Best), Since: time.UnixMilli(int64(math.Round(stands.Since * 1000))).UTC(),
	}
	if q.job != nil {
		out.Action = advice.ActionOf(q.job.procs, at.procs).String()
		if stands.Since == 0 { // the advice has always been to keep the size
			out.Since = q.service.now().UTC()
		}
	}
	out.Reason = q.why(r, i, out.Action)
	return out
}

// standingIndex returns the index of the answer that the standing advice names; of the best answer if there is no such
// answer.
func standingIndex(r *advice.Result, stands advice.Standing) int {
	for i := range r.Answers {
		if r.Answers[i].Name == stands.Name {
			return i
		}
	}
	return r.Order[0]
}

// candidateOf returns the candidate of the standing advice.
func (q *sizeQuery) candidateOf(r *advice.Result, stands advice.Standing) wire.SizeCandidate {
	i := standingIndex(r, stands)
	return q.candidate(&r.Answers[i], i)
}

// why describes the advice in one sentence.
func (q *sizeQuery) why(r *advice.Result, i int, action string) string {
	a, at := &r.Answers[i], &q.requests[i]
	procs := count(at.procs, "processor")
	text := fmt.Sprintf("ask for %s in queue %s", procs, at.target.queue)
	switch action {
	case "keep":
		text = "keep " + procs
	case "expand", "shrink":
		text = action + " to " + procs
	}
	if len(q.clusters()) > 1 {
		text += " of cluster " + at.target.view.Cluster
	}
	text += fmt.Sprintf(": the job finishes in %s on the average", about(a.MeanFinish))
	if action == "ask" && !math.IsInf(a.MeanWait, 1) {
		text += fmt.Sprintf(", %s of it waiting", about(a.MeanWait))
	}
	if !math.IsNaN(a.InTime) {
		text += fmt.Sprintf(", by the deadline with a probability of %s", percent(a.InTime))
	}
	if g := a.Gain; g != nil && i != q.request && math.Abs(g.MeanFinish) >= 1 && !math.IsInf(g.MeanFinish, 0) {
		than, word := count(q.requests[q.request].procs, "processor"), "sooner"
		if g.MeanFinish < 0 {
			word = "later"
		}
		text += fmt.Sprintf(", %s %s than with %s", about(math.Abs(g.MeanFinish)), word, than)
		if q.requests[q.request].target != at.target {
			text += " in queue " + q.requests[q.request].target.queue
		}
	}
	text += fmt.Sprintf("; it turns out best in %s of the cases", percent(a.Best))
	if best := r.Order[0]; best != i {
		text += fmt.Sprintf("; %s would be better by too little to change that",
			count(q.requests[best].procs, "processor"))
	}
	return text
}
