package hypergamma

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
)

// codecVersion is that of the encoded live model, a JSON object.
const codecVersion = 1

// ErrCorrupt is returned by [Live.UnmarshalBinary] for bytes that no live model was encoded to.
var ErrCorrupt = errors.New("corrupt live model")

// weights are those of an encoded row that are not 0, with their indices.
type weights struct {
	At []int     `json:"at"`
	W  []float64 `json:"w"`
}

type encoded struct {
	Version int             `json:"version"`
	Forget  float64         `json:"forget"`
	End     float64         `json:"end"`
	N       float64         `json:"n"`
	Short   float64         `json:"short"`
	Longest float64         `json:"longest"`
	Sizes   weights         `json:"sizes"` // At are processors
	Bins    map[int]weights `json:"bins"`  // by size class
	Submit  float64         `json:"submit"`
	Last    *float64        `json:"last"` // null before the first submit
	Gap     float64         `json:"longest_gap"`
	Gaps    []float64       `json:"gaps"`
	Slots   []float64       `json:"slots"`
}

// MarshalBinary encodes the model; the bytes are determined by the calls it has seen.
func (l *Live) MarshalBinary() ([]byte, error) {
	e := encoded{
		Version: codecVersion, Forget: l.forget, End: l.end, N: l.n, Short: l.short, Longest: l.longest,
		Bins: map[int]weights{}, Submit: l.submit, Gap: l.gaps.longest, Slots: l.slots[:],
	}
	if !math.IsNaN(l.last) {
		e.Last = &l.last
	}
	for _, p := range slices.Sorted(maps.Keys(l.sizes)) {
		e.Sizes.At, e.Sizes.W = append(e.Sizes.At, p), append(e.Sizes.W, l.sizes[p])
	}
	for class, b := range l.bins {
		if b == nil {
			continue
		}
		var row weights
		for i, w := range b {
			if w != 0 {
				row.At, row.W = append(row.At, i), append(row.W, w)
			}
		}
		e.Bins[class] = row
	}
	g := l.gaps
	g.each(func(x *float64) { e.Gaps = append(e.Gaps, *x) })
	b, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("hypergamma: encode the live model: %w", err)
	}
	return b, nil
}

// UnmarshalBinary replaces the model by the one encoded: every later result is the same, to the last bit. On an error,
// which wraps [ErrCorrupt], the model stays as it was.
func (l *Live) UnmarshalBinary(data []byte) error {
	var e encoded
	if err := json.Unmarshal(data, &e); err != nil {
		return fmt.Errorf("hypergamma: %w: %w", ErrCorrupt, err)
	}
	if e.Version != codecVersion {
		return fmt.Errorf("hypergamma: live model of version %d, want %d: %w", e.Version, codecVersion, ErrCorrupt)
	}
	in, err := NewLive(e.Forget)
	if err != nil {
		return fmt.Errorf("%w: %w", err, ErrCorrupt)
	}
	in.end, in.n, in.short, in.longest, in.submit, in.gaps.longest = e.End, e.N, e.Short, e.Longest, e.Submit, e.Gap
	var d decoder
	d.weight("latest end", e.End, math.SmallestNonzeroFloat64, rescale)
	d.weight("latest submit", e.Submit, math.SmallestNonzeroFloat64, rescale)
	d.weight("longest runtime", e.Longest, 0, 1<<40)
	if e.Last != nil {
		in.last = *e.Last
		d.weight("last submit", in.last, -maxLocal, maxLocal)
	}
	for _, x := range append([]float64{e.N, e.Short, e.Gap}, e.Slots...) {
		d.weight("sum", x, 0, maxWeight)
	}
	if len(e.Slots) != Slots {
		d.fail("%d half hours", len(e.Slots))
	}
	copy(in.slots[:], e.Slots)
	d.row("sizes", e.Sizes, 1, 1<<30, func(p int, w float64) { in.sizes[p] = w })
	for class, row := range e.Bins {
		if class < 0 || class >= sizeClasses {
			d.fail("size class %d", class)
			continue
		}
		in.bins[class] = new([runtimeBins]float64)
		d.row("runtimes", row, 0, runtimeBins-1, func(i int, w float64) { in.bins[class][i] = w })
	}
	at := 0
	in.gaps.each(func(x *float64) {
		if at < len(e.Gaps) {
			*x = e.Gaps[at]
			d.weight("gaps", *x, -maxWeight, maxWeight)
		}
		at++
	})
	if len(e.Gaps) != at {
		d.fail("%d sums of gaps", len(e.Gaps))
	}
	if d.err != nil {
		return fmt.Errorf("hypergamma: live model: %w", d.err)
	}
	*l = *in
	return nil
}

// maxWeight bounds decoded sums, so that no later sum is infinite.
const maxWeight = 1e100

// decoder keeps the first error.
type decoder struct{ err error }

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: "+format, append([]any{ErrCorrupt}, args...)...)
	}
}

func (d *decoder) weight(what string, x, low, high float64) {
	if !(x >= low && x <= high) {
		d.fail("%s %v", what, x)
	}
}

func (d *decoder) row(what string, r weights, low, high int, set func(at int, w float64)) {
	if len(r.At) != len(r.W) {
		d.fail("%s: %d places with %d weights", what, len(r.At), len(r.W))
		return
	}
	for i, at := range r.At {
		if at < low || at > high {
			d.fail("%s: place %d", what, at)
			return
		}
		d.weight(what, r.W[i], math.SmallestNonzeroFloat64, maxWeight)
		set(at, r.W[i])
	}
}
