package outlook

import (
	"math"

	"github.com/waitcast/waitcast/job/waittime"
)

// mean is a running mean. At first it is a plain mean. Later it is an exponential mean over about as many values as
// the memory that is passed to add.
type mean struct{ N, Mean float64 }

func (m *mean) add(x, memory float64) {
	m.N = min(m.N+1, memory)
	m.Mean += (x - m.Mean) / m.N
}

// scoreMemory is the number of outcomes over which scores are averaged.
const scoreMemory = 10_000

// Methods are the names of the scored methods: the served forecast, the uncorrected replicas, the present value, and
// the value a week before the horizon's instant. For arrivals the present value is the number that arrived before
// the forecast, within a time as long as the horizon.
func Methods() []string { return []string{"waitcast", "simulation", "persistence", "last_week"} }

const methods = 4

// Score has the scores of the forecasts of a series at a horizon.
type Score struct {
	// Queues is false for the scores of the cluster, and true for those of all queues together.
	Queues  bool
	Series  Series
	Horizon float64 // seconds
	N       float64 // number of outcomes, at most 10,000; about so many of the latest count
	// Pinball are the mean losses, by method (as in Methods) and level. The scale is ln(1 + jobs), ln(1 + work in
	// minutes of the machine), or the utilization.
	Pinball [methods][levels]float64
	// Below and Above are the shares of outcomes below and above the band from the first level to the last.
	Below, Above float64
}

// Mean returns a method's mean loss over the levels.
func (s *Score) Mean(method int) float64 {
	sum := 0.
	for _, x := range s.Pinball[method] {
		sum += x / levels
	}
	return sum
}

// scoreSums has the running means of a Score.
type scoreSums struct {
	Loss         [methods][levels]mean
	Below, Above mean
}

// add adds an outcome. It ignores an outcome if the present value, last week's value or the value of the replicas is
// unknown.
func (t *scoreSums) add(r *row, y float64) {
	if math.IsNaN(r.Own[0]) || math.IsNaN(r.Own[1]) || math.IsNaN(r.Own[ownQuantiles]) {
		return
	}
	for l, p := range Levels() {
		for m, q := range [methods]float64{r.Served[l], r.Own[ownQuantiles+l], r.Own[0], r.Own[1]} {
			t.Loss[m][l].add(waittime.Pinball(p, q, y), scoreMemory)
		}
	}
	below, above := outside(r.Served, y)
	t.Below.add(below, scoreMemory)
	t.Above.add(above, scoreMemory)
}

// Scores returns the scores of the cluster, then those of the queues, by horizon and series. All are scores of
// forecasts that were made before their outcome was known.
func (f *Forecaster) Scores() []Score {
	var out []Score
	for c := range f.s.Scores {
		for k, h := range f.options.Horizons {
			for s := range seriesCount {
				t := &f.s.Scores[c][k*int(seriesCount)+int(s)]
				one := Score{Queues: c == 1, Series: s, Horizon: h, N: t.Below.N, Below: t.Below.Mean,
					Above: t.Above.Mean}
				for m := range t.Loss {
					for l := range t.Loss[m] {
						one.Pinball[m][l] = t.Loss[m][l].Mean
					}
				}
				out = append(out, one)
			}
		}
	}
	return out
}

// ArrivalScores returns the mean pinball losses of the models of arrivals, in the order of ArrivalModels, and the model
// in use. A model's loss is the mean over jobs and work, and over all horizons. A loss is NaN before it is known.
func (f *Forecaster) ArrivalScores() (losses [arrivalModels]float64, used string) {
	for m := range losses {
		losses[m] = math.NaN()
		if f.s.Models[m].N > 0 {
			losses[m] = f.s.Models[m].Mean
		}
	}
	return losses, ArrivalModels()[f.model()]
}
