package fairshare

import (
	"slices"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/job"
)

// Priorities computes how job priorities change while the jobs wait: by their age and by their owners' usage. It is
// immutable.
type Priorities struct {
	// Age and FairShare are the weights of the two factors. MaxAge is the age, in seconds, at which the age factor
	// reaches 1. Period is the time between two computations, in seconds.
	Age, FairShare, MaxAge, Period float64
	// Rising is true if priorities never fall (Slurm's flag INCR_ONLY).
	Rising bool
	// Tree has the associations; nil if their usage is not reported or has no weight.
	Tree *Tree

	facts *job.Facts
}

// NewPriorities returns the Priorities for a scheduler's facts; nil if priorities do not change, or if nothing is known
// of them.
func NewPriorities(facts *job.Facts) *Priorities {
	if facts == nil || facts.Weights == nil {
		return nil
	}
	w := facts.Weights
	p := &Priorities{Age: float64(w.Age), FairShare: float64(w.FairShare), MaxAge: w.MaxAge.Seconds(),
		Period: w.Period.Seconds(), Rising: slices.Contains(w.Flags, "INCR_ONLY"), facts: onlyShares(facts)}
	if !(p.Period > 0) {
		p.Period = defaultPeriod
	}
	if p.FairShare > 0 {
		p.Tree = New(facts)
	}
	if p.Tree == nil && !(p.Age > 0 && p.MaxAge > 0) {
		return nil
	}
	return p
}

// Same reports whether both follow from the same facts.
func (p *Priorities) Same(o *Priorities) bool {
	if p == nil || o == nil {
		return p == o
	}
	return p.facts == o.facts || p.facts.Equal(o.facts)
}

// Owner returns the association of a user with an account, see Tree.Owner; None without a tree.
func (p *Priorities) Owner(account, user string) int32 {
	if p == nil || p.Tree == nil {
		return None
	}
	return p.Tree.Owner(account, user)
}

// AgeFactor returns the age factor, from 0 to 1, of a job that has waited for the given number of seconds.
func (p *Priorities) AgeFactor(seconds float64) float64 {
	if !(p.MaxAge > 0) || !(seconds > 0) {
		return 0
	}
	return min(1, seconds/p.MaxAge)
}

// Code encodes or decodes priorities as the facts from which they are computed.
func Code(c *codec.Codec, p **Priorities) {
	known := *p != nil
	if c.Flag(&known); !known {
		return
	}
	facts := &job.Facts{}
	if !c.Reading {
		facts = (*p).facts
	}
	c.JSON(facts)
	if c.Reading && !c.Bad {
		*p = NewPriorities(facts)
	}
}
