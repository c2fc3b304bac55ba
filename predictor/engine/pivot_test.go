package engine

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/waitcast/waitcast/predictor/engine/pools"
	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/forward"
)

// small returns an engine of a pool of 10 processors. If alone is true one job holds all of them, and otherwise one has
// 6 and another 4.
func small(t testing.TB, alone bool) *Engine {
	t.Helper()
	e := quick(t, Config{Capacity: 10})
	e.SetPool("q", pools.PoolConfig{Name: "all", Procs: 10, PolicyKnown: true, Policy: forward.EASY})
	sizes := []int{6, 4}
	if alone {
		sizes = []int{10}
	}
	for i, n := range sizes {
		id := uint64(i + 1)
		e.Submit(1000, id, track.Request{Queue: "q", User: "u", Procs: n, Limit: 3600})
		e.Start(1000, id, true)
	}
	return e
}

func sum(all []pools.Pivot) float64 {
	s := 0.
	for _, p := range all {
		s += p.Share
	}
	return s
}

// TestPivotAlone proves that every request waits for a job that alone uses the whole machine, also behind other jobs.
// The reported remaining time of that job is that of its law.
func TestPivotAlone(t *testing.T) {
	e := small(t, true)
	e.Submit(1100, 7, track.Request{Queue: "q", User: "v", Procs: 10, Limit: 600})
	v := e.View(1300)
	r := track.Request{Queue: "q", User: "w", Procs: 3, Limit: 600}
	for name, got := range map[string][]pools.Pivot{
		"a request": v.Pivots(&r), "the job that waits": v.PivotsOf("q", 7),
	} {
		if len(got) != 1 || got[0].ID != 1 || got[0].Share != 1 || got[0].Procs != 10 || got[0].Age != 300 {
			t.Fatalf("%s: %+v, want job 1 with share 1", name, got)
		}
		law := v.poolOf("q").Running[0].Law
		for level, q := range map[float64]float64{.5: got[0].Median, .9: got[0].High} {
			before, after := law.Survival(300+q-1e-3)/law.Survival(300), law.Survival(300+q+1e-3)/law.Survival(300)
			if before < 1-level || after > 1-level {
				t.Errorf("%s: with probability %v to %v it runs longer than the quantile %v", name, before,
					after, level)
			}
		}
		if p, want := got[0].Outlived(200), 1-law.Survival(300)/law.Survival(100); math.Abs(p-want) > 1e-12 ||
			got[0].Outlived(0) != 0 || !math.IsNaN(got[0].Outlived(-1)) {
			t.Errorf("%s: outlived %v, want %v", name, p, want)
		}
	}
	if v.PivotsOf("q", 99) != nil {
		t.Error("a job that does not wait has pivots")
	}
}

// TestPivotsOfTwo covers two jobs with 6 and 4 of 10 processors. A request for 5 waits for the first, and one for 7 for
// the job that ends last. The shares are those of the futures in which this is so.
func TestPivotsOfTwo(t *testing.T) {
	v := small(t, false).View(1300)
	five, seven := track.Request{Queue: "q", Procs: 5, Limit: 60}, track.Request{Queue: "q", Procs: 7, Limit: 60}
	if got := v.Pivots(&five); len(got) != 1 || got[0].ID != 1 || got[0].Share != 1 {
		t.Errorf("5 processors: %+v", got)
	}
	if got := v.Pivots(&seven); len(got) != 2 || sum(got) != 1 || got[0].Share < got[1].Share {
		t.Errorf("7 processors: %+v, want both, together 1, the larger share first", got)
	}
	if w := v.Futures().Waits(&seven, nil); len(w) == 0 || slices.Min(w) <= 0 {
		t.Errorf("simulated %v", w)
	}
	small := small(t, false)
	small.End(1310, 2)
	four := track.Request{Queue: "q", Procs: 4, Limit: 60}
	if got := small.View(1311).Pivots(&four); got == nil || len(got) != 0 {
		t.Errorf("what fits hangs on %+v", got)
	}
}

// TestPivotsLarge proves that in a large pool there are at most five pivots, whose shares sum to at most 1, and that a
// restored engine gives the same ones, in the same bytes.
func TestPivotsLarge(t *testing.T) {
	e, clock := crowd(t, Config{First: 450, Synchronous: true})
	data, err := e.MarshalBinary()
	check(t, err)
	restored := quick(t, Config{First: 450, Capacity: 1200, Synchronous: true})
	restored.cfg.Trees = e.cfg.Trees
	check(t, restored.UnmarshalBinary(data))
	again, err := restored.MarshalBinary()
	check(t, err)
	if !bytes.Equal(data, again) {
		t.Error("a restored engine is saved in other bytes")
	}
	a, b := e.View(clock), restored.View(clock)
	seen := 0
	for _, procs := range []int{1, 7, 40, 300, 1200} {
		for _, limit := range []float64{0, 300, 7200} {
			r := track.Request{Queue: "batch", User: "u3", Procs: procs, Limit: limit}
			got := a.Pivots(&r)
			if len(got) > 5 || sum(got) > 1+1e-9 {
				t.Errorf("%+v: %d pivots with %v in all", r, len(got), sum(got))
			}
			if x, y := pivotText(got), pivotText(b.Pivots(&r)); x != y {
				t.Errorf("%+v: %s, restored %s", r, x, y)
			}
			for _, p := range got {
				seen++
				if j := e.tracker.Jobs[p.ID]; j == nil || j.Procs != p.Procs || p.Share <= 0 || !(p.Median >= 0) ||
					!(p.High >= p.Median) {
					t.Errorf("%+v: pivot %+v", r, p)
				}
			}
		}
	}
	waits := 0
	for _, j := range e.tracker.Line.Waiting()[:300] {
		got := a.PivotsOf(j.Queue, j.ID)
		if got != nil {
			waits++
		}
		if x, y := pivotText(got), pivotText(b.PivotsOf(j.Queue, j.ID)); x != y || sum(got) > 1+1e-9 {
			t.Errorf("job %d: %s, restored %s", j.ID, x, y)
		}
	}
	if seen == 0 || waits != pools.PivotStarts {
		t.Errorf("%d pivots of requests; %d jobs that wait have some, want %d", seen, waits, pools.PivotStarts)
	}
}

// pivotText returns pivots as text.
func pivotText(all []pools.Pivot) string {
	text := ""
	for _, p := range all {
		text += fmt.Sprintf("%d %d %v %v %v %v;", p.ID, p.Procs, p.Share, p.Age, p.Median, p.High)
	}
	return text
}

// TestPolicyTold proves that the configured policy of the machine or a pool is simulated, and that the jobs' priorities
// count unless a policy without priorities is configured.
func TestPolicyTold(t *testing.T) {
	fill := func(e *Engine) *View {
		for i, r := range []track.Request{{Queue: "q", Procs: 6, Limit: 3600}, {Queue: "q", Procs: 8, Limit: 3600}} {
			e.Submit(1000, uint64(i+1), r)
		}
		e.Start(1001, 1, true)
		return e.View(1010)
	}
	fits := track.Request{Queue: "q", Procs: 2, Limit: 60}
	for _, c := range []struct {
		name   string
		tell   func(cfg *Config) pools.PoolConfig
		policy forward.Policy
		source pools.PolicySource
		sooner bool // true if it may pass the waiting job
	}{
		{"nothing", func(*Config) pools.PoolConfig { return pools.PoolConfig{Name: "p", Procs: 10} }, forward.EASY,
			pools.PolicyAssumed, true},
		{"the pool's", func(*Config) pools.PoolConfig {
			return pools.PoolConfig{Name: "p", Procs: 10, PolicyKnown: true, Policy: forward.FCFS}
		}, forward.FCFS, pools.PolicyConfigured, false},
		{"the machine's", func(c *Config) pools.PoolConfig {
			c.Policy, c.PolicyKnown = forward.FCFS, true
			return pools.PoolConfig{Name: "p", Procs: 10}
		}, forward.FCFS, pools.PolicyConfigured, false},
		{"the pool's before the machine's", func(c *Config) pools.PoolConfig {
			c.Policy, c.PolicyKnown = forward.FCFS, true
			return pools.PoolConfig{Name: "p", Procs: 10, PolicyKnown: true, Policy: forward.EASY}
		}, forward.EASY, pools.PolicyConfigured, true},
	} {
		cfg := Config{Capacity: 10}
		p := c.tell(&cfg)
		e := quick(t, cfg)
		e.SetPool("q", p)
		v := fill(e)
		policy, source := v.Policy("q")
		got := slices.Max(v.Futures().Waits(&fits, nil)) == 0
		if policy != c.policy || source != c.source || got != c.sooner {
			t.Errorf("%s: %v, %v, starts at once %v; want %v, %v, %v", c.name, policy, source, got, c.policy,
				c.source, c.sooner)
		}
	}
	for _, told := range []bool{false, true} {
		e := quick(t, Config{Capacity: 10, Policy: forward.EASY, PolicyKnown: told})
		e.SetPool("q", pools.PoolConfig{Name: "p", Procs: 10})
		e.Submit(1000, 1, track.Request{Queue: "q", Procs: 10, Priority: 5})
		want := pools.PolicyPriorities
		if told {
			want = pools.PolicyConfigured
		}
		if policy, source := e.View(1010).Policy("q"); source != want || (policy == forward.EASY) != told {
			t.Errorf("told %v: %v, %v, want %v", told, policy, source, want)
		}
	}
}

// TestStats proves that Stats counts trainings and reports when the training of the trees in force began, also after a
// restart.
func TestStats(t *testing.T) {
	e := quick(t, Config{Synchronous: true})
	if s := e.Stats(); s.Learnt != 0 || s.Trainings != 0 || !math.IsNaN(s.TreesAt) || s.SimulationAge != 0 {
		t.Errorf("before anything: %+v", s)
	}
	began, seen := 0., 0
	for _, h := range happenings(3, 700) {
		had := e.learner.Models == nil
		h.tell(e)
		if had && e.learner.Models != nil {
			began, seen = h.at, e.learner.Seen
			if s := e.Stats(); s.Trainings != 1 || s.TreesAt != began || s.TreesBehind != 0 || s.TrainingTook <= 0 {
				t.Errorf("after the first training: %+v", s)
			}
		}
	}
	s := e.Stats()
	if seen == 0 || s.Trainings < 2 || s.Failures != 0 || s.Rows == 0 || s.Learnt <= seen || !(s.TreesAt > began) ||
		s.TreesBehind <= 0 || s.TreesBehind >= s.Learnt-seen {
		t.Errorf("after %d waits: %+v", e.learner.Seen, s)
	}
	data, err := e.MarshalBinary()
	check(t, err)
	again := quick(t, Config{Synchronous: true})
	check(t, again.UnmarshalBinary(data))
	if r := again.Stats(); r.TreesAt != s.TreesAt || r.TreesBehind != s.TreesBehind || r.Trainings != 0 {
		t.Errorf("restored: %+v, was %+v", r, s)
	}
	large, clock := crowd(t, Config{First: 450, Synchronous: true})
	if s := large.Stats(); s.Simulations == 0 || s.SimulationTook <= 0 || s.SimulationAge < 0 ||
		s.SimulationAge > clock-1e9 {
		t.Errorf("large: %+v", s)
	}
}
