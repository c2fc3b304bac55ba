package coverage

import (
	"fmt"
	"math"
	"slices"
)

// Submission is the state, as of an instant, of a job that was forecast at its submission. Times are seconds from the
// submission.
type Submission struct {
	// Age is the time since the submission.
	Age float64
	// Waited is the time at which the job left the queue; +Inf means that it has not left. If Waited is above Age,
	// the job still waits.
	Waited float64
	// Started is true if the job left by a start, false if it was cancelled.
	Started bool
}

// StillWaiting returns the Submission of a waiting job of the given age in seconds.
func StillWaiting(age float64) Submission { return Submission{Age: age, Waited: math.Inf(1)} }

// Waits reports whether the job still waits at the instant.
func (s Submission) Waits() bool { return !(s.Waited <= s.Age) }

// Outcome is the outcome of one quantile of one submission.
type Outcome uint8

const (
	// Undecided means that the time from the submission has not reached the quantile yet. A job that has started
	// already is also undecided until then: counting it at once would count short waits before long ones.
	Undecided Outcome = iota
	// Below means that the job started earlier than the quantile rounded down.
	Below
	// Tied means that the job started between the quantile rounded down and the quantile rounded up.
	Tied
	// Missed means that the job was still waiting when the quantile, rounded up, had passed. It does not matter whether
	// the job started later, was cancelled later or still waits.
	Missed
	// Censored means that the job was cancelled before the quantile had passed, so that the outcome is unknown.
	Censored
)

// Judge returns the outcome of the quantile q, and the age at which it was known. That is the age at the start or the
// cancellation; for a miss it is the quantile, rounded up. q and the resolution are in seconds. At a finite Age, a q
// that is NaN or +Inf is Undecided.
func (s Submission) Judge(q, resolution float64) (o Outcome, age float64) {
	passed := math.Ceil(q/resolution) * resolution
	switch {
	case !(s.Age >= passed):
		return Undecided, 0
	case s.Waits() || s.Waited > passed:
		return Missed, passed
	case !s.Started:
		return Censored, s.Waited
	}
	if below, _ := Covered(s.Waited, q, resolution); below {
		return Below, s.Waited
	}
	return Tied, s.Waited
}

// leastKept is the minimum that weights use for the probability of not having been cancelled. So no outcome counts more
// than 20 times. That accepts a small bias for a bounded variance (S. Cole and M. Hernan, "Constructing inverse
// probability weights for marginal structural models", American Journal of Epidemiology 168, 2008).
const leastKept = 0.05

// OutcomeHistogram counts the outcomes of one level over many submissions, by the age at which they were known. It
// estimates the level's coverage from them. The zero value is empty. Its JSON is stored.
//
// A submission that was cancelled before its quantile had passed is censored. Leaving it out would favour the
// outcomes that are known early. Each other outcome is therefore weighted by the inverse of the probability that a
// job is not cancelled before that outcome is known (inverse probability of censoring: J. Robins and A. Rotnitzky,
// "Recovery of information and adjustment for dependent censoring using surrogate markers", in AIDS Epidemiology,
// 1992). The weights are normalised to a sum of 1. A start has the weight 1/G(wait-) and a miss 1/G(q), as in E. Graf
// and others, "Assessment and comparison of prognostic classification schemes for survival data", Statistics in
// Medicine 18, 1999. G is the Kaplan-Meier estimate of the time of cancelling over the same submissions. In it,
// starts and passed quantiles censor the cancelling. If a start and a cancellation have the same age, the start comes
// first. The estimate is unbiased under one condition: among the submissions that are counted together, who cancels
// does not depend on the wait that is still to come.
//
// Ages are grouped, with eight classes for each doubling. So the memory is bounded by the classes of a year (about
// 200), not by the jobs. Within a class starts come first, then cancellations, then misses.
type OutcomeHistogram struct {
	// Ages are the classes with counts, the youngest first.
	Ages []AgeCount `json:"ages,omitempty"`
}

// AgeCount has the numbers of outcomes that became known at the ages of one class.
type AgeCount struct {
	Class    uint8  `json:"class"`
	Below    uint32 `json:"below,omitempty"`
	Tied     uint32 `json:"tied,omitempty"`
	Missed   uint32 `json:"missed,omitempty"`
	Censored uint32 `json:"censored,omitempty"`
}

// ageClass returns the class of an age in seconds. Class 0 is below one second; above that there are eight classes for
// each doubling.
func ageClass(age float64) uint8 {
	if !(age >= 1) {
		return 0
	}
	return uint8(min(1+math.Floor(8*math.Log2(age)), math.MaxUint8))
}

// at returns the count of a class, which it creates if it is missing.
func (h *OutcomeHistogram) at(class uint8) *AgeCount {
	i, ok := slices.BinarySearchFunc(h.Ages, class, func(a AgeCount, c uint8) int { return int(a.Class) - int(c) })
	if !ok {
		h.Ages = slices.Insert(h.Ages, i, AgeCount{Class: class})
	}
	return &h.Ages[i]
}

// Add counts an outcome that was known at an age, in seconds. It does nothing for Undecided.
func (h *OutcomeHistogram) Add(o Outcome, age float64) {
	switch o {
	case Below:
		h.at(ageClass(age)).Below++
	case Tied:
		h.at(ageClass(age)).Tied++
	case Missed:
		h.at(ageClass(age)).Missed++
	case Censored:
		h.at(ageClass(age)).Censored++
	}
}

// Merge adds the outcomes of another histogram.
func (h *OutcomeHistogram) Merge(o *OutcomeHistogram) {
	for _, a := range o.Ages {
		to := h.at(a.Class)
		to.Below += a.Below
		to.Tied += a.Tied
		to.Missed += a.Missed
		to.Censored += a.Censored
	}
}

// Clone returns an independent copy.
func (h *OutcomeHistogram) Clone() OutcomeHistogram {
	return OutcomeHistogram{Ages: slices.Clone(h.Ages)}
}

// Check returns an error if the classes of a saved histogram do not rise.
func (h *OutcomeHistogram) Check() error {
	for i := 1; i < len(h.Ages); i++ {
		if h.Ages[i].Class <= h.Ages[i-1].Class {
			return fmt.Errorf("coverage: age class %d follows %d", h.Ages[i].Class, h.Ages[i-1].Class)
		}
	}
	return nil
}

// OutcomeCounts are decided submissions by outcome, unweighted.
type OutcomeCounts struct {
	Below    int64 `json:"below,omitempty"`
	Tied     int64 `json:"tied,omitempty"`
	Missed   int64 `json:"missed,omitempty"`
	Censored int64 `json:"censored,omitempty"`
}

// Decided returns the number of all submissions whose quantile has passed.
func (c OutcomeCounts) Decided() int64 { return c.Known() + c.Censored }

// Known returns the number of decided submissions that were not censored.
func (c OutcomeCounts) Known() int64 { return c.Below + c.Tied + c.Missed }

// UpTo returns the number of submissions whose wait was at most their quantile, rounded up.
func (c OutcomeCounts) UpTo() int64 { return c.Below + c.Tied }

// Interval returns the shares of the known outcomes, unweighted; [0, 1] if there are none.
func (c OutcomeCounts) Interval() Interval {
	n := float64(c.Known())
	if n == 0 {
		return Interval{0, 1}
	}
	return Interval{float64(c.Below) / n, float64(c.UpTo()) / n}
}

// Counts returns the numbers of outcomes.
func (h *OutcomeHistogram) Counts() OutcomeCounts {
	var c OutcomeCounts
	for _, a := range h.Ages {
		c.Below += int64(a.Below)
		c.Tied += int64(a.Tied)
		c.Missed += int64(a.Missed)
		c.Censored += int64(a.Censored)
	}
	return c
}

// Interval returns [P(W < q-), P(W <= q+)], adjusted for the censored submissions; [0, 1] if no outcome is known.
// Without censored submissions it is the Interval of Counts.
func (h *OutcomeHistogram) Interval() Interval {
	atRisk, kept := float64(h.Counts().Decided()), 1.0 // kept is G of the formula
	var below, tied, all float64
	for _, a := range h.Ages {
		weight := 1 / max(kept, leastKept)
		below += float64(a.Below) * weight
		tied += float64(a.Tied) * weight
		atRisk -= float64(a.Below) + float64(a.Tied)
		all += (float64(a.Below) + float64(a.Tied)) * weight
		if a.Censored > 0 {
			kept *= 1 - float64(a.Censored)/atRisk
		}
		all += float64(a.Missed) / max(kept, leastKept)
		atRisk -= float64(a.Censored) + float64(a.Missed)
	}
	if all == 0 {
		return Interval{0, 1}
	}
	return Interval{below / all, (below + tied) / all}
}
