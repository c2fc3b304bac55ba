package coverage

import (
	"math"
	"math/rand/v2"
	"testing"
)

// forecastJob is one job of a simulated queue with its forecast.
type forecastJob struct {
	submit, wait float64 // wait is the wait if nobody cancels the job
	patience     float64 // the wait after which the job would be cancelled; +Inf: never
	q            float64
}

// growing simulates a queue that outgrows its capacity. Jobs come at random, a fifth more than the machine can run. The
// next job to start is drawn at random among the waiting ones, so some start early and others are overtaken again and
// again. The forecast is a fixed multiple of the time that the machine needs for the waiting jobs. Cancellations are
// independent of the waits and do not change the queue, so every wait is known in the end.
func growing(seed uint64, jobs int, patience float64) []forecastJob {
	rng := rand.New(rand.NewPCG(seed, 7))
	const between, service = 50., 60.
	out := make([]forecastJob, jobs)
	var waiting []int
	now, free, next := 0., 0., 0
	arrive := make([]float64, jobs)
	for i := range arrive {
		now += rng.ExpFloat64() * between
		arrive[i] = now
	}
	for started := 0; started < jobs; {
		for next < jobs && (arrive[next] <= free || len(waiting) == 0) {
			q := math.Ceil(float64(len(waiting)) * service * .7)
			out[next] = forecastJob{submit: arrive[next], q: q, patience: math.Inf(1)}
			if patience > 0 {
				out[next].patience = math.Ceil(rng.ExpFloat64() * patience)
			}
			waiting = append(waiting, next)
			next++
		}
		k := rng.IntN(len(waiting))
		i := waiting[k]
		waiting[k] = waiting[len(waiting)-1]
		waiting = waiting[:len(waiting)-1]
		begin := math.Max(free, out[i].submit)
		out[i].wait = math.Ceil(begin - out[i].submit)
		free = begin + rng.ExpFloat64()*service
		started++
	}
	return out
}

// judge returns the published coverage as of an instant with its counts, and that of the jobs that had started by then
// (naive). It also returns what is known once all waits are over: the coverage of the decided submissions (truth), and
// that of every submission up to the instant (all).
func judge(jobs []forecastJob, asOf float64) (published Interval, plain OutcomeCounts, naive, truth, all float64) {
	var h OutcomeHistogram
	var of, hits, due, dueHits, submitted, allHits float64
	for _, j := range jobs {
		if j.submit > asOf {
			break
		}
		hit := 0.
		if j.wait <= j.q {
			hit = 1
		}
		s := Submission{Age: asOf - j.submit, Waited: math.Min(j.wait, j.patience), Started: j.wait <= j.patience}
		o, age := s.Judge(j.q, 1)
		h.Add(o, age)
		if o != Undecided {
			due, dueHits = due+1, dueHits+hit
		}
		if !s.Waits() && s.Started {
			of, hits = of+1, hits+hit
		}
		submitted, allHits = submitted+1, allHits+hit
	}
	return h.Interval(), h.Counts(), hits / of, dueHits / due, allHits / submitted
}

// TestGrowingQueueFlattersTheNaiveCoverage proves that while waits grow steadily, the coverage of the started jobs is
// too high, because jobs with long waits have not started. The published coverage is exactly the true coverage of the
// decided submissions, and close to that of all submissions.
func TestGrowingQueueFlattersTheNaiveCoverage(t *testing.T) {
	var naiveBias, bias float64
	const seeds = 20
	for seed := range uint64(seeds) {
		jobs := growing(seed, 4000, 0)
		if late, early := mean(jobs[3500:]), mean(jobs[100:600]); late < 3*early {
			t.Fatalf("seed %d: waits grow from %g to %g s only", seed, early, late)
		}
		asOf := jobs[2500].submit
		published, counts, naive, truth, all := judge(jobs, asOf)
		if math.Abs(published.High-truth) > 1e-12 || counts.Censored != 0 {
			t.Errorf("seed %d: published %.4f, in the end %.4f", seed, published.High, truth)
		}
		naiveBias += (naive - all) / seeds
		bias += (published.High - all) / seeds
	}
	if naiveBias < .03 || math.Abs(bias) > naiveBias/3 {
		t.Errorf("the naive coverage is off by %+.3f, the published one by %+.3f", naiveBias, bias)
	}
	t.Logf("naive %+.3f, published %+.3f", naiveBias, bias)
}

func mean(jobs []forecastJob) float64 {
	sum := 0.
	for _, j := range jobs {
		sum += j.wait
	}
	return sum / float64(len(jobs))
}

// TestCancelledJobsAreWeighted proves that if jobs are cancelled independently of their waits, leaving out the
// cancelled ones also gives too high a coverage. The weighted coverage is that of the waits without cancellations.
func TestCancelledJobsAreWeighted(t *testing.T) {
	var plainBias, bias, censored float64
	const seeds = 20
	for seed := range uint64(seeds) {
		jobs := growing(100+seed, 4000, 20000)
		published, counts, _, truth, _ := judge(jobs, jobs[3000].submit)
		plainBias += (counts.Interval().High - truth) / seeds
		bias += (published.High - truth) / seeds
		censored += float64(counts.Censored) / float64(counts.Decided()) / seeds
	}
	if censored < .1 || plainBias < .03 || math.Abs(bias) > .008 {
		t.Errorf("with %.3f censored, unweighted is off by %+.4f, weighted by %+.4f", censored, plainBias, bias)
	}
	t.Logf("censored %.3f, unweighted %+.4f, weighted %+.4f", censored, plainBias, bias)
}
