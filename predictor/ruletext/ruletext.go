package ruletext

import (
	"github.com/waitcast/waitcast/predictor/engine/pools"
	"github.com/waitcast/waitcast/predictor/engine/rules"
)

// Rules describe the known rules by which the jobs of a pool start. They are immutable.
type Rules struct {
	pools.StartRules
	// Words are the rules as sentences, beginning with those about the order of starts.
	Words []string
	// Effects are the attributes by which the fitted priority lets a younger job go first, the strongest first. They
	// are nil if no fitted priority is better than first come, first served.
	Effects []Effect
	// Times are the times at which jobs of some time limits hardly ever start, by rising limits.
	Times []Times
}

// Of returns the rules of a pool in words. shift converts the engine's instants to the site's clock: added to an
// instant, it gives the seconds since Thursday, 1970-01-01 by that clock.
func Of(r pools.StartRules, shift float64) *Rules {
	return new(Writer).Write([]pools.StartRules{r}, shift)[r]
}

// Writer describes rules in words. It does so again only for rules that have changed. The zero Writer is ready for
// use. It is not safe for concurrent use.
type Writer struct {
	shift   float64
	summary *rules.GateSummary
	times   []Times // times of the summary
	written map[pools.StartRules]*Rules
}

// Write returns the rules of some pools in words, see Of. Later calls do not change the result.
func (w *Writer) Write(all []pools.StartRules, shift float64) map[pools.StartRules]*Rules {
	if shift != w.shift {
		*w = Writer{shift: shift}
	}
	out := make(map[pools.StartRules]*Rules, len(all))
	for _, r := range all {
		if out[r] = w.written[r]; out[r] == nil {
			out[r] = w.write(r)
		}
	}
	w.written = out
	return out
}

func (w *Writer) write(r pools.StartRules) *Rules {
	out := &Rules{StartRules: r}
	if r.Source != pools.PolicyConfigured && r.Source != pools.PolicyPriorities && better(&r.Order) {
		out.Effects = effects(r.Order.Evidence)
	}
	if g := r.Gates.Summary; g != w.summary {
		w.summary, w.times = g, timesOf(g, w.shift)
	}
	out.Times = w.times
	out.Words = append(orderWords(out), timesWords(out)...)
	return out
}

// leastGain decides whether an order is shown. Its loss must be lower than that of first come, first served by at least
// this share of the latter.
const leastGain = .02

// better reports whether an order was fitted that forecasts waits better than first come, first served.
func better(o *rules.Known) bool {
	e := o.Evidence
	return o.Priority != nil && e != nil && e.FirstCome > 0 && e.Loss <= (1-leastGain)*e.FirstCome
}
