package outlook

import (
	"github.com/waitcast/waitcast/predictor/residual"
)

// Forecaster forecasts the load of one cluster. It is not safe for concurrent use.
type Forecaster struct {
	options Options
	laws    *residual.Model
	s       saved
	live    map[uint64]int // place in the ring by ID of a job that waits or runs
	jobs    map[uint64]Job // likewise
	scopes  map[string]int
	streams [arrivalModels]*stream // nil where none could be fitted
}

// saved is what outlives the process, beside the residual model and the jobs that live.
type saved struct {
	Ring       []record
	Next       int
	Queues     []string // by scope from 1; the first is "", those that are not told apart
	Totals     []total  // by scope
	Trail      []loadSample
	Refitted   float64
	Model      int                 // of arrivals, as chosen
	Models     [arrivalModels]mean // their losses
	Correctors [2][]*corrector     // by class, horizon and series
	Shifts     [][]shift           // by scope, horizon and series
	Scores     [2][]scoreSums      // by class, horizon and series
	Awaited    [][]awaited         // by horizon, in order of time
}

// New returns a Forecaster that knows nothing. The error names the option that cannot be.
func New(o Options) (*Forecaster, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	f := &Forecaster{options: o, laws: residual.New(residual.Config{}), live: map[uint64]int{}, jobs: map[uint64]Job{},
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
