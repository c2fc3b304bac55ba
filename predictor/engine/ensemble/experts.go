package ensemble

// These are the experts, by number.
const (
	Trees = iota
	LinearOnline
	Simulation
	QbetsBound
	Limits
	RecentWaits
	UserLast
	DowneyCombined
	Exact
	Corrected
	TreesRecent
	Count
)

// Names returns the names of the experts in the order of their numbers. They are:
//
//   - the quantile trees;
//   - the linear online quantiles;
//   - the forward simulation;
//   - QBETS;
//   - the plan from the time limits;
//   - the quantiles of the newest waits of similar jobs;
//   - the user's last wait;
//   - Downey's combined predictor and the exact distribution that he considered infeasible, both extended to the jobs
//     ahead under strict first come, first served;
//   - the simulation corrected by its newest errors;
//   - quantile trees that weight the newest waits most.
func Names() []string {
	return []string{"trees", "linear", "simulation", "qbets", "limits", "recent", "user_last", "downey_combined",
		"exact", "simulation_corrected", "trees_recent"}
}

// priors are the experts' initial weights. The trees, which give no forecast before they are trained, are usually the
// best by far.
func priors() []float64 { return []float64{20, .2, 2, 1, .2, 1, .2, .2, .2, 20, 20} }
