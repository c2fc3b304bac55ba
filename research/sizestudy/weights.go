package sizestudy

import (
	"context"
	"math"

	"github.com/waitcast/waitcast/predictor/advice"
)

// Weights are candidates for the weights base and waiting of advice.Considerate, and for a third weight that is not
// used there. The price of a processor-hour, in hours, is (Base + Waiting x number of waiting jobs + Lately x recent
// mean of that number) / processors of the machine.
type Weights struct{ Base, Waiting, Lately float64 }

// Chosen returns the weights that advice.Considerate uses.
func Chosen() Weights { return Weights{10, 4, 0} }

// Objective returns the objective with these weights, for Settings.
func (w Weights) Objective(q Queue) advice.Objective {
	price := (w.Base + w.Waiting*float64(q.Waiting) + w.Lately*q.Mean) / float64(q.Machine)
	return advice.Objective{Kind: advice.Cost, Hour: 1, ProcHour: price}
}

// Trial has the results with some weights on the first halves of the traces.
type Trial struct {
	Weights
	// Submit and Head are mean turnarounds divided by those with the users' own requests: Submit if all jobs ask at
	// their submission, Head if all jobs ask once at the head of the queue. They are geometric means over traces, loads
	// and seeds.
	Submit, Head float64
	Regret       float64 // median of Regret.Share on the first half of the first trace
}

// Score returns the value to minimize: the geometric mean of Submit and Head.
func (t *Trial) Score() float64 { return math.Sqrt(t.Submit * t.Head) }

// Try returns a trial of each of the weights, on the first halves of the grid's traces. Part and Choices of the grid
// are ignored.
func (g Grid) Try(ctx context.Context, weights []Weights) ([]Trial, error) {
	g.Part, g.Choices = FirstHalf, nil
	for _, w := range weights {
		g.Choices = append(g.Choices, Choice{Rule: AtSubmit, Share: 1, Objective: w.Objective},
			Choice{Rule: AtHead, Share: 1, Once: true, Objective: w.Objective})
	}
	cells, err := g.Run(ctx)
	if err != nil {
		return nil, err
	}
	trials := make([]Trial, len(weights))
	for i := range cells {
		logs := 0.
		for _, o := range cells[i].Outcomes {
			logs += math.Log(1+o.Change) / float64(len(cells[i].Outcomes))
		}
		t, k := &trials[i%len(g.Choices)/2], i%2
		if k == 0 {
			t.Submit += logs
		} else {
			t.Head += logs
		}
	}
	n := float64(len(cells) / len(g.Choices))
	half, err := g.Traces[0].Make(FirstHalf, 0, 0, 0, g.Model)
	if err != nil {
		return nil, err
	}
	for i, w := range weights {
		t := &trials[i]
		t.Weights, t.Submit, t.Head = w, math.Exp(t.Submit/n), math.Exp(t.Head/n)
		regrets, err := half.Regrets(0, w.Objective)
		if err != nil {
			return nil, err
		}
		t.Regret = Summarize(regrets).Median
	}
	return trials, nil
}

// Best returns two of the trials. best is the one with the lowest score among those whose median regret is below the
// bound regret. serve is the one whose weights should be used: it has the lowest regret among those whose score is at
// most (1 + within) times the score of best. ok is false if no trial has a regret below the bound.
func Best(trials []Trial, regret, within float64) (best, serve Trial, ok bool) {
	for _, t := range trials {
		if t.Regret < regret && (!ok || t.Score() < best.Score()) {
			best, ok = t, true
		}
	}
	serve = best
	for _, t := range trials {
		if t.Score() <= best.Score()*(1+within) && t.Regret < serve.Regret {
			serve = t
		}
	}
	return best, serve, ok
}
