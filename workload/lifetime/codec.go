package lifetime

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
)

// codecVersion is that of the encoded selector, a JSON object.
const codecVersion = 1

// ErrCorrupt is returned by [Selector.UnmarshalBinary] for bytes that no selector of the same candidates was encoded
// to.
var ErrCorrupt = errors.New("corrupt selector")

type encoded struct {
	Version  int       `json:"version"`
	Options  Options   `json:"options"`
	Names    []string  `json:"names"`
	Sums     []float64 `json:"sums"`
	Failed   []int     `json:"failed"`
	Weight   float64   `json:"weight"`
	Scored   int       `json:"scored"`
	Seen     int       `json:"seen"`
	FittedAt int       `json:"fitted_at"`
	Seconds  []float64 `json:"seconds"`
	Censored []int     `json:"censored"` // indices into Seconds
	Starts   []float64 `json:"starts,omitempty"`
	Since    *float64  `json:"since,omitempty"`
	Alive    []float64 `json:"alive,omitempty"`
}

// MarshalBinary encodes all that [Selector.UnmarshalBinary] needs to go on as this selector would.
func (s *Selector) MarshalBinary() ([]byte, error) {
	e := encoded{
		Version: codecVersion, Options: s.options, Sums: s.sums, Failed: s.failed, Weight: s.weight, Scored: s.n,
		Seen: s.seen, FittedAt: s.fittedAt, Seconds: []float64{},
	}
	for _, c := range s.candidates {
		e.Names = append(e.Names, c.Name)
	}
	for i, o := range s.recent[max(len(s.recent)-s.held(), 0):] {
		e.Seconds = append(e.Seconds, o.Seconds)
		if o.Censored {
			e.Censored = append(e.Censored, i)
		}
	}
	s.alive.encode(&e, s.starts[len(s.starts)-len(e.Seconds):])
	b, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("lifetime: encode the selector: %w", err)
	}
	return b, nil
}

// UnmarshalBinary replaces the selector's state by the encoded one; its candidates stay, and must be those of the
// encoded selector by name and order. The laws are fitted again to what they were fitted to. On an error, which wraps
// [ErrCorrupt], the selector stays as it was.
func (s *Selector) UnmarshalBinary(data []byte) error {
	var e encoded
	if err := json.Unmarshal(data, &e); err != nil {
		return fmt.Errorf("lifetime: %w: %w", ErrCorrupt, err)
	}
	if e.Version != codecVersion {
		return fmt.Errorf("lifetime: selector of version %d, want %d: %w", e.Version, codecVersion, ErrCorrupt)
	}
	in := NewSelector(s.candidates, e.Options)
	n := len(s.candidates)
	named := slices.EqualFunc(s.candidates, e.Names, func(c Candidate, name string) bool { return c.Name == name })
	if !named || len(e.Sums) != n || len(e.Failed) != n || in.options != e.Options {
		return fmt.Errorf("lifetime: selector of %v: %w", e.Names, ErrCorrupt)
	}
	if e.Seen < 0 || e.Scored < 0 || e.Scored > e.Seen || e.FittedAt < 0 || e.FittedAt > e.Seen || !(e.Weight >= 0) ||
		len(e.Seconds) != min(e.Seen, in.held()) || e.Seen-e.FittedAt > max(in.options.Refit, firstFit) {
		return fmt.Errorf("lifetime: selector of %d observations, %d kept, fitted at %d: %w", e.Seen, len(e.Seconds),
			e.FittedAt, ErrCorrupt)
	}
	for _, t := range e.Seconds {
		in.recent = append(in.recent, Observation{Seconds: t})
	}
	for _, i := range e.Censored {
		if i < 0 || i >= len(in.recent) {
			return fmt.Errorf("lifetime: censored observation %d of %d: %w", i, len(in.recent), ErrCorrupt)
		}
		in.recent[i].Censored = true
	}
	if err := in.alive.decode(&e); err != nil {
		return err
	}
	in.starts = e.Starts
	for i, sum := range e.Sums {
		if math.IsNaN(sum) || e.Failed[i] < 0 {
			return fmt.Errorf("lifetime: score %v, %d failed: %w", sum, e.Failed[i], ErrCorrupt)
		}
	}
	in.sums, in.failed, in.weight, in.n, in.seen, in.fittedAt = e.Sums, e.Failed, e.Weight, e.Scored, e.Seen, e.FittedAt
	if in.fittedAt > 0 {
		in.refit()
	}
	*s = *in
	return nil
}
