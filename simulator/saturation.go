package simulator

import (
	"slices"

	"gonum.org/v1/gonum/stat"
)

const week = 7 * 86400

// weeks has, for the beginning of each week since the first event, the number of jobs that are submitted and have not
// ended.
type weeks struct {
	began       bool
	next        float64
	outstanding int
	counts      []int
	submits     int // number of counts up to the last submission; afterwards the number of jobs only falls
}

func (w *weeks) observe(e Event) {
	if !w.began {
		w.began, w.next = true, e.Time
	}
	for e.Time >= w.next {
		w.counts = append(w.counts, w.outstanding)
		w.next += week
	}
	switch e.Kind {
	case Submitted:
		w.outstanding++
		w.submits = len(w.counts)
	case Ended:
		w.outstanding--
	}
}

func (w *weeks) tabulated() []int { return w.counts[:w.submits] }

// Saturation tests whether a machine is saturated: whether jobs come faster than the machine can run them. Its input
// is the number of outstanding jobs (submitted, not ended) at the beginning of each week. It replaces each number by
// the minimum of this and all later numbers, so that a temporary peak does not count as saturation. It drops the last
// fifth, and fits a straight line. If the slope is more than one job per week, the machine is saturated (Zakay and
// Feitelson 2013, section 6.3). With fewer than two remaining weeks there is no result; the returned slope is 0.
func Saturation(weekly []int) (jobsPerWeek float64, saturated bool) {
	least := slices.Clone(weekly)
	for i := len(least) - 2; i >= 0; i-- {
		least[i] = min(least[i], least[i+1])
	}
	least = least[:len(least)-len(least)/5]
	if len(least) < 2 {
		return 0, false
	}
	x, y := make([]float64, len(least)), make([]float64, len(least))
	for i := range least {
		x[i], y[i] = float64(i), float64(least[i])
	}
	_, slope := stat.LinearRegression(x, y, nil, false)
	return slope, slope > 1
}
