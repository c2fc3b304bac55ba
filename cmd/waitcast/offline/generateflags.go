package offline

// GenerateFlags are the flags of "waitcast generate".
type GenerateFlags struct {
	Model, Set, params, From, Arrivals string
	form, rules, limits                string
	noLimits                           bool
	Jobs                               int64
	procs                              int
	load                               loadFlag
	choice                             selection
	seed                               seed
	live                               liveFlags
}

// liveFlags are the flags of "waitcast generate" that require --live.
type liveFlags struct {
	on                     bool
	queue, cluster, format string
	hours                  float64
}
