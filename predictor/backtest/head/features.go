package head

import (
	"cmp"
	"math"
	"slices"

	"github.com/waitcast/waitcast/predictor/headqueue"
	"github.com/waitcast/waitcast/predictor/residual"
)

// holder is a running job with the data from which features are computed. All times are in seconds; those of the future
// are counted from now.
type holder struct {
	job               *Job
	age               float64
	law               residual.Law
	low, median, high float64 // quartiles of the residual lifetime
	rest              float64 // time to the limit; without a limit, the 0.95 quantile of the residual lifetime
	downey            headqueue.Lifetime
	sharesUser        bool
}

// scene has the data that all methods use for one forecast.
type scene struct {
	ask
	holders []holder
	order   []int
	known   bool // true if Downey's law exists for every running job
}

// set replaces the scene by that of the ask a, and computes the data of all running jobs.
func (s *scene) set(a *ask, m *residual.Model, d *downey) {
	s.ask = *a
	if cap(s.holders) < len(a.running) {
		s.holders = make([]holder, len(a.running), 2*len(a.running))
	}
	s.holders = s.holders[:len(a.running)]
	s.known = true
	for i, j := range a.running {
		h := &s.holders[i]
		h.job, h.age = j, a.at-j.Start
		m.LawInto(&h.law, j.Job, a.at)
		tail := h.law.Tail(h.age)
		h.low, h.median, h.high = h.law.Draw(h.age, tail, .25), h.law.Draw(h.age, tail, .5),
			h.law.Draw(h.age, tail, .75)
		h.rest = h.law.Draw(h.age, tail, .95)
		if j.Limit > 0 {
			h.rest = max(0, j.Limit-h.age)
		}
		h.sharesUser = j.User != "" && j.User == a.job.User
		h.downey = d.of(j)
		s.known = s.known && h.downey != nil
	}
}

// plan returns the time at which enough processors are free, if every running job ends at the time that the argument
// ends gives for it. It also returns the job whose end is the last that is needed. It returns +Inf and nil if all
// running jobs together do not have enough.
func (s *scene) plan(ends func(*holder) float64) (float64, *holder) {
	s.order = s.order[:0]
	for i := range s.holders {
		s.order = append(s.order, i)
	}
	slices.SortStableFunc(s.order, func(a, b int) int {
		return cmp.Compare(ends(&s.holders[a]), ends(&s.holders[b]))
	})
	freed := 0
	for _, i := range s.order {
		h := &s.holders[i]
		if freed += h.job.Procs; freed >= s.need {
			return ends(h), h
		}
	}
	return math.Inf(1), nil
}

// delta is the number of seconds that logOf adds. Waits below it hardly differ on the learner's scale.
const delta = 5

// logOf converts seconds to the logarithmic scale of the learner.
func logOf(seconds float64) float64 { return math.Log(seconds + delta) }

func unlog(x float64) float64 { return max(0, math.Exp(x)-delta) }

// features appends the features for the trees to row. exact has the quantiles of the exact method with the residual
// laws. classic has the medians of the four methods with Downey's laws. A missing feature is NaN.
func (s *scene) features(row, exact, classic []float64) []float64 {
	for _, q := range exact {
		row = append(row, logOf(q))
	}
	row = append(row, logOf(exact[len(exact)-1])-logOf(exact[0]))
	for _, q := range classic {
		row = append(row, logOf(q))
	}
	low, _ := s.plan(func(h *holder) float64 { return h.low })
	high, _ := s.plan(func(h *holder) float64 { return h.high })
	byLimit, _ := s.plan(func(h *holder) float64 { return h.rest })
	middle, critical := s.plan(func(h *holder) float64 { return h.median })
	row = append(row, logOf(low), logOf(middle), logOf(high), logOf(byLimit))
	row = appendHolder(row, critical)
	row = s.crowd(row)
	day := math.Mod(s.at, 86400) / 3600
	return append(row, float64(s.need), float64(s.free), float64(s.job.Procs), float64(len(s.holders)),
		float64(s.need)/float64(max(1, s.used())), logOf(s.at-s.lastEnd), logOf(max(0, s.at-s.lastStart)), day,
		math.Mod(math.Floor(s.at/86400), 7))
}

// crowd appends features of all running jobs together: of the job that will probably end first, of the largest job, and
// of the jobs that are so large that the end of one of them would suffice; then the share of the used processors that
// the asking user has, and the highest age.
func (s *scene) crowd(row []float64) []float64 {
	next, soonest := math.Inf(1), (*holder)(nil)
	widest, benefactors, least := (*holder)(nil), 0.0, math.Inf(1)
	own, oldest := 0.0, 0.0
	for i := range s.holders {
		h := &s.holders[i]
		oldest = max(oldest, h.age)
		if h.sharesUser {
			own += float64(h.job.Procs)
		}
		if h.median < next {
			next, soonest = h.median, h
		}
		if widest == nil || h.job.Procs > widest.job.Procs {
			widest = h
		}
		if h.job.Procs >= s.need {
			benefactors++
			least = min(least, h.median)
		}
	}
	row = appendHolder(row, soonest)
	row = appendHolder(row, widest)
	return append(row, benefactors, logOf(least), own/float64(max(1, s.used())), logOf(oldest))
}

// appendHolder appends the features of one running job to row, NaN if h is nil.
func appendHolder(row []float64, h *holder) []float64 {
	if h == nil {
		nan := math.NaN()
		return append(row, nan, nan, nan, nan, nan, nan)
	}
	return append(row, logOf(h.age), logOf(h.median), logOf(h.high)-logOf(h.low), logOf(h.rest),
		float64(h.job.Procs), h.law.Runs)
}
