package engine

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/predictor/boost"
	"github.com/waitcast/waitcast/predictor/engine/ensemble"
	"github.com/waitcast/waitcast/predictor/engine/pools"
	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/engine/training"
)

// told has the scores of a forecast. A list of them is by the number of the submission.
type told struct {
	loss    float64 // the mean of the log pinball losses at .5 and .95
	covered float64 // 1 if the wait is at most the .9 quantile, otherwise 0
	known   bool
}

// follow replays a history and returns the scores of the forecasts and the changes that the engine noticed.
func follow(t testing.TB, all []happening, submits int, cfg Config) ([]told, *Engine) {
	t.Helper()
	return watched(t, all, submits, cfg, nil)
}

// watched does the same as follow, and calls look after every event.
func watched(t testing.TB, all []happening, submits int, cfg Config, look func(*Engine)) ([]told, *Engine) {
	t.Helper()
	cfg.Levels, cfg.Synchronous = []float64{.1, .25, .5, .75, .9, .95}, true
	if cfg.Trees.Trees == 0 {
		cfg.Trees = boost.Params{Trees: 60, Leaves: 12, MinLeaf: 25, RowShare: .5, FeatureShare: .5}
	}
	e, err := New(cfg)
	check(t, err)
	t.Cleanup(e.Close)
	said, submit, out := map[uint64][]float64{}, map[uint64]float64{}, make([]told, submits+1)
	for _, h := range all {
		fc := h.tell(e)
		if look != nil {
			look(e)
		}
		switch h.kind {
		case submitted:
			said[h.id], submit[h.id] = fc.Quantiles, h.at
		case begun:
			q, wait := said[h.id], h.at-submit[h.id]
			if q == nil {
				continue
			}
			z := waittime.Log(wait)
			pinball := func(level float64, q float64) float64 {
				return math.Max(level*(z-waittime.Log(q)), (level-1)*(z-waittime.Log(q)))
			}
			out[h.id] = told{loss: (pinball(.5, q[2]) + pinball(.95, q[5])) / 2, known: true}
			if wait <= q[4] {
				out[h.id].covered = 1
			}
		}
	}
	return out, e
}

// drawn returns a history of jobs whose waits are random, with a mean that depends on the user. If the index of a
// submission is at least from, its wait is 20 times as long.
func drawn(seed uint64, submits, from int) []happening {
	rng := rand.New(rand.NewPCG(seed, 7))
	var out []happening
	clock := 1e9
	for i := range submits {
		clock += math.Floor(rng.ExpFloat64() * 1200)
		user := rng.IntN(12)
		wait := 300 * math.Exp(.3*float64(user)+.7*rng.NormFloat64())
		if i >= from {
			wait *= 20
		}
		r := track.Request{Queue: []string{"short", "long", "wide"}[user%3], User: fmt.Sprint("u", user),
			Procs: 1 + rng.IntN(4), Limit: 600}
		id := uint64(i + 1)
		start := clock + math.Floor(wait)
		out = append(out, happening{at: clock, kind: submitted, id: id, r: r},
			happening{at: start, kind: begun, id: id},
			happening{at: start + math.Floor(300*rng.Float64()), kind: ended, id: id})
	}
	inOrder(out)
	return out
}

func inOrder(all []happening) {
	slices.SortStableFunc(all, func(a, b happening) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.kind, b.kind))
	})
}

// halves holds the mean loss and coverage of each group of pane successive submissions, over several histories
// together.
type halves struct{ loss, covered []float64 }

const pane = 400

func panes(runs [][]told, from int) halves {
	var h halves
	for ; from+pane <= len(runs[0]); from += pane {
		loss, covered, n := 0.0, 0.0, 0.0
		for _, run := range runs {
			for _, g := range run[from : from+pane] {
				if g.known {
					loss, covered, n = loss+g.loss, covered+g.covered, n+1
				}
			}
		}
		h.loss, h.covered = append(h.loss, loss/n), append(h.covered, covered/n)
	}
	return h
}

// since returns the number of submissions after which all panes are good.
func since(v []float64, good func(float64) bool) int {
	for i := len(v) - 1; i >= 0; i-- {
		if !good(v[i]) {
			return (i + 1) * pane
		}
	}
	return 0
}

// TestRecovers proves how fast an engine adapts after waits become 20 times as long for good. An engine that learns
// faster after the change needs at most half as many jobs as one with a constant speed until its loss is within a tenth
// of the final loss. Its .9 quantile covers .85 to .95 of the waits no later than the other's. Trees are trained as
// rarely as by default with 16,000 waits, because Growth is .4.
func TestRecovers(t *testing.T) {
	if os.Getenv("WAITCAST_LONG") == "" {
		t.Skip("replays 30,000 jobs: set WAITCAST_LONG=1")
	}
	const before, after, seeds = 3500, 4000, 3
	results := map[bool]halves{}
	for _, steady := range []bool{true, false} {
		var runs [][]told
		for seed := range uint64(seeds) {
			got, e := follow(t, drawn(seed, before+after, before), before+after, Config{Steady: steady, Growth: .4})
			if n := e.Drifts()[0].Alarms[ensemble.Scores]; n < 1 || n > 3 || steady != (len(e.learner.Changes) == 0) {
				t.Errorf("seed %d, steady %v: %d alarms, changes %v", seed, steady, n, e.learner.Changes)
			}
			runs = append(runs, got)
		}
		results[steady] = panes(runs, before)
	}
	end := results[false].loss
	long := (end[len(end)-1] + end[len(end)-2] + end[len(end)-3]) / 3
	loss, covered := map[bool]int{}, map[bool]int{}
	for steady, h := range results {
		loss[steady] = since(h.loss, func(v float64) bool { return v <= 1.1*long })
		covered[steady] = since(h.covered, func(v float64) bool { return math.Abs(v-.9) <= .05 })
		t.Logf("steady %v: loss %.3f, covered %.3f", steady, h.loss, h.covered)
	}
	t.Logf("long run %.4f; jobs until the loss is there: faster %d, at one pace %d; covered: %d and %d", long,
		loss[false], loss[true], covered[false], covered[true])
	if loss[false] > loss[true]/2 || covered[false] > covered[true] {
		t.Error("that is not clearly sooner")
	}
}

// TestNoticesScores proves the alarm when waits become 20 times as long. Within 600 waits there is an alarm for the
// scores of all jobs, whose estimated beginning is within 200 waits of the true one, and trees are trained long before
// the growth of the rows would cause it. (An engine with a constant speed of learning only counts the alarm: see
// TestRecovers.)
func TestNoticesScores(t *testing.T) {
	const before, after = 3500, 900
	var at, trained, next int
	_, e := watched(t, drawn(0, before+after, before), before+after,
		Config{Growth: .4, Trees: boost.Params{Trees: 30, Leaves: 12, MinLeaf: 25}}, func(e *Engine) {
			switch l := e.learner; {
			case at == 0 && e.Drifts()[0].Alarms[ensemble.Scores] > 0:
				at, trained = l.Seen, l.Trained
			case at > 0 && next == 0 && l.Trained > trained:
				next = l.Trained
			}
		})
	if whole := e.Drifts()[0]; at == 0 || at > before+600 || !whole.Whole || whole.Reason != ensemble.Scores ||
		!(whole.Last > 1e9) {
		t.Fatalf("alarm at wait %d, %+v", at, whole)
	}
	if changes := e.learner.Changes; len(changes) == 0 || math.Abs(float64(changes[0]-before)) > 200 || next == 0 ||
		next > at+training.LeastMore {
		t.Errorf("alarm at wait %d, changes %v, trees were trained at wait %d and then %d", at, changes, trained, next)
	}
}

// TestQuiet proves that scores and losses with a constant law raise at most one alarm in 10,000 jobs, by all detectors
// together. Successive jobs are independent or correlated.
func TestQuiet(t *testing.T) {
	for name, rho := range map[string]float64{"independent": 0, "neighbors alike": .8} {
		alarms, jobs := 0, 0
		for seed := range uint64(10) {
			rng := rand.New(rand.NewPCG(seed, 1))
			w, x := ensemble.NewDriftMonitor(1), 0.0
			for range 50_000 {
				x = rho*x + math.Sqrt(1-rho*rho)*rng.NormFloat64()
				for _, group := range []string{"", "short", "queue a"} {
					w.AddScore(group, x, true)
				}
				w.Learned("a", []float64{.5}, []float64{0}, math.Exp(x))
				jobs++
			}
			alarms += len(w.Raised)
		}
		if t.Logf("%s: %d alarms of %d jobs", name, alarms, jobs); alarms*10_000 > jobs {
			t.Errorf("%s: %d false alarms of %d jobs", name, alarms, jobs)
		}
	}
}

// TestQuietEngine proves that waits with a constant law raise less than one alarm in 10,000 jobs.
func TestQuietEngine(t *testing.T) {
	if os.Getenv("WAITCAST_LONG") == "" {
		t.Skip("replays 20,000 jobs: set WAITCAST_LONG=1")
	}
	const jobs = 20_000
	_, e := follow(t, drawn(9, jobs, jobs), jobs, Config{})
	n := 0
	for _, d := range e.Drifts() {
		n += d.Total()
	}
	if t.Logf("%d alarms of %d jobs", n, jobs); n*10_000 >= jobs {
		t.Errorf("%d alarms of %d jobs", n, jobs)
	}
}

// alarmsOf returns the alarms of a queue, or of all jobs for "".
func alarmsOf(all []ensemble.Drift, queue string) [4]int {
	for _, d := range all {
		if d.Queue == queue {
			return d.Alarms
		}
	}
	return [4]int{}
}

// TestNews proves that a much larger or smaller pool, another time limit of a queue, and a new queue count as changes
// of the queue. The first two also count as changes of all jobs.
func TestNews(t *testing.T) {
	e := quick(t, Config{})
	id, now := uint64(0), 1e9
	job := func(queue string) {
		id++
		now += 10
		e.Submit(now, id, track.Request{Queue: queue, User: "u", Procs: 1, Limit: 600})
		e.Start(now+5, id, true)
		e.End(now+9, id)
	}
	want := func(what, queue string, alarms [4]int) {
		t.Helper()
		if got := alarmsOf(e.Drifts(), queue); got != alarms {
			t.Errorf("%s: %q has alarms %v, want %v", what, queue, got, alarms)
		}
	}
	e.SetPool("a", pools.PoolConfig{Name: "p", Procs: 100})
	e.SetLimit("a", 3600)
	for range 200 {
		job("a")
	}
	want("nothing changed", "", [4]int{})
	e.SetPool("a", pools.PoolConfig{Name: "p", Procs: 85})
	e.SetLimit("a", 3600)
	job("a")
	want("a sixth less, the same limit", "", [4]int{})
	e.SetPool("a", pools.PoolConfig{Name: "p", Procs: 50})
	job("a")
	want("half of it", "a", [4]int{0, 1, 0, 0})
	want("half of it", "", [4]int{0, 1, 0, 0})
	e.SetOutages("p", []pools.Outage{{From: now + 95, Until: now + 195, Procs: 50}})
	job("a")
	want("an outage to come", "a", [4]int{0, 1, 0, 0})
	for range 30 {
		job("a")
	}
	want("it began and ended", "a", [4]int{0, 3, 0, 0})
	e.SetLimit("a", 7200)
	want("another limit", "a", [4]int{0, 3, 1, 0})
	want("another limit", "", [4]int{0, 3, 1, 0})
	if d := e.Drifts()[1]; d.Queue != "a" || d.Reason != ensemble.Limit || d.Last != e.tracker.Clock || d.Total() != 4 {
		t.Errorf("a limit changed last: %+v", d)
	}
	job("b")
	want("a queue that was not there when trees were trained", "b", [4]int{0, 0, 0, 1})
	want("a queue that was not there when trees were trained", "", [4]int{0, 3, 1, 0})
	trained := e.learner.Trained
	for range training.LeastMore {
		job("b")
	}
	if e.learner.Trained <= trained {
		t.Errorf("trees were not trained again for the new queue")
	}
	v := e.View(now)
	data, err := v.MarshalBinary()
	check(t, err)
	restored, err := e.RestoreView(data)
	check(t, err)
	if same := func(a, b ensemble.Drift) bool {
		return a.Alarms == b.Alarms && a.Queue == b.Queue && a.Reason == b.Reason
	}; !slices.EqualFunc(v.Drifts(), e.Drifts(), same) || !slices.EqualFunc(restored.Drifts(), e.Drifts(), same) {
		t.Errorf("the engine says %v, its view %v, restored %v", e.Drifts(), v.Drifts(), restored.Drifts())
	}
}

// TestRestoredAfterChange proves that an engine that is restored while trees are trained after a change continues to
// the last bit like an undisturbed one, and that views answer like submissions.
func TestRestoredAfterChange(t *testing.T) {
	cfg := Config{Growth: 5}
	plain, e := quick(t, cfg), quick(t, cfg)
	disturbed := 0
	for i, h := range happenings(5, 700) {
		if i%400 == 399 {
			for _, engine := range []*Engine{plain, e} {
				for _, queue := range []string{"long", "short", "wide"} {
					engine.SetPool(queue, pools.PoolConfig{Name: "all", Procs: 64 - 32*(i/400%2)})
				}
				engine.SetLimit("long", float64(i))
			}
		}
		if h.kind == begun && e.learner.Next != nil || i%400 == 50 {
			if e.learner.Next != nil && len(e.learner.Next.Changes) > 0 {
				disturbed++
			}
			data, err := e.MarshalBinary()
			check(t, err)
			fresh := quick(t, cfg)
			check(t, fresh.UnmarshalBinary(data))
			again, err := fresh.MarshalBinary()
			check(t, err)
			if !bytes.Equal(data, again) {
				t.Fatalf("event %d: a restored engine is saved in other bytes", i)
			}
			e.Close()
			e = fresh
		}
		var v *View
		if h.kind == submitted && i%17 == 0 {
			v = e.View(h.at)
		}
		a, b := h.tell(plain), h.tell(e)
		if !same(a, b) {
			t.Fatalf("event %d: undisturbed %+v, restored %+v", i, a, b)
		}
		if v != nil && !same(v.Forecast(&h.r), a) {
			t.Fatalf("event %d: the view says %+v, the submission %+v", i, v.Forecast(&h.r), a)
		}
	}
	if disturbed == 0 || alarmsOf(e.Drifts(), "") != alarmsOf(plain.Drifts(), "") ||
		alarmsOf(e.Drifts(), "")[ensemble.Capacity] < 3 {
		t.Errorf("disturbed %d times, alarms %v: the test shows nothing", disturbed, e.Drifts())
	}
}

// TestTrainsAfterChange proves that after a change trees are trained at 200 waits since then, 400, 800, and so on,
// until the usual growth of the rows comes sooner.
func TestTrainsAfterChange(t *testing.T) {
	l := training.NewLearner(training.Config{Growth: .1})
	for range 10_000 {
		l.Rows.Append([]float32{1})
	}
	l.Seen, l.Trained = 10_000, 9_900
	l.Changed(0)
	var got []int
	for range 5 {
		l.Trained += l.More()
		got = append(got, l.Trained-10_000)
	}
	if want := []int{200, 400, 800, 1600, 2600}; !slices.Equal(got, want) {
		t.Errorf("trained so many waits after the change: %v, want %v", got, want)
	}
}

// TestWeights proves that a row before a change counts half of one after it, and one before two changes a quarter.
func TestWeights(t *testing.T) {
	if w := training.Weights(6, 106, 0, nil); w != nil {
		t.Errorf("without a change: %v", w)
	}
	if w, want := training.Weights(6, 106, 0, []int{102, 105}), []float64{.25, .25, .5, .5, .5, 1}; !slices.Equal(w,
		want) {
		t.Errorf("got %v, want %v", w, want)
	}
	// with a half-life of two waits, the row two before the newest one also counts half
	if w, want := training.Weights(5, 105, 2, []int{102}), []float64{.125, math.Sqrt2 / 8, .5, math.Sqrt2 / 2,
		1}; !slices.EqualFunc(w, want, func(a, b float64) bool { return math.Abs(a-b) < 1e-15 }) {
		t.Errorf("got %v, want %v", w, want)
	}
}
