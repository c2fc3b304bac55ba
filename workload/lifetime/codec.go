package lifetime

import (
	"math"
	"slices"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/workload/uniformlog"
)

// kind and version identify the format of the saved state.
const kind, version = "lifetime", 2

// fields reads or writes all state. After reading, the laws are fitted to the same observations again.
func (s *Selector) fields(c *codec.Codec) {
	o := s.options
	c.Int(&o.Window, &o.Refit)
	if c.Finite(&o.Forget); c.Reading {
		c.Check(o == o.withDefaults(), "options %+v", o)
		*s = *NewSelector(s.candidates, o)
	}
	var names []string
	for i := range s.candidates {
		names = append(names, s.candidates[i].Name)
	}
	codec.List(c, &names, func(name *string) { c.Text(name) })
	named := func(one Candidate, name string) bool { return one.Name == name }
	if !c.Bad && !slices.EqualFunc(s.candidates, names, named) {
		c.Differs("it has the laws %v", names)
		return
	}
	for i := range s.candidates {
		c.Finite(&s.sums[i])
		c.Int(&s.failed[i])
	}
	c.Between(0, math.MaxFloat64, &s.weight)
	c.Int(&s.n, &s.seen, &s.fittedAt)
	kept := max(len(s.recent)-s.held(), 0)
	recent, starts := s.recent[kept:], s.starts[kept:]
	codec.List(c, &recent, func(o *Observation) {
		c.Between(0, uniformlog.MaxLifetime, &o.Seconds)
		c.Flag(&o.Censored)
	})
	codeStarts(c, &starts, len(recent))
	c.Finite(&s.alive.since)
	codec.List(c, &s.alive.ages, func(age *float64) { c.Between(0, uniformlog.MaxLifetime, age) })
	c.Check(s.n <= s.seen && s.fittedAt <= s.seen && len(recent) == min(s.seen, s.held()) &&
		s.seen-s.fittedAt <= max(o.Refit, firstFit), "%d observations, %d kept, fitted at %d", s.seen, len(recent),
		s.fittedAt)
	if !c.Reading || c.Bad {
		return
	}
	if s.recent, s.starts = recent, starts; s.fittedAt > 0 {
		s.refit()
	}
}

// codeStarts reads or writes the starts of n observations. Observations without a start are not written.
func codeStarts(c *codec.Codec, starts *[]float64, n int) {
	timed := slices.ContainsFunc(*starts, func(x float64) bool { return x != always })
	switch c.Flag(&timed); {
	case timed:
		c.Reals(starts)
		c.Check(len(*starts) == n && !slices.ContainsFunc(*starts, math.IsNaN), "%d starts of %d observations",
			len(*starts), n)
	case c.Reading:
		*starts = slices.Repeat([]float64{always}, n)
	}
}

// Code reads or writes the selector as a part of other saved state.
func (s *Selector) Code(c *codec.Codec) { c.Part(kind, version, s.fields) }

// MarshalBinary encodes everything that [Selector.UnmarshalBinary] needs to continue in the same way as this
// selector.
func (s *Selector) MarshalBinary() ([]byte, error) { return codec.Save(kind, version, 0, s.fields) }

// UnmarshalBinary replaces the selector's state by the encoded one. Its candidates stay; their names and order must
// be those of the encoded selector. The laws are fitted to the same observations again. The error is a *codec.Error;
// after an error the selector is unchanged.
func (s *Selector) UnmarshalBinary(data []byte) error {
	return codec.Restore(s, kind, version, data, (*Selector).fields)
}
