package outlook

import (
	"github.com/waitcast/waitcast/predictor/residual"
)

// Forecaster forecasts the load of one cluster. It is not safe for concurrent use.
type Forecaster struct {
	options Options
	laws    *residual.Model
	s       saved
	live    map[uint64]int // index in the ring, by ID of a waiting or running job
	jobs    map[uint64]Job // by the same ID
	scopes  map[string]int
	streams [arrivalModels]*stream // nil if none could be fitted
}

// saved is the saved state, except the residual model and the live jobs.
type saved struct {
	Ring       []record
	Next       int
	Queues     []string // names by scope from 1; the first is "", for the queues that are not distinguished
	Totals     []total  // by scope
	Trail      []loadSample
	Refitted   float64
	Model      int                 // index of the chosen model of arrivals
	Models     [arrivalModels]mean // losses of the models
	Correctors [2][]*corrector     // by class, horizon and series
	Shifts     [][]shift           // by scope, horizon and series
	Scores     [2][]scoreSums      // by class, horizon and series
	Awaited    [][]awaited         // by horizon, in order of time
}

// New returns a new Forecaster. The error names the invalid option.
func New(o Options) (*Forecaster, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	laws := residual.New(residual.Config{Users: o.Users})
	f := &Forecaster{options: o, laws: laws, live: map[uint64]int{}, jobs: map[uint64]Job{},
		scopes: map[string]int{}}
	f.s.Totals = []total{{}}
	f.addQueue("")
	f.s.Model = resampledUsers
	n := len(o.Horizons) * int(seriesCount)
	f.s.Awaited = make([][]awaited, len(o.Horizons))
	for c := range f.s.Correctors {
		f.s.Scores[c] = make([]scoreSums, n)
		for range n {
			one, err := newCorrector()
			if err != nil {
				return nil, err
			}
			f.s.Correctors[c] = append(f.s.Correctors[c], one)
		}
	}
	return f, nil
}
