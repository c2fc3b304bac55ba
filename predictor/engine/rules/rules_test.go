package rules_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/predictor/engine/rules"
	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/forward"
)

const (
	hour = 3600.
	day  = 24 * hour
)

// random draws a full pool of 16 processors with a queue, and a request.
func random(rng *rand.Rand) *rules.Situation {
	s := &rules.Situation{At: rng.Float64() * 1e6, Request: job(rng, 0)}
	s.Capacity = 16
	for used := 0; used < 16; {
		n := min(1+rng.IntN(8), 16-used)
		used += n
		limit := float32(600 * (1 + rng.IntN(20)))
		s.Running = append(s.Running, rules.Running{Procs: int32(n), Limit: limit, Expected: limit * rng.Float32(),
			Age: limit * rng.Float32()})
	}
	for range rng.IntN(12) {
		s.Waiting = append(s.Waiting, job(rng, 3000*rng.Float32()))
	}
	return s
}

func job(rng *rand.Rand, age float32) rules.Job {
	limit := float32(600 * (1 + rng.IntN(20)))
	return rules.Job{Procs: int32(1 + rng.IntN(8)), Limit: limit, Expected: limit * rng.Float32(), Age: age,
		Own: int32(rng.IntN(3)), QueueWait: 6, Use: 1e6 * rng.Float32()}
}

// solve plays a situation under a priority, as the scheduler of the tests does, and returns the wait.
func solve(s *rules.Situation, p *rules.Priority) float64 {
	var player rules.Player
	player.Load(&s.Pool, p.Processors(s.Capacity), math.Exp(p.Lifetimes))
	return p.Late(player.Wait(&s.Pool, &s.Request, p.Strict, p.Score))
}

// TestFitFindsTheOrder proves that a fit learns an order that none of its starting points has, from the waits that this
// order made. On new situations its forecasts have less than half the loss of first come, first served and of the
// shortest first.
func TestFitFindsTheOrder(t *testing.T) {
	truth := &rules.Priority{LogProcs: -1, LogUse: .7, Delay: math.Log1p(30)}
	rng := rand.New(rand.NewPCG(1, 2))
	draw := func(n int) (out []*rules.Situation) {
		for range n {
			s := random(rng)
			s.Log = waittime.Log(solve(s, truth))
			out = append(out, s)
		}
		return out
	}
	seen, unseen := draw(400), draw(400)
	loss := func(p *rules.Priority) float64 {
		sum := 0.
		for _, s := range unseen {
			sum += math.Abs(waittime.Log(solve(s, p))-s.Log) / 2
		}
		return sum / float64(len(unseen))
	}
	var fitted *rules.Priority
	for seed := range uint64(8) { // in the order in which a daemon makes them
		fitted = rules.Fit(seen, fitted, nil, seed, 2, nil)
	}
	got, fcfs, short := loss(fitted), loss(&rules.Priority{LogAge: 1}), loss(&rules.Priority{LogLimit: 1})
	if got > fcfs/2 || got > short/2 {
		t.Errorf("the fitted priority %+v loses %.4f, first come %.4f, shortest first %.4f: want half of them", *fitted,
			got, fcfs, short)
	}
}

// TestFitStaysSimple covers jobs that start first come, first served, with unexpected runtimes. After eight fits the
// priority puts the younger of two jobs first in at most one of a hundred pairs. The weights of the queue's wait, of
// the age in days and of the capacity are 0.
func TestFitStaysSimple(t *testing.T) {
	truth := &rules.Priority{LogAge: 1}
	rng := rand.New(rand.NewPCG(3, 4))
	var seen []*rules.Situation
	for range 500 {
		seen = append(seen, surprised(rng, truth))
	}
	var fitted *rules.Priority
	for seed := range uint64(8) {
		fitted = rules.Fit(seen, fitted, nil, seed, 2, nil)
	}
	wrong, pairs := 0, 0
	for range 10000 {
		older, younger := job(rng, 0), job(rng, 0)
		younger.Age = float32(7200 * rng.Float64())
		older.Age = younger.Age + 60 + float32(7200*rng.Float64())
		pairs++
		if fitted.Score(&younger) > fitted.Score(&older) {
			wrong++
		}
	}
	if wrong > pairs/100 {
		t.Errorf("%+v puts the younger one first in %d of %d pairs", *fitted, wrong, pairs)
	}
	if fitted.QueueWait != 0 || fitted.AgeDays != 0 || fitted.Capacity != 0 {
		t.Errorf("%+v has weights that are worth nothing", *fitted)
	}
}

// TestOrderIsTried proves when a fitted order is in force. For a scheduler that serves first come, first served, and
// whose jobs run longer or shorter than expected, this happens in at most one of twelve fits. For a scheduler that puts
// short limits first, it happens from the second fit on, because the first one could not be tried.
func TestOrderIsTried(t *testing.T) {
	for name, c := range map[string]struct {
		truth      *rules.Priority
		ordered    func(p *rules.Priority) bool
		from, most int // of 12 fits: the first that counts, and how many may differ
	}{
		"first come":  {&rules.Priority{LogAge: 1}, isFirstCome, 0, 1},
		"short first": {&rules.Priority{LogLimit: 1}, func(p *rules.Priority) bool { return !isFirstCome(p) }, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(21, 22))
			var seen []*rules.Situation
			b, wrong := &rules.Fitted{}, 0
			for fit := range 12 {
				for range 60 {
					seen = append(seen, surprised(rng, c.truth))
				}
				if b = b.Refit(seen, 60, nil, uint64(fit), 2, nil); b == nil {
					t.Fatal("no fit")
				}
				if fit >= c.from && !c.ordered(b.Priority) {
					wrong++
				}
			}
			if wrong > c.most {
				t.Errorf("%d of 12 fits have the wrong order in force, the last %+v", wrong, *b.Priority)
			}
		})
	}
}

// isFirstCome reports whether a priority has no order other than that of the submissions.
func isFirstCome(p *rules.Priority) bool {
	return p.LogAge > 0 && p.Score(&rules.Job{Procs: 8, Limit: 9000, Expected: 900, Use: 1e6, Own: 3}) ==
		p.Score(&rules.Job{Procs: 1, Limit: 60, Expected: 6})
}

// surprised draws a situation whose wait comes from unexpected runtimes.
func surprised(rng *rand.Rand, truth *rules.Priority) *rules.Situation {
	s := random(rng)
	real := *s
	real.Running, real.Waiting = slices.Clone(s.Running), slices.Clone(s.Waiting)
	for i := range real.Running {
		real.Running[i].Expected *= float32(math.Exp(rng.NormFloat64()))
	}
	for i := range real.Waiting {
		real.Waiting[i].Expected *= float32(math.Exp(rng.NormFloat64()))
	}
	s.Log = waittime.Log(solve(&real, truth))
	return s
}

// TestFitDependsOnNothingElse proves that the number of workers changes nothing.
func TestFitDependsOnNothingElse(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var all []*rules.Situation
	for range 150 {
		s := random(rng)
		s.Log = waittime.Log(solve(s, &rules.Priority{LogExpected: 1}))
		all = append(all, s)
	}
	one, four := rules.Fit(all, nil, nil, 5, 1, nil), rules.Fit(all, nil, nil, 5, 4, nil)
	if *one != *four {
		t.Errorf("one worker finds %+v, four find %+v", *one, *four)
	}
	if other := rules.Fit(all, nil, nil, 6, 1, nil); *other == *one {
		t.Errorf("two seeds find the same %+v", *one)
	}
}

// TestOrders checks each order of rules.Orders by hand. All processors of the machine are busy, two jobs wait, and the
// request starts behind those that the order prefers.
func TestOrders(t *testing.T) {
	pool := &rules.Pool{Capacity: 4, Running: []rules.Running{{Procs: 4, Limit: 100, Expected: 100}}}
	pool.Waiting = []rules.Job{
		{Procs: 4, Limit: 1000, Expected: 1000, Age: 5000, Own: 0, QueueWait: 5}, // old and long: 1000 s
		{Procs: 4, Limit: 100, Expected: 100, Age: 10, Own: 1, QueueWait: 9},     // short: 100 s
	}
	request := &rules.Job{Procs: 3, Limit: 500, Expected: 500, Own: 2, QueueWait: 7}
	// the running job ends at 100; then come those that go first, in any order
	want := map[string]float64{
		"first_come":  100 + 1000 + 100,
		"short_limit": 100 + 100,        // 100 < 500 < 1000
		"own_rank":    100 + 1000 + 100, // the others are their users' first and second jobs
		"expansion":   100 + 1000 + 100, // 5000/1000 and 10/600 against 0
		"queue":       100 + 1000,       // the first job's queue has the shortest waits, the second's the longest
		"largest":     100 + 1000 + 100,
		"smallest":    100,
	}
	var player rules.Player
	player.Load(pool, pool.Capacity, 1)
	for _, o := range rules.Orders() {
		w, ok := want[o.Name]
		if got := player.Wait(pool, request, true, o.Score); !ok || got != w {
			t.Errorf("%s: wait %v, want %v", o.Name, got, w)
		}
	}
	if len(want) != len(rules.Orders()) {
		t.Errorf("%d orders, %d are checked", len(rules.Orders()), len(want))
	}
}

// nightly plays weeks of a site that starts jobs with limits above four hours only between 18:00 and 8:00. It returns
// what was learnt.
func nightly(weeks int) *rules.GateLearner {
	l := &rules.GateLearner{}
	rng := rand.New(rand.NewPCG(7, 8))
	long, short := track.LimitClass(8*hour), track.LimitClass(hour)
	waiting := 0.
	for at := 0.; at < float64(weeks)*7*day; at += 600 {
		l.Advance(at, func() *[track.LimitClasses]float64 {
			out := &[track.LimitClasses]float64{}
			out[long] = waiting
			return out
		})
		if rng.IntN(4) == 0 {
			l.Started(at, short)
		}
		if rng.IntN(12) == 0 {
			waiting++
		}
		if h := math.Mod(at, day) / hour; h >= 18 || h < 8 {
			for ; waiting > 0; waiting-- {
				l.Started(at, long)
			}
		}
	}
	return l
}

// TestGatesAreLearnt proves that the gate of a site is found for the right limits, and in the form that a simulation
// needs.
func TestGatesAreLearnt(t *testing.T) {
	g := nightly(8).Gates()
	for h := range 7 * 24 {
		at := 80*7*day + float64(h)*hour + 1
		shut := h%24 >= 9 && h%24 < 17 // the hours next to the edges may be either
		open := h%24 >= 19 || h%24 < 7
		got := g.IsShut(at, track.LimitClass(8*hour))
		if shut && !got || open && got {
			t.Errorf("hour %d of the week: shut is %v", h, got)
		}
		if g.IsShut(at, track.LimitClass(hour)) {
			t.Errorf("hour %d of the week: short jobs are shut out", h)
		}
	}
	for _, gates := range [][]forward.Gate{g.At(10 * hour), g.Coarse(10 * hour)} {
		s := &forward.State{Capacity: 1, Gates: gates}
		var sim forward.Sim
		for limit, want := range map[float64]float64{hour: 0, 8 * hour: 8 * hour} {
			got, err := sim.Waits(s, forward.Request{Procs: 1, Limit: limit}, 1, 1, nil)
			if err != nil || math.Abs(got[0]-want) > hour {
				t.Errorf("at ten in the morning a limit of %v h waits %v s (%v), want %v", limit/hour, got, err, want)
			}
		}
	}
}

// TestGateSummary proves that the summary of a search for gates fits the observations, and that a restored learner has
// the same summary.
func TestGateSummary(t *testing.T) {
	l := nightly(8)
	known := l.Known()
	if known.Summary == nil || known.Starts != known.Summary.Starts || known.Starts < known.Needed {
		t.Fatalf("known are %+v: want a summary of at least %d starts", known, known.Needed)
	}
	for _, c := range known.Summary.Classes {
		if long := c.Class == track.LimitClass(8*hour); c.Gate != long {
			t.Errorf("class %d: gate is %v", c.Class, c.Gate)
		} else if !long {
			continue
		}
		noon, night := 2*12, 2*20 // half hours of the first day
		if c.Starts[noon] != 0 || c.Exposure[noon] == 0 || c.Starts[night] == 0 {
			t.Errorf("at noon %v starts in %v h, at 20:00 %v: want 0 in some, and some", c.Starts[noon],
				c.Exposure[noon], c.Starts[night])
		}
	}
	to := &codec.Codec{}
	l.Code(to)
	restored := &rules.GateLearner{}
	from := &codec.Codec{Reader: codec.Reader{Rest: to.Writer}, Reading: true}
	if restored.Code(from); from.Bad || len(from.Rest) > 0 {
		t.Fatal("what was saved cannot be read")
	}
	if got := restored.Known(); !reflect.DeepEqual(got, known) {
		t.Errorf("restored are %+v, want %+v", got, known)
	}
}

// TestEvidence checks the comparison of waiting jobs by hand. A priority of ln(60 + age) - ln(60 + limit) prefers a job
// of 100 s that was just submitted (4.1 - 5.1) to one of 1,000 s that has waited for 100 s (5.1 - 7.0). Of two jobs of
// 1,000 s it prefers the older one. The size does not count.
func TestEvidence(t *testing.T) {
	s := &rules.Situation{At: 7, Log: 5, Request: rules.Job{Procs: 8, Limit: 100, Expected: 50}}
	s.Capacity = 8
	s.Running = []rules.Running{{Procs: 8, Limit: 100, Expected: 100}}
	s.Waiting = []rules.Job{{Procs: 2, Limit: 1000, Expected: 60, Age: 100}}
	p := &rules.Priority{LogAge: 1, LogLimit: 1}
	before := rules.Fitted{Learnt: p}
	e := before.Refit([]*rules.Situation{s, s}, 2, nil, 1, 1, nil).Evidence
	if e == nil || e.Situations != 2 || e.At != 7 {
		t.Fatalf("evidence %+v: want of 2 situations, the newest at 7", e)
	}
	got := rules.CompareJobs(s, p)
	one := func(first int) rules.Overtakes { return rules.Overtakes{Pairs: 1, Situations: 1, First: first} }
	want := rules.Evidence{Same: one(0)}
	want.Overtakes[rules.Limit].Less = one(1)
	want.Overtakes[rules.Size].More = one(0)
	if got != want {
		t.Errorf("compared are %+v, want %+v", got, want)
	}
}

// TestNoGates proves that no gates are found at a site without gates: jobs start and wait at all hours.
func TestNoGates(t *testing.T) {
	l := &rules.GateLearner{}
	rng := rand.New(rand.NewPCG(9, 10))
	for at := 0.; at < 8*7*day; at += 600 {
		l.Advance(at, func() *[track.LimitClasses]float64 {
			out := &[track.LimitClasses]float64{}
			out[10], out[16] = float64(rng.IntN(3)), float64(rng.IntN(3))
			return out
		})
		if rng.IntN(3) == 0 {
			l.Started(at, 10+6*rng.IntN(2))
		}
	}
	if g := l.Gates(); g != nil {
		t.Errorf("gates were found: %v", g.Coarse(0))
	}
}

// TestLearnersGoOnTheSame proves that learners that were saved and restored during a fit continue like those that were
// not, byte for byte, and that a fit takes effect after a fixed number of situations.
func TestLearnersGoOnTheSame(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	plain, l := rules.NewLearners(false, 2), rules.NewLearners(false, 2)
	restored, changes := 0, 0
	for id := range uint64(1200) {
		s := random(rng)
		log := waittime.Log(solve(s, &rules.Priority{LogLimit: 1, LogProcs: .5}))
		for _, each := range []*rules.Learners{plain, l} {
			each.Submitted("pool", id, func() *rules.Situation { c := *s; return &c })
		}
		if a, b := plain.Started(id, log, nil), l.Started(id, log, nil); a != b {
			t.Fatalf("job %d: changed is %v, and after a restore %v", id, a, b)
		} else if a {
			changes++
		}
		if id%23 == 5 { // a fit runs during 30 jobs
			data := saved(l)
			if !bytes.Equal(data, saved(plain)) {
				t.Fatalf("job %d: the saved states differ", id)
			}
			l.Close()
			l = rules.NewLearners(false, 2)
			c := &codec.Codec{Reader: codec.Reader{Rest: data}, Reading: true}
			if l.Code(c); c.Bad || len(c.Rest) > 0 {
				t.Fatalf("job %d: the saved state cannot be read", id)
			}
			restored++
		}
	}
	defer plain.Close()
	defer l.Close()
	if a, b := plain.InForce("pool"), l.InForce("pool"); a == nil || *a != *b {
		t.Errorf("in force are %+v and after restores %+v", a, b)
	}
	if a, b := plain.Known("pool"), l.Known("pool"); a.Evidence == nil || !reflect.DeepEqual(a, b) {
		t.Errorf("known are %+v and after restores %+v", a, b)
	}
	if restored < 5 || changes < 3 {
		t.Errorf("%d restores, %d changes: too few", restored, changes)
	}
}

func saved(l *rules.Learners) []byte {
	c := &codec.Codec{}
	l.Code(c)
	return c.Writer
}

// TestCopiesLearnForThemselves proves that learners and their copy, which share a submission, each learn the wait that
// is reported to them.
func TestCopiesLearnForThemselves(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	submitted := func(l *rules.Learners, s *rules.Situation) {
		for id := range uint64(3) { // one of three becomes a situation
			l.Submitted("pool", id, func() *rules.Situation { c := *s; return &c })
		}
	}
	started := func(l *rules.Learners, log float64) {
		for id := range uint64(3) {
			l.Started(id, log, nil)
		}
	}
	s := random(rng)
	original, copied, alone := rules.NewLearners(false, 2), rules.NewLearners(false, 2), rules.NewLearners(false, 2)
	submitted(original, s)
	submitted(alone, s)
	copied.Share(original)
	started(original, 5)
	started(alone, 5)
	started(copied, 7)
	if !bytes.Equal(saved(original), saved(alone)) {
		t.Error("the original has learnt what its copy was told")
	}
	if bytes.Equal(saved(copied), saved(alone)) {
		t.Error("the copy has learnt what the original was told")
	}
}
