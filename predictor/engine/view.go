package engine

import (
	"math"
	"sync"

	"github.com/waitcast/waitcast/cluster/joblimits"
	"github.com/waitcast/waitcast/predictor/engine/ensemble"
	"github.com/waitcast/waitcast/predictor/engine/pools"
	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/engine/training"
	"github.com/waitcast/waitcast/workload/uniformlog"
)

// View is the frozen state of the engine at one instant. It forecasts any request as the engine would have done then.
// It is immutable and safe for concurrent use.
type View struct {
	track.Facts
	features *features
	median   int // the index of the level nearest 0.5
	learnt   int
	pools    map[string]*pools.Facts           // by queue
	whole    *pools.Facts                      // the whole machine, for queues whose pool is unknown
	start    map[*pools.Facts]pools.StartRules // the rules of starts; nil in a restored view
	// The causes of changes of priorities; nil if there are none, and in a restored view.
	moves *pools.PriorityMoves
	trees training.Trees
	// A cache that makes predictions for similar rows of features faster; nil if no other request uses the view.
	similar *training.SimilarRows
	laws    map[class]uniformlog.Model // for Downey's methods; nil if these are not used

	errors    []float64 // quantiles of the simulation's errors, by level; nil if too few are known
	early     [ensemble.EarlyClasses]ensemble.EarlyForecast
	drifts    []ensemble.Drift
	template  *ensemble.ExpertTemplate
	scratches *sync.Pool     // a pool of *scratch
	memo      *pools.Memo    // nil if no other request uses the view
	linked    []pools.Member // the jobs that a request waits for, see withLinked
	plain     *View          // the view without the jobs of beside; nil if this view has none
	beside    []pools.Member // jobs submitted before a request, see WithEarlier
	entered   uint64         // number of jobs that the engine had taken in at the view's instant
}

// resolvedRequest is a request with the classes and indices that follow from it.
type resolvedRequest struct {
	track.Request
	size, limit int
	expected    float64
	queue       *track.QueueFacts
	user        *track.UserFacts
	bounds      []joblimits.Bound
	preempts    *joblimits.Set // nil if the request may preempt no job
	linked      []pools.Member // see pools.RankedRequest
	beside      []pools.Member // see pools.RankedRequest
}

// At returns the view's instant.
func (v *View) At() float64 { return v.Instant }

// LastRequest returns the last request of a user, with the newest reported priority of that job. It returns false for
// a user without jobs.
func (v *View) LastRequest(user string) (track.Request, bool) {
	u := v.Users.Find(user)
	if u == nil || math.IsNaN(u.LastSubmit) {
		return track.Request{}, false
	}
	return u.LastRequest, true
}

// ShareFactor returns the factor of fair share that the scheduler computed last for a user in an account, NaN if
// unknown. With an empty account it is the factor of the user in the account in which the user has the highest usage.
func (v *View) ShareFactor(account, user string) float64 { return v.moves.ShareFactor(account, user) }

// resolve adds the classes of a request, and the facts about its queue and user. It writes the result to j, or to new
// memory if j is nil.
func (v *View) resolve(r *track.Request, j *resolvedRequest) *resolvedRequest {
	if j == nil {
		j = new(resolvedRequest)
	}
	*j = resolvedRequest{Request: *r, size: track.SizeClass(r.Procs), limit: track.LimitClass(r.Limit)}
	if i, ok := v.Queues.Index[r.Queue]; ok {
		j.queue = v.Queues.All[i]
	} else {
		j.queue = &track.QueueFacts{Name: r.Queue, Code: v.Queues.Codes, Oldest: math.NaN(),
			WaitingCounts: &track.JobCounts{}}
	}
	if j.user = v.Users.Find(r.User); j.user == nil {
		u := track.NewUserFacts(0)
		j.user = &u
	}
	j.expected = track.Expected(r, j.queue, j.user)
	j.bounds, j.linked, j.beside = v.BoundsOf(r), v.linked, v.beside
	if r.MayPreempt(v.Limits) {
		j.preempts = v.Limits
	}
	return j
}

// withLinked returns a view that also has the jobs on which a request depends and which the pool of the request lacks
// in v (see pools.Facts.Linked).
func (v *View) withLinked(t *track.Tracker, r *track.Request) *View {
	linked := v.poolOf(r.Queue).Linked(t, r.After, func(queue string) bool { return v.SamePool(queue, r.Queue) })
	if len(linked) == 0 {
		return v
	}
	w := *v
	w.linked = linked
	return &w
}

// ranked returns a request with the further inputs of simulations. It writes the result to r, or to new memory if r is
// nil.
func (j *resolvedRequest) ranked(r *pools.RankedRequest) *pools.RankedRequest {
	if r == nil {
		r = new(pools.RankedRequest)
	}
	*r = pools.RankedRequest{Request: j.Request, User: j.user.Number, Expected: j.expected,
		QueueWait: j.queue.Recent.Slow.Value(), Use: j.user.Use, Bounds: j.bounds, Preempts: j.preempts,
		Linked: j.linked, Beside: j.beside}
	return r
}

// ranked resolves a request and returns it with the further inputs of simulations.
func (v *View) ranked(r *track.Request) *pools.RankedRequest {
	clean := r.Clean()
	return v.resolve(&clean, nil).ranked(nil)
}

// poolOf returns the pool of a queue, or the whole machine if the pool is unknown.
func (v *View) poolOf(queue string) *pools.Facts {
	if f := v.pools[queue]; f != nil {
		return f
	}
	return v.whole
}

// baseView returns the engine's state at an instant, without pools and experts.
func (e *Engine) baseView(now float64) *View {
	v := &View{Facts: e.tracker.Facts(now), features: e.features, median: e.median, learnt: e.learnt(),
		trees: e.learner.Trees, scratches: e.scratches, entered: e.tracker.Entered}
	v.errors = e.ensemble.Errors.Quantiles(now, e.cfg.Levels)
	v.early = e.ensemble.Early.Forecast(now, e.cfg.Prior, e.cfg.Levels)
	if e.heads != nil {
		v.laws = e.heads.fitted
	}
	return v
}

// View returns a view of the engine at an instant, or at its last event if that is later.
func (e *Engine) View(now float64) *View {
	if !(now > e.tracker.Clock) {
		now = math.Max(e.tracker.Clock, -track.Farthest)
	}
	v := e.baseView(math.Min(now, track.Farthest))
	v.pools = make(map[string]*pools.Facts, len(e.pools.Of))
	v.start = make(map[*pools.Facts]pools.StartRules, len(e.pools.All)+1)
	for _, p := range e.pools.All {
		f := e.pools.Freeze(p)
		v.start[f] = e.pools.StartRules(p, f)
		for _, name := range p.Queues {
			v.pools[name] = f
		}
	}
	v.whole = e.pools.Freeze(nil)
	v.start[v.whole] = e.pools.StartRules(nil, v.whole)
	v.moves = e.pools.Moves()
	v.template, v.memo, v.drifts = e.ensemble.Template(v.Instant, e.tracker.Clock, e.events, e.learner.Seen),
		&pools.Memo{}, e.ensemble.Monitor.Drifts()
	v.similar = &training.SimilarRows{}
	return v
}

// requestView returns baseView with the pools of a request's queues only, and with the whole machine if one of these
// pools is unknown.
func (e *Engine) requestView(now float64, r *track.Request) *View {
	v := e.baseView(now)
	v.pools = map[string]*pools.Facts{}
	for _, place := range append(r.Places(), track.Place{Queue: r.Queue}) {
		if p := e.pools.Of[place.Queue]; p != nil {
			v.pools[place.Queue] = e.pools.Freeze(p)
		} else {
			v.whole = e.pools.Freeze(nil)
		}
	}
	return v
}

// Forecast forecasts a request that is submitted at the view's instant. A View that no engine made gives the zero
// Forecast.
func (v *View) Forecast(r *track.Request) Forecast {
	clean := r.Clean()
	return v.newPendingForecast(&clean, false).delayed(clean.Delay(v.Instant))
}

// newPendingForecast forecasts a request in scratch memory of the views. If row is true, it keeps the row of
// features.
func (v *View) newPendingForecast(r *track.Request, row bool) *pendingForecast {
	if v.template == nil {
		return &pendingForecast{}
	}
	experts, c := v.template.Borrow(), v.borrowScratch()
	defer v.template.GiveBack(experts)
	defer v.scratches.Put(c)
	g := v.forecast(r, c, experts)
	if row {
		g.keepRow(c)
	}
	return g
}

// borrowScratch returns memory for one forecast, which must be returned to v.scratches.
func (v *View) borrowScratch() *scratch {
	if c, ok := v.scratches.Get().(*scratch); ok {
		return c
	}
	return &scratch{}
}
