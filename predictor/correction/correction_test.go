package correction

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

func levels() []float64 { return []float64{.1, .25, .5, .75, .9, .95} }

// world draws waits from a known law given the state at the submission: an atom at 0, and otherwise ln(wait) is normal.
type world struct {
	rng           *rand.Rand
	now, mu, atom float64
	sigma         float64
	waitLaw       distuv.LogNormal
	burst         bool
	i             int
	raw, served   []float64
}

func newWorld(seed uint64) *world {
	return &world{rng: rand.New(rand.NewPCG(seed, 7)), sigma: 1, mu: 8, raw: make([]float64, 6),
		served: make([]float64, 6)}
}

// next moves to the next submission. For three hours of each day (the burst) there are ten times as many submissions,
// and the queue grows. The law of waits rises in the burst and falls after it.
func (w *world) next() {
	gap := 600.0
	w.mu, w.burst = 7, false
	if math.Mod(w.now, 86400) < 3600*3 {
		w.mu, w.burst = 9, true
		gap = 60
	}
	w.now += w.rng.ExpFloat64() * gap
	w.waitLaw = distuv.LogNormal{Mu: w.mu, Sigma: w.sigma}
	w.i++
}

func (w *world) quantile(p float64) float64 {
	if p <= w.atom {
		return 0
	}
	return w.waitLaw.Quantile((p - w.atom) / (1 - w.atom))
}

func (w *world) wait() float64 {
	if w.rng.Float64() < w.atom {
		return 0
	}
	return math.Ceil(w.waitLaw.Quantile(w.rng.Float64()))
}

// ending is a future start or cancellation.
type ending struct {
	at     float64
	id     int64
	cancel bool
}

// agenda holds the future endings in order of time. It is small, so a sorted slice is enough.
type agenda []ending

func (a *agenda) add(e ending) {
	i := len(*a)
	*a = append(*a, e)
	for ; i > 0 && (*a)[i-1].at < e.at; i-- {
		(*a)[i] = (*a)[i-1]
	}
	(*a)[i] = e
}

func (a *agenda) until(now float64, c *Correction) {
	for n := len(*a); n > 0 && (*a)[n-1].at < now; n = len(*a) {
		e := (*a)[n-1]
		*a = (*a)[:n-1]
		if e.cancel {
			c.Cancelled(e.id, e.at)
		} else {
			c.Started(e.id, e.at)
		}
	}
}

func mustNew(t testing.TB, cfg Config) *Correction {
	t.Helper()
	if cfg.Levels == nil {
		cfg.Levels = levels()
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestNoBiasWhereQueuesGrow proves that nothing narrows as a queue grows. Under right forecasts the correction does not
// move, on average, from the start of a burst of submissions to the submissions within it, although outcomes come late
// and short waits come first. An account that counts hits and misses as they come fails the same test. The served
// forecasts are the right ones: the account is observed but not used.
func TestNoBiasWhereQueuesGrow(t *testing.T) {
	{
		c := mustNew(t, Config{})
		w := newWorld(3)
		var todo agenda
		naive := naiveAccount{rate: .01}
		var ours, theirs [6]drift
		day := -1.0
		for i := range int64(200000) {
			w.next()
			todo.until(w.now, c)
			c.Advance(w.now)
			naive.until(w.now)
			for l, p := range levels() {
				w.raw[l] = w.quantile(p)
				fresh := math.Floor(w.now/86400) != day
				ours[l].add(c.own(0).Shifts[l], fresh, w.burst)
				theirs[l].add(naive.beta[l], fresh, w.burst)
			}
			day = math.Floor(w.now / 86400)
			wait := w.wait()
			c.Watch(i, w.now, Job{}, w.raw, w.raw)
			todo.add(ending{at: w.now + wait, id: i})
			for l, p := range levels() {
				naive.add(l, p, w.now, wait, w.raw[l])
			}
		}
		for l, p := range levels() {
			mean, se := ours[l].mean()
			other, otherSE := theirs[l].mean()
			t.Logf("level %g: %+.4f (%.4f), counted as they come %+.4f (%.4f)", p, mean, se,
				other, otherSE)
			if math.Abs(mean) > 4*se {
				t.Errorf("level %g: the correction moves by %+.4f within bursts, standard error %.4f", p, mean, se)
			}
			if p > .2 && p < .9 && other > -8*otherSE {
				t.Errorf("level %g: outcomes counted as they come move it by %+.4f only: the test shows nothing", p,
					other)
			}
		}
	}
}

// drift averages, over days, the signed difference between a shift within a burst and the shift at the day's first
// submission.
type drift struct {
	first, sum, n    float64
	days, total, sqr float64
}

func (d *drift) add(shift float64, fresh, within bool) {
	if fresh {
		if d.n > 0 {
			m := d.sum / d.n
			d.days, d.total, d.sqr = d.days+1, d.total+m, d.sqr+m*m
		}
		d.first, d.sum, d.n = shift, 0, 0
	}
	if within {
		d.sum, d.n = d.sum+shift-d.first, d.n+1
	}
}

func (d *drift) mean() (mean, se float64) {
	mean = d.total / d.days
	return mean, math.Sqrt((d.sqr/d.days - mean*mean) / d.days)
}

type naiveAccount struct {
	rate float64
	beta [6]float64
	todo [6]agenda
	step [6]map[int64]float64
	n    int64
}

func (a *naiveAccount) add(l int, p, now, wait, q float64) {
	if a.step[l] == nil {
		a.step[l] = map[int64]float64{}
	}
	a.n++
	at, d := now+q, p
	if wait <= q {
		at, d = now+wait, p-1
	}
	a.todo[l].add(ending{at: at, id: a.n})
	a.step[l][a.n] = d
}

func (a *naiveAccount) until(now float64) {
	for l := range a.todo {
		for n := len(a.todo[l]); n > 0 && a.todo[l][n-1].at < now; n = len(a.todo[l]) {
			e := a.todo[l][n-1]
			a.todo[l] = a.todo[l][:n-1]
			a.beta[l] += a.rate * a.step[l][e.id]
			delete(a.step[l], e.id)
		}
	}
}

// TestObserve proves that what levels earn is 0 on average if the forecast is right, also when it is summed while half
// of the jobs wait, and below 0 if waits are longer. Every decided level is reported once.
func TestObserve(t *testing.T) {
	for _, longer := range []float64{1, 1.5} {
		rng := rand.New(rand.NewPCG(21, 21))
		levels := []float64{.25, .5, .9}
		c := mustNew(t, Config{Levels: levels})
		sum, decided := 0.0, 0
		c.Observe(func(queue string, earned float64, done bool) {
			if queue != "a" {
				t.Fatalf("queue %q", queue)
			}
			sum += earned
			if done {
				decided++
			}
		})
		var coming agenda
		const jobs, mean = 20_000, 1000.
		q := make([]float64, len(levels))
		for i, p := range levels { // quantiles of an exponential wait
			q[i] = -mean * math.Log(1-p)
		}
		for i := range int64(jobs) {
			now := float64(i)
			coming.until(now, c)
			c.Watch(i, now, Job{Queue: "a"}, q, q)
			coming.add(ending{at: now + mean*longer*rng.ExpFloat64(), id: i})
		}
		// the deviation of the sum of a job's scores at three fully correlated levels is at most 3
		if limit := 4 * 3 * math.Sqrt(jobs); longer == 1 && math.Abs(sum) > limit {
			t.Errorf("right forecasts earn %v in %d jobs, want less than %.0f to either side", sum, jobs, limit)
		} else if longer > 1 && sum > -limit {
			t.Errorf("waits that are longer earn %v, want clearly below 0", sum)
		}
		if decided < 3*(jobs-10*mean) || decided > 3*jobs {
			t.Errorf("%v levels decided of %d jobs", decided, jobs)
		}
	}
}
