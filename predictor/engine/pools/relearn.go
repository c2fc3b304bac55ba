package pools

// replicas is the number of futures of a forecast at a submission, and the maximum number of futures of a table.
const replicas = 24

// relearn is the number of starts after which the learnt pools and policies are taken over again.
const relearn = 250

// relearn counts a start. After every relearn starts it takes over the pools and policies that the learner has found.
func (m *Machine) relearn() {
	if m.Starts++; m.Starts%relearn == 0 {
		m.Learnt = m.PolicyLearner.Old.pools()
		m.regroup()
	}
}

// QuantileOf returns a quantile of sorted values.
func QuantileOf(sorted []float64, level float64) float64 {
	return sorted[orderOf(len(sorted), level)]
}

// orderOf returns the index of a quantile among n sorted values.
func orderOf(n int, level float64) int { return min(n-1, int(level*float64(n))) }
