package correction

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/waitcast/waitcast/predictor/coverage"
)

// growingJob is a job of a queue that outgrows its machine: each second its waits become .3 s longer.
type growingJob struct {
	submit, wait, patience float64
	raw                    []float64 // the forecast
}

// growingJobs returns jobs a minute apart, which wait 30 s at first and 20 h in the end. The forecast lags behind the
// growth by lag seconds, and is right with a lag of 0. With a patience (its mean, in seconds) jobs are cancelled
// independently of their waits.
func growingJobs(seed uint64, n int, lag, patience float64) []growingJob {
	rng := rand.New(rand.NewPCG(seed, 11))
	out, now := make([]growingJob, n), 0.0
	scale := func(at float64) float64 { return math.Log(600 + .3*math.Max(0, at)) }
	for i := range out {
		now += rng.ExpFloat64() * 60
		law := distuv.LogNormal{Mu: scale(now), Sigma: 1}
		said := distuv.LogNormal{Mu: scale(now - lag), Sigma: 1}
		j := growingJob{submit: math.Ceil(now), wait: math.Ceil(law.Quantile(rng.Float64())), patience: math.Inf(1)}
		if patience > 0 {
			j.patience = math.Ceil(rng.ExpFloat64() * patience)
		}
		for _, p := range levels() {
			j.raw = append(j.raw, said.Quantile(p))
		}
		out[i] = j
	}
	return out
}

// corrector corrects a forecast and learns from the outcomes.
type corrector interface {
	correct(raw, out []float64)
	watch(id int64, submit float64, raw, served []float64)
	advance(now float64)
	started(id int64, at float64)
	cancelled(id int64, at float64)
}

type correcting struct{ *Correction }

func (c correcting) correct(raw, out []float64) { c.Correct(Job{}, raw, out) }
func (c correcting) watch(id int64, submit float64, raw, served []float64) {
	c.Watch(id, submit, Job{}, raw, served)
}
func (c correcting) advance(now float64)            { c.Advance(now) }
func (c correcting) started(id int64, at float64)   { c.Started(id, at) }
func (c correcting) cancelled(id int64, at float64) { c.Cancelled(id, at) }

// atStart is the correction of this package, but it learns hits and misses only when jobs start. It learns nothing
// from a waiting job.
type atStart struct {
	*Correction
	jobs map[int64]growingJob
}

func (c atStart) correct(raw, out []float64) { c.Correct(Job{}, raw, out) }
func (c atStart) watch(id int64, submit float64, _, served []float64) {
	c.jobs[id] = growingJob{submit: submit, raw: append([]float64(nil), served...)}
}
func (c atStart) advance(float64) {}
func (c atStart) started(id int64, at float64) {
	j := c.jobs[id]
	delete(c.jobs, id)
	for l, q := range j.raw {
		by := -c.cfg.Levels[l]
		if at-j.submit <= q {
			by++
		}
		c.own(0).Shifts[l] -= .02 * by
	}
}
func (c atStart) cancelled(id int64, _ float64) { delete(c.jobs, id) }

// grown has coverages of the served forecasts by level, over the last two thirds of the jobs. Unless stated otherwise,
// only submissions up to an instant count.
type grown struct {
	truth     []float64 // share of covered waits of the submissions that were decided at the instant
	everybody []float64 // share of covered waits of all submissions, also later ones
	published []float64 // upper end of the published coverage at the instant
	naive     []float64 // share of covered waits of the jobs that had started by the instant
}

// run passes jobs through a corrector, in the order of events. It returns the coverages of the forecasts of the jobs
// after the first third, at the submission of the job after five sixths of all jobs.
func run(jobs []growingJob, c corrector) grown {
	served := make([][]float64, len(jobs))
	var todo agenda
	until := func(now float64) {
		for n := len(todo); n > 0 && todo[n-1].at < now; n = len(todo) {
			e := todo[n-1]
			todo = todo[:n-1]
			if e.cancel {
				c.cancelled(e.id, e.at)
			} else {
				c.started(e.id, e.at)
			}
		}
	}
	for i, j := range jobs {
		until(j.submit)
		c.advance(j.submit)
		served[i] = make([]float64, len(j.raw))
		c.correct(j.raw, served[i])
		c.watch(int64(i), j.submit, j.raw, served[i])
		todo.add(ending{at: j.submit + math.Min(j.wait, j.patience), id: int64(i), cancel: j.patience < j.wait})
	}
	return turnedOut(jobs[len(jobs)/3:], served[len(jobs)/3:], jobs[len(jobs)*5/6].submit)
}

func turnedOut(jobs []growingJob, served [][]float64, asOf float64) grown {
	var out grown
	for l := range levels() {
		var h coverage.OutcomeHistogram
		var due, dueHits, all, hits, started, startedHits float64
		for i, j := range jobs {
			hit := 0.0
			if j.wait <= math.Ceil(served[i][l]) {
				hit = 1
			}
			all, hits = all+1, hits+hit
			if j.submit > asOf {
				continue
			}
			s := coverage.Submission{Age: asOf - j.submit, Waited: math.Min(j.wait, j.patience),
				Started: j.wait <= j.patience}
			o, age := s.Judge(served[i][l], 1)
			h.Add(o, age)
			if o != coverage.Undecided {
				due, dueHits = due+1, dueHits+hit
			}
			if s.Started && !s.Waits() {
				started, startedHits = started+1, startedHits+hit
			}
		}
		out.truth = append(out.truth, dueHits/due)
		out.everybody = append(out.everybody, hits/all)
		out.published = append(out.published, h.Interval().High)
		out.naive = append(out.naive, startedHits/started)
	}
	return out
}

// add adds the coverages of o, multiplied by share.
func (g *grown) add(o grown, share float64) {
	for _, p := range []struct {
		to   *[]float64
		from []float64
	}{{&g.truth, o.truth}, {&g.everybody, o.everybody}, {&g.published, o.published}, {&g.naive, o.naive}} {
		if *p.to == nil {
			*p.to = make([]float64, len(p.from))
		}
		for l, v := range p.from {
			(*p.to)[l] += v * share
		}
	}
}

// averaged returns the mean coverages over several draws of jobs, each with a fresh corrector.
func averaged(t *testing.T, lag, patience float64, fresh func() corrector) grown {
	t.Helper()
	const seeds, jobs = 10, 4000
	var out grown
	for seed := range uint64(seeds) {
		out.add(run(growingJobs(seed, jobs, lag, patience), fresh()), 1./seeds)
	}
	return out
}

// TestServedAndPublishedCoverageWhereWaitsGrow proves that while waits grow steadily the correction does not move a
// right forecast, because it learns at instants that are fixed at the submission. A correction that learns from starts
// as they come tightens the forecast. The correction removes more than half of the misses of a forecast that lags
// behind. The published coverage is the true one of the decided submissions in each case, although the coverage of the
// started jobs differs.
func TestServedAndPublishedCoverageWhereWaitsGrow(t *testing.T) {
	ours := func() corrector { return correcting{mustNew(t, Config{})} }
	right := averaged(t, 0, 0, ours)
	naive := averaged(t, 0, 0, func() corrector { return atStart{mustNew(t, Config{}), map[int64]growingJob{}} })
	behind := averaged(t, 1e5, 0, ours)
	uncorrected := averaged(t, 1e5, 0, func() corrector { return untouched{} })
	for l, p := range levels() {
		t.Logf("level %g: right %.3f (started jobs %.3f), learnt as starts come %.3f, lagging %.3f, corrected %.3f", p,
			right.everybody[l], right.naive[l], naive.everybody[l], uncorrected.everybody[l], behind.everybody[l])
		if math.Abs(right.everybody[l]-p) > .012 {
			t.Errorf("level %g: a right forecast covers %.3f after the correction", p, right.everybody[l])
		}
		for _, g := range []grown{right, naive, behind, uncorrected} {
			if math.Abs(g.published[l]-g.truth[l]) > 1e-9 {
				t.Errorf("level %g: %.4f is published, the truth is %.4f", p, g.published[l], g.truth[l])
			}
			if p >= .25 && p <= .75 && g.naive[l] < g.truth[l]+.02 {
				t.Errorf("level %g: the coverage of started jobs, %.3f, flatters by nothing", p, g.naive[l])
			}
		}
		if p >= .25 && p <= .75 && naive.everybody[l] > p-.05 {
			t.Errorf("level %g: learning as starts come leaves %.3f: the test shows nothing", p, naive.everybody[l])
		}
		if gap := p - uncorrected.everybody[l]; gap < .03 || p-behind.everybody[l] > gap/2 {
			t.Errorf("level %g: a forecast that lags behind covers %.3f, corrected %.3f", p, uncorrected.everybody[l],
				behind.everybody[l])
		}
	}
}

// TestPublishedCoverageOfCancelledJobsWhereWaitsGrow proves that if jobs are cancelled while waits grow, the published
// coverage, which is weighted, is that of the waits without cancellations. The served levels cover the jobs that start,
// which waited less. The test leaves out the level 0.95, because hardly any quantile of that level has passed by then.
func TestPublishedCoverageOfCancelledJobsWhereWaitsGrow(t *testing.T) {
	right := averaged(t, 0, 1.5e5, func() corrector { return untouched{} })
	started := averaged(t, 0, 1.5e5, func() corrector { return correcting{mustNew(t, Config{})} })
	for l, p := range levels() {
		if p > .9 {
			break
		}
		t.Logf("level %g: right: published %.3f, truth %.3f; corrected: published %.3f, truth %.3f", p,
			right.published[l], right.truth[l], started.published[l], started.truth[l])
		if p >= .5 && p <= .75 && started.truth[l] > right.truth[l]-.02 {
			t.Errorf("level %g: %.3f of the waits there would be are covered where misses are taken back", p,
				started.truth[l])
		}
		for _, g := range []grown{right, started} {
			if math.Abs(g.published[l]-g.truth[l]) > .012 {
				t.Errorf("level %g: %.4f is published, the truth is %.4f", p, g.published[l], g.truth[l])
			}
		}
	}
}

// untouched corrects nothing.
type untouched struct{}

func (untouched) correct(raw, out []float64)                 { copy(out, raw) }
func (untouched) watch(int64, float64, []float64, []float64) {}
func (untouched) advance(float64)                            {}
func (untouched) started(int64, float64)                     {}
func (untouched) cancelled(int64, float64)                   {}
