package offline

// GenerateFlags are those of waitcast generate.
type GenerateFlags struct {
	Model, Set, params, From, Arrivals string
	Jobs                               int64
	procs                              int
	choice                             selection
	seed                               seed
	live                               liveFlags
}

// liveFlags are those of waitcast generate that go with --live.
type liveFlags struct {
	on                     bool
	queue, cluster, format string
	hours                  float64
}
