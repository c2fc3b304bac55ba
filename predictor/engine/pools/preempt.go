package pools

import (
	"math"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/forward"
)

// belongs has the attributes of a job that decide which jobs may preempt it.
type belongs struct{ user, account, qos string }

func belongsOf(r *track.Request) belongs { return belongs{r.User, r.Account, r.QOS} }

func (b *belongs) code(s *codec.Codec) { s.Text(&b.user, &b.account, &b.qos) }

// request returns the attributes on which rules of preemption depend.
func (w *Member) request() *track.Request {
	return &track.Request{Queue: w.Queue, User: w.belongs.user, Account: w.belongs.account, QOS: w.belongs.qos}
}

// preempted returns the pool as it is for a request that may preempt jobs. It has only the running jobs that the
// request may not preempt, only the waiting jobs that may preempt jobs themselves, and no later arrivals. The result is
// nil if the request may preempt no job. grace is the time, in seconds, for which preempted jobs still run.
func (f *Facts) preempted(at float64, r *RankedRequest) (g *Facts, grace float64) {
	if r.Preempts == nil || f.Large {
		return nil, 0
	}
	without := *f
	without.Running, without.queued, without.later = nil, nil, comers{}
	for i := range f.Running {
		j := &f.Running[i]
		may, left := r.Request.Preempts(r.Preempts, j.request(), at-j.Start)
		if !may {
			without.Running = append(without.Running, *j)
			continue
		}
		grace = math.Max(grace, left)
	}
	if len(without.Running) == len(f.Running) {
		return nil, 0
	}
	for i := range f.queued {
		if w := &f.queued[i]; w.request().MayPreempt(r.Preempts) {
			without.queued = append(without.queued, *w)
		}
	}
	return &without, grace
}

// preempt makes a request start sooner in futures in which preemption gives it room. Only the request's start is
// changed: the fate of the preempted jobs is not simulated.
func (f *Facts) preempt(at float64, r *RankedRequest, futures []forward.Future, c *Scratch) []forward.Future {
	g, grace := f.preempted(at, r)
	if g == nil {
		return futures
	}
	plain := *r
	plain.Preempts, plain.Linked, plain.Beside = nil, nil, nil
	return g.sooner(at, &plain, futures, grace, c)
}
