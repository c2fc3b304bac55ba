package study

import "github.com/waitcast/waitcast/workload/shake"

// Group has the rows of one policy with one kind of estimates at one load: those of the trace itself and of its
// shaken copies.
type Group struct {
	Policy    string  `json:"policy"`
	Estimates string  `json:"estimates"`
	Load      float64 `json:"load_asked"`
	Offered   float64 `json:"load_offered"`
	Saturated bool    `json:"saturated"` // true if the machine is saturated by the trace itself
	MeanWait  float64 `json:"mean_wait_seconds"`
	Bounded   float64 `json:"mean_bounded_slowdown"`
	// Shaken compares the results of the shaken copies with the result of the trace itself. It is nil without shakes.
	// Its Wait is nil if no job of the trace waits.
	Shaken *Shaken `json:"shaken,omitempty"`
}

// Shaken summarizes shaken runs: the mean wait in seconds and the mean bounded slowdown.
type Shaken struct {
	Wait    *shake.Summary `json:"mean_wait_seconds,omitempty"`
	Bounded *shake.Summary `json:"mean_bounded_slowdown,omitempty"`
}

// Groups summarizes the rows of a whole study, in the study's order.
func Groups(rows []Row) []Group {
	var out []Group
	var waits, bounded []float64
	end := func() {
		if len(waits) > 0 && len(out) > 0 {
			g := &out[len(out)-1]
			g.Shaken = &Shaken{summarize(g.MeanWait, waits), summarize(g.Bounded, bounded)}
		}
		waits, bounded = nil, nil
	}
	for _, r := range rows {
		if r.Shake > 0 {
			waits, bounded = append(waits, r.MeanWait), append(bounded, r.Bounded)
			continue
		}
		end()
		out = append(out, Group{
			Policy: r.Policy, Estimates: r.Estimates, Load: r.Load, Offered: r.Offered, Saturated: r.Saturated,
			MeanWait: r.MeanWait, Bounded: r.Bounded,
		})
	}
	end()
	return out
}

// summarize returns nil if there are no results, or if the original is 0.
func summarize(original float64, results []float64) *shake.Summary {
	s, err := shake.Summarize(original, results)
	if err != nil {
		return nil
	}
	return &s
}
