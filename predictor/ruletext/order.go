package ruletext

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/waitcast/waitcast/predictor/engine/pools"
	"github.com/waitcast/waitcast/predictor/engine/rules"
	"github.com/waitcast/waitcast/predictor/forward"
)

// Effect is an attribute that lets a younger job go ahead of an otherwise equal older one.
type Effect struct {
	Attribute rules.Attribute
	// More is true if the job with more of the attribute goes first.
	More bool
	// Share is the share of the pairs in which the younger job goes first. Pairs is the number of pairs that count, see
	// rules.Overtakes.
	Share float64
	Pairs int
}

// An effect is shown only if it is based on enough pairs in enough situations, and decides a large enough share of the
// pairs. At most mostEffects are shown.
const (
	leastPairs      = 50
	leastSituations = 20
	leastShare      = .25
	mostEffects     = 3
)

// effects returns the reasons for which a younger job goes first, the strongest first.
func effects(e *rules.Evidence) []Effect {
	var out []Effect
	for a := range rules.Attributes {
		strongest := Effect{Attribute: a}
		for _, more := range []bool{false, true} {
			o := &e.Overtakes[a].Less
			if more {
				o = &e.Overtakes[a].More
			}
			if o.Pairs >= leastPairs && o.Situations >= leastSituations && o.Share() > strongest.Share {
				strongest = Effect{a, more, o.Share(), o.Pairs}
			}
		}
		if strongest.Share >= leastShare {
			out = append(out, strongest)
		}
	}
	slices.SortStableFunc(out, func(a, b Effect) int { return cmp.Compare(b.Share, a.Share) })
	return out[:min(len(out), mostEffects)]
}

// who describes the jobs that go first.
func (e *Effect) who() string {
	less := [...]string{
		"Jobs with shorter time limits", "Smaller jobs", "Jobs that are expected to run for less time",
		"Jobs of users with fewer jobs ahead", "Jobs of queues with shorter waits",
		"Jobs of users who used less lately",
	}
	more := [...]string{
		"Jobs with longer time limits", "Larger jobs", "Jobs that are expected to run for more time",
		"Jobs of users with more jobs ahead", "Jobs of queues with longer waits", "Jobs of users who used more lately",
	}
	if e.More {
		return more[e.Attribute]
	}
	return less[e.Attribute]
}

// words returns an effect as a sentence.
func (e *Effect) words() string {
	often := "often"
	switch {
	case e.Share >= .9:
		often = "almost always"
	case e.Share >= .5:
		often = "mostly"
	}
	return fmt.Sprintf("%s %s go first: in %.0f %% of %s pairs such a job goes ahead of an older one that differs "+
		"only in this, by a factor of at least two.", e.who(), often, 100*e.Share, count(e.Pairs))
}

// orderWords returns sentences about the order in which jobs start.
func orderWords(r *Rules) []string {
	switch r.Source {
	case pools.PolicyConfigured:
		return []string{"The forecasts use the configured policy: " + policy(r) + "."}
	case pools.PolicyPriorities:
		return []string{"The forecasts use the priorities that the scheduler reports: the highest goes first."}
	}
	if o := &r.Order; o.Priority == nil || o.Evidence == nil {
		return noOrder(r)
	}
	e := r.Order.Evidence
	if !better(&r.Order) {
		return []string{fmt.Sprintf("No order of starts was found that forecasts waits clearly better than first "+
			"come, first served, on %s waits.", count(e.Situations))}
	}
	var out []string
	for i := range r.Effects {
		out = append(out, r.Effects[i].words())
	}
	switch younger := e.Same.Pairs > 0 && e.Same.Share() > .5; {
	case younger:
		out = append(out, "Of jobs that differ in nothing else the younger one goes first.")
	case len(r.Effects) > 0:
		out = append(out, "Of jobs that differ in nothing else the older one goes first.")
	default:
		out = append(out, "Older jobs go first: nothing else lets a younger job go ahead in a quarter of the cases.")
	}
	if r.Order.Priority.Strict {
		out = append(out, "No job starts ahead of the first one in this order.")
	}
	out = append(out, fmt.Sprintf("This order was fitted to %s waits. The forecasts of these waits by this order have "+
		"a loss of %.2f, %.0f %% less than those by first come, first served (%.2f).", count(e.Situations), e.Loss,
		100*(1-e.Loss/e.FirstCome), e.FirstCome))
	if !r.InUse {
		out = append(out, "The forecasts do not use this order now, because the pool has too many jobs.")
	}
	return out
}

// noOrder describes which order the forecasts use if none was fitted.
func noOrder(r *Rules) []string {
	first := "The forecasts assume " + policy(r) + "."
	if r.Source == pools.PolicyLearnt {
		first = "The forecasts use the policy that was learnt from the starts: " + policy(r) + "."
	}
	o := &r.Order
	if o.Situations >= o.Needed {
		return []string{first}
	}
	return []string{first, fmt.Sprintf("No order of starts was learnt: %s so far, %s are needed.",
		plural(o.Situations, "wait of the sample is known", "waits of the sample are known"), count(o.Needed))}
}

// policy names the policy of a pool.
func policy(r *Rules) string {
	names := [...]string{
		forward.FCFS:         "first come, first served",
		forward.EASY:         "first come, first served with backfilling (EASY)",
		forward.Conservative: "first come, first served with conservative backfilling",
		forward.PriorityFCFS: "priorities without backfilling",
		forward.PriorityEASY: "priorities with backfilling",
	}
	name := names[r.Policy]
	if r.Queues != "" {
		name += ", queues in the order " + strings.ReplaceAll(r.Queues, "\n", ", ")
	}
	return name
}

// count formats a number with commas between thousands.
func count(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// rounded formats a number that is not negative, in the same way as count.
func rounded(x float64) string { return count(int(math.Round(x))) }

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + many
}
