package accuracy

import (
	"fmt"
	"slices"

	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/predictor/coverage"
)

// newestByAge has the outcomes of the newest decided forecasts of a queue by level. Live and replayed forecasts are
// separate, at the indices of MadeIndex. Of each kind it has all forecasts as long as there are at most 1000, and the
// newest 901 to 1000 afterwards. They are counted in blocks, as in a Window.
type newestByAge [2][]decidedWindow

// decidedWindow has the newest outcomes of one level.
type decidedWindow struct {
	// Blocks are the outcomes of at most windowBlock consecutive forecasts each, the oldest first.
	Blocks []coverage.OutcomeHistogram `json:"blocks,omitempty"`

	all *coverage.OutcomeHistogram // sum of all blocks, nil if it must be computed; never modified
}

func newNewestByAge() *newestByAge {
	levels := len(waittime.Levels())
	return &newestByAge{make([]decidedWindow, levels), make([]decidedWindow, levels)}
}

func (n *newestByAge) add(made, level int, o coverage.Outcome, age float64) {
	n[made][level].add(o, age)
}

func (w *decidedWindow) add(o coverage.Outcome, age float64) {
	w.all = nil
	if last := len(w.Blocks) - 1; last < 0 || w.Blocks[last].Counts().Decided() >= windowBlock {
		if len(w.Blocks) == windowBlocks {
			w.Blocks = append(w.Blocks[:0], w.Blocks[1:]...)
		}
		w.Blocks = append(w.Blocks, coverage.OutcomeHistogram{})
	}
	w.Blocks[len(w.Blocks)-1].Add(o, age)
}

// clone returns an independent copy.
func (n *newestByAge) clone() *newestByAge {
	var out newestByAge
	for made := range n {
		out[made] = slices.Clone(n[made])
		for l := range out[made] {
			w := &out[made][l]
			w.Blocks = slices.Clone(w.Blocks)
			if last := len(w.Blocks) - 1; last >= 0 { // only the last block can still change
				w.Blocks[last] = w.Blocks[last].Clone()
			}
		}
	}
	return &out
}

// sum returns, for each level, the sum of its blocks. It computes only the sums that have changed.
func (n *newestByAge) sum() *NewestDecided {
	var out NewestDecided
	for made := range n {
		out[made] = make([]*coverage.OutcomeHistogram, len(n[made]))
		for l := range n[made] {
			w := &n[made][l]
			if w.all == nil {
				w.all = &coverage.OutcomeHistogram{}
				for b := range w.Blocks {
					w.all.Merge(&w.Blocks[b])
				}
			}
			out[made][l] = w.all
		}
	}
	return &out
}

// check returns an error if n, which was read from saved state, is damaged. levels is the number of levels that it must
// have.
func (n *newestByAge) check(levels int) error {
	if n == nil {
		return errDecisions
	}
	for made := range n {
		if len(n[made]) != levels {
			return fmt.Errorf("%d levels, want %d: %w", len(n[made]), levels, errDecisions)
		}
		for l := range n[made] {
			w := &n[made][l]
			if len(w.Blocks) > windowBlocks {
				return fmt.Errorf("%d blocks: %w", len(w.Blocks), errDecisions)
			}
			for b := range w.Blocks {
				if err := w.Blocks[b].Check(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
