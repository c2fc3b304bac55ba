package engine

import (
	"bytes"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/internal/codec/codectest"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/predictor/engine/ensemble"
	"github.com/waitcast/waitcast/predictor/engine/pools"
	"github.com/waitcast/waitcast/predictor/engine/track"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestViewIsTheSubmission proves that a view answers to the last bit like a submission at its instant. This also holds
// after the engine has continued, after the view was saved and restored, and from several goroutines.
func TestViewIsTheSubmission(t *testing.T) {
	for _, downey := range []bool{false, true} {
		e := quick(t, Config{Downey: downey})
		e.SetPool("wide", pools.PoolConfig{Name: "w", Procs: 64})
		e.SetOutages("w", []pools.Outage{{From: 1e9 + 20_000, Until: 1e9 + 40_000, Procs: 32}})
		type kept struct {
			view *View
			r    track.Request
			want Forecast
		}
		var all []kept
		for i, h := range happenings(1, 900) {
			if h.kind == submitted {
				v := e.View(h.at)
				got, want := v.Forecast(&h.r), h.tell(e)
				if !same(got, want) {
					t.Fatalf("event %d: the view says %+v, the submission %+v", i, got, want)
				}
				if len(all) < 40 || i%40 == 0 {
					all = append(all, kept{v, h.r, want})
				}
				continue
			}
			h.tell(e)
		}
		if e.learner.Models == nil || len(e.pools.Learnt) == 0 {
			t.Fatal("nothing was trained or no pool was found: the test shows nothing")
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for _, k := range all {
					if got := k.view.Forecast(&k.r); !same(got, k.want) {
						t.Errorf("later the view says %+v, the submission said %+v", got, k.want)
						return
					}
				}
			})
		}
		wg.Wait()
		for i := 0; i < len(all); i += 5 {
			data, err := all[i].view.MarshalBinary()
			check(t, err)
			v, err := e.RestoreView(data)
			check(t, err)
			if got := v.Forecast(&all[i].r); !same(got, all[i].want) {
				t.Fatalf("restored, the view says %+v, the submission said %+v", got, all[i].want)
			}
			again, err := v.MarshalBinary()
			check(t, err)
			if !bytes.Equal(data, again) {
				t.Fatal("a restored view is saved in other bytes")
			}
		}
	}
}

// TestRestoredEngineGoesOn proves that a restored engine continues to the last bit like an undisturbed one, wherever it
// is saved, also while trees are trained.
func TestRestoredEngineGoesOn(t *testing.T) {
	all := happenings(2, sized(600, 1200))
	for _, downey := range []bool{false, true} {
		cfg := Config{Downey: downey}
		plain, e := quick(t, cfg), quick(t, cfg)
		training := 0
		for i, h := range all {
			if h.kind == begun && e.learner.Next != nil || i%300 == 299 {
				if e.learner.Next != nil {
					training++
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
			if a, b := h.tell(plain), h.tell(e); !same(a, b) {
				t.Fatalf("event %d: undisturbed %+v, restored %+v", i, a, b)
			}
		}
		if training < 5 {
			t.Fatalf("it was saved only %d times while trees were trained", training)
		}
	}
}

// TestBackgroundAndViewsChangeNothing proves that the same events give the same forecasts, whether trees are trained in
// the background or not, and whether or not views are taken.
func TestBackgroundAndViewsChangeNothing(t *testing.T) {
	a, b := quick(t, Config{Synchronous: true}), quick(t, Config{})
	for i, h := range happenings(3, 1000) {
		if i%3 == 0 {
			b.View(h.at - 10).Forecast(&track.Request{Queue: "long", Procs: 3})
			b.View(h.at + 1e5)
		}
		if x, y := h.tell(a), h.tell(b); !same(x, y) {
			t.Fatalf("event %d: %+v and %+v", i, x, y)
		}
		runtime.Gosched()
	}
}

// TestLateSubmission proves that a submission that is reported late is forecast as of its instant, and then counts as
// if it had been known since.
func TestLateSubmission(t *testing.T) {
	e := quick(t, Config{})
	var last happening
	for _, h := range happenings(4, 400) {
		h.tell(e)
		last = h
	}
	at := last.at + 10
	v := e.View(at)
	r := track.Request{Queue: "long", User: "u1", Procs: 5, Limit: 600}
	want := v.Forecast(&r)
	e.Submit(at+5, 9001, track.Request{Queue: "short", User: "u2", Procs: 7, Limit: 60})
	if got := e.SubmitAt(v, at, at+20, 9000, r); !same(got, want) {
		t.Fatalf("told late %+v, want %+v", got, want)
	}
	line := e.tracker.Line.Waiting()
	i := slices.IndexFunc(line, func(j *track.Job) bool { return j.ID == 9000 })
	k := slices.IndexFunc(line, func(j *track.Job) bool { return j.ID == 9001 })
	if i < 0 || k < 0 || i > k {
		t.Errorf("the late one has place %d, a later submission %d", i, k)
	}
	before := e.learner.Seen
	e.Start(at+12, 9000, true) // it had started before it was reported
	if s := e.tracker.Queues["long"].Of(track.SizeClass(5)); e.learner.Seen != before+1 ||
		s.LastWait != waittime.Log(12) {
		t.Errorf("learnt a wait of %v s, want 12", waittime.Unlog(s.LastWait))
	}
}

// TestNoLeak proves that the future changes no forecast: with another future the earlier forecasts are the same.
func TestNoLeak(t *testing.T) {
	all := happenings(5, 600)
	a, b := quick(t, Config{}), quick(t, Config{})
	half := len(all) / 2
	for i, h := range all {
		x := h.tell(a)
		if i >= half {
			h.at += 5000
			h.r.Procs = 64
		}
		y := h.tell(b)
		if i < half && !same(x, y) {
			t.Fatalf("event %d: %+v and %+v", i, x, y)
		}
	}
	// A start at the instant of a submission is not known to that submission: whether the start is reported later or
	// never, the forecast is the same.
	c, d := quick(t, Config{}), quick(t, Config{})
	for _, e := range []*Engine{c, d} {
		e.Submit(100, 1, track.Request{Procs: 4})
		e.Start(100, 1, true)
		e.Submit(200, 2, track.Request{Procs: 4})
	}
	x := c.Submit(200, 3, track.Request{Procs: 4})
	c.Start(200, 2, true)
	y := d.Submit(200, 3, track.Request{Procs: 4})
	if !same(x, y) {
		t.Errorf("%+v and %+v", x, y)
	}
}

// TestColdStart proves that an engine without knowledge gives no forecast, and that the basis of a forecast improves
// with what was learnt.
func TestColdStart(t *testing.T) {
	e := quick(t, Config{})
	if f := e.View(0).Forecast(&track.Request{Procs: 1}); f.Quantiles != nil || f.Basis != "" || f.Learnt != 0 {
		t.Errorf("nothing is known, and it says %+v", f)
	}
	if f := e.Submit(0, 1, track.Request{Procs: 1}); f.Quantiles != nil || f.Basis != "" {
		t.Errorf("nothing is known, and it says %+v", f)
	}
	e.Start(10, 1, true)
	if f := e.Submit(20, 2, track.Request{Procs: 4}); f.Quantiles == nil || f.Learnt != 1 || f.Basis == "trees" ||
		f.Basis == "" {
		t.Errorf("after one start it says %+v", f)
	}
	told := quick(t, Config{Capacity: 8})
	if f := told.Submit(0, 1, track.Request{Procs: 1}); f.Basis != "simulation" || f.Quantiles == nil ||
		f.Quantiles[0] != 0 || !(f.Quantiles[5] > f.Quantiles[2]) || f.Free != 8 || f.Needed != 0 {
		t.Errorf("an empty machine of known size: %+v", f)
	}
	for i, h := range happenings(6, 400) {
		h.id += 10
		if f := h.tell(e); h.kind == submitted && e.learner.Models != nil && f.Basis != "trees" {
			t.Fatalf("event %d rests on %q", i, f.Basis)
		}
	}
}

// TestHeldAndAway proves that a held job does not compete, but counts for its user. A request that never fits has no
// simulation. Outages take processors away.
func TestHeldAndAway(t *testing.T) {
	e := quick(t, Config{Capacity: 10})
	e.SetPool("q", pools.PoolConfig{Name: "p", Procs: 10, PolicyKnown: true})
	e.Submit(0, 1, track.Request{Queue: "q", User: "u", Procs: 10, Limit: 100})
	e.Start(0, 1, true)
	e.Submit(1, 2, track.Request{Queue: "q", User: "u", Procs: 10, Limit: 100})
	ask := func() Forecast { return e.View(2).Forecast(&track.Request{Queue: "q", Procs: 4, Limit: 50}) }
	if f := ask(); f.JobsAhead != 1 || f.ProcsAhead != 10 || f.Free != 0 || f.Needed != 14 {
		t.Errorf("behind one job: %+v", f)
	}
	e.Hold(2, 2, Hold{})
	if f := ask(); f.JobsAhead != 0 || f.Needed != 4 || e.tracker.Users["u"].UserFacts.Waiting.Jobs != 1 {
		t.Errorf("behind a held job: %+v", f)
	}
	e.Release(2, 2)
	if f := ask(); f.JobsAhead != 1 {
		t.Errorf("behind a released job: %+v", f)
	}
	e.Requeued(3, 1)
	if f := e.View(3).Forecast(&track.Request{Queue: "q", Procs: 4}); f.JobsAhead != 2 || f.Free != 10 {
		t.Errorf("behind a requeued job: %+v", f)
	}
	e.SetOutages("p", []pools.Outage{{From: 0, Until: 50, Procs: 8}, {From: 9, Until: 2, Procs: 1}})
	if f := e.View(3).Forecast(&track.Request{Queue: "q", Procs: 4}); f.Free != 2 {
		t.Errorf("in an outage %d are free, want 2", f.Free)
	}
	if f := e.View(60).Forecast(&track.Request{Queue: "q", Procs: 40}); f.Experts[ensemble.Simulation] != nil {
		t.Errorf("a request that never fits is simulated: %v", f.Experts[ensemble.Simulation])
	}
}

// savableView is a view that an engine restores.
type savableView struct {
	e *Engine
	*View
}

func (v *savableView) UnmarshalBinary(data []byte) error {
	restored, err := v.e.RestoreView(data)
	if err == nil {
		v.View = restored
	}
	return err
}

// TestSavedState proves that engines and views are saved in the same bytes again after they are restored. Damaged
// state, and state of another version or configuration, is refused and changes nothing. A view that no engine made
// gives no forecast and cannot be saved.
func TestSavedState(t *testing.T) {
	e := quick(t, Config{})
	for _, h := range happenings(7, 300) {
		h.tell(e)
	}
	data, err := e.MarshalBinary()
	check(t, err)
	view, err := e.View(0).MarshalBinary()
	check(t, err)
	codectest.Check(t, data, func() codec.Savable { return quick(t, Config{}) })
	codectest.Check(t, view, func() codec.Savable { return &savableView{e, quick(t, Config{}).View(0)} })
	if err := quick(t, Config{Levels: []float64{.5}}).UnmarshalBinary(data); !errors.Is(err, codec.ErrConfig) {
		t.Errorf("other levels: %v", err)
	}
	if (&View{}).Forecast(&track.Request{}).Quantiles != nil {
		t.Error("a view that no engine gave says something")
	}
	if _, err := (&View{}).MarshalBinary(); err == nil {
		t.Error("a view that no engine gave is saved")
	}
}

// TestSampledLaw proves that a sampled law has the quantiles of its original, within about 1 %.
func TestSampledLaw(t *testing.T) {
	e := quick(t, Config{})
	for _, h := range happenings(8, 200) {
		h.tell(e)
	}
	for _, limit := range []float64{0, .5, 1, 40, 3600, 1e6, 3e8} {
		j := &track.Job{Request: track.Request{Queue: "long", User: "u1", Procs: 3, Limit: limit}}
		want := e.tracker.Laws.Law(j.Kin(), e.tracker.Clock)
		got := track.Sample(want)
		for _, age := range []float64{0, .5, 10, 100, limit * .99, limit, limit + 30, 1e7, 1e10} {
			for _, u := range []float64{0, 1e-6, .1, .5, .9, .999, 1} {
				a, b := want.Residual(age, u), got.Residual(age, u)
				near := math.Abs(a-b) <= 1e-2*(1+a+age*1e-3)
				// where hardly any job ends, a quantile is not exact
				alike := math.Abs(want.Survival(age+b)/want.Survival(age)-(1-u)) < 1e-3
				if !(b >= 0) || !near && !alike {
					t.Errorf("limit %v, age %v, u %v: %v, want %v", limit, age, u, b, a)
				}
			}
		}
	}
}

// TestFeatureGroups proves that each group of features writes as many values as it has names, and only NaN if it is
// left out, and that names are unique. A row is allocated in one piece, because tens of thousands are kept.
func TestFeatureGroups(t *testing.T) {
	e := quick(t, Config{First: 1e9})
	defer e.Close()
	for _, h := range happenings(9, 200) {
		h.tell(e)
	}
	r := track.Request{Queue: "short", User: "u1", Procs: 3, Limit: 600}
	for i := range 40 { // jobs that have waited: a clock of their limit class needs twenty
		at, id := e.tracker.Clock+10, uint64(10_000+i)
		e.Submit(at, id, r)
		e.Start(at+3000, id, true)
		e.End(at+3100, id)
	}
	v := e.View(0)
	count := map[string]int{}
	for _, name := range v.features.names {
		if count[name]++; count[name] > 1 {
			t.Errorf("two features are called %q", name)
		}
	}
	whole := v.rowOf(&r, &e.scratch).Row
	if len(whole) != len(v.features.names) || cap(whole) != len(whole) {
		t.Errorf("a row has %d values and room for %d, want %d", len(whole), cap(whole), len(v.features.names))
	}
	known := func(x float32) bool { return x == x }
	from := 0
	for _, g := range v.features.groups {
		less, err := newFeatures([]string{g.name}, nil)
		check(t, err)
		without := *v
		without.features = less
		row := without.rowOf(&r, &e.scratch).Row
		for i := range row {
			inside := i >= from && i < from+len(g.features)
			if same := row[i] == whole[i] || !known(row[i]) && !known(whole[i]); inside && known(row[i]) ||
				!inside && !same {
				t.Errorf("without %s, feature %s is %v instead of %v", g.name, v.features.names[i], row[i], whole[i])
			}
		}
		if len(g.features) > 0 && !slices.ContainsFunc(whole[from:from+len(g.features)], known) {
			t.Errorf("no feature of %s is known", g.name)
		}
		if g.linear && from+len(g.features) > v.features.linear || !g.linear && from < v.features.linear {
			t.Errorf("%s stands among groups that linear quantiles get or do not get, as it does not", g.name)
		}
		from += len(g.features)
	}
}

// TestUnknownFeatureGroup proves that an unknown group is refused, and that saved state requires the groups with which
// it was saved.
func TestUnknownFeatureGroup(t *testing.T) {
	if _, err := New(Config{Without: []string{"user", "nonsense"}}); err == nil ||
		!strings.Contains(err.Error(), `"nonsense"`) {
		t.Errorf("a group that does not exist: %v", err)
	}
	e := quick(t, Config{First: 40, Without: []string{"user", "ages", "user"}})
	defer e.Close()
	for _, h := range happenings(9, 60) {
		h.tell(e)
	}
	data, err := e.MarshalBinary()
	check(t, err)
	for _, without := range [][]string{nil, {"user"}} {
		err := quick(t, Config{First: 40, Without: without}).UnmarshalBinary(data)
		if !errors.Is(err, codec.ErrConfig) {
			t.Errorf("restored without %v: %v", without, err)
		}
	}
	check(t, quick(t, Config{First: 40, Without: []string{"ages", "user"}}).UnmarshalBinary(data))
}

// TestCapacityBoundsLearntPools proves that learnt pools have at most the processors of the machine if these are
// reported, and otherwise at most those that were used.
func TestCapacityBoundsLearntPools(t *testing.T) {
	for capacity, want := range map[int]int{0: 64, 40: 40} { // the histories' machine has 64
		e := quick(t, Config{Capacity: capacity})
		for _, h := range happenings(1, 900) {
			h.tell(e)
		}
		most := e.pools.Freeze(nil).Procs
		if len(e.pools.Learnt) == 0 || len(e.pools.All) == 0 || most > want {
			t.Fatalf("%d pools were learnt, of a machine of %d processors, want some and %d", len(e.pools.Learnt),
				most, want)
		}
		largest := 0
		for _, p := range e.pools.All {
			largest = max(largest, e.pools.Freeze(p).Procs)
		}
		if capacity > 0 && largest != want || largest > most {
			t.Errorf("capacity %d: the largest pool has %d processors, want %d", capacity, largest, want)
		}
	}
}
