package ensemble

// The experts, by number.
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

// Names returns the names of the experts in the order of their numbers: the quantile trees, the linear online
// quantiles, the forward simulation, QBETS, the plan from the time limits, the quantiles of the newest waits of such
// jobs, the user's last wait, and Downey's combined predictor and the exact distribution that he thought not feasible,
// both extended to the jobs that wait ahead (strict first come, first served), the simulation corrected by its newest
// errors, and quantile trees to which the newest waits count most.
func Names() []string {
	return []string{"trees", "linear", "simulation", "qbets", "limits", "recent", "user_last", "downey_combined",
		"exact", "simulation_corrected", "trees_recent"}
}

// priors are the experts' weights before anything is learnt: the trees, which give nothing before they are trained, are
// mostly the best by far.
func priors() []float64 { return []float64{20, .2, 2, 1, .2, 1, .2, .2, .2, 20, 20} }
