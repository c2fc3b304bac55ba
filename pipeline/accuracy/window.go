package accuracy

// The newest forecasts of a queue are counted in at most windowBlocks blocks of at most windowBlock forecasts each. A
// block has sums, not single forecasts, so it needs little memory. Saving and restoring does not change the sums.
const (
	windowBlocks = 10
	windowBlock  = recent / windowBlocks
)

// Window has the figures of the newest scored forecasts of a queue. It has all forecasts as long as there are at most
// 1000, and the newest 901 to 1000 afterwards.
type Window struct {
	// Blocks are the figures of consecutive forecasts, the oldest first.
	Blocks []Figures `json:"blocks"`
}

// add counts a scored forecast.
func (w *Window) add(levels, quantiles []float64, wait float64) {
	if last := len(w.Blocks) - 1; last < 0 || w.Blocks[last].N >= windowBlock {
		if len(w.Blocks) == windowBlocks {
			w.Blocks = append(w.Blocks[:0], w.Blocks[1:]...)
		}
		w.Blocks = append(w.Blocks, newFigures(len(levels)))
	}
	w.Blocks[len(w.Blocks)-1].add(levels, quantiles, wait)
}

// sum returns the figures of the whole window.
func (w *Window) sum(levels int) *Figures {
	out := newFigures(levels)
	for i := range w.Blocks {
		out.merge(&w.Blocks[i])
	}
	return &out
}

// sound reports whether a window from saved state is valid: it has the given number of levels and at most windowBlocks
// blocks, none of them empty or too large.
func (w *Window) sound(levels int) bool {
	for i := range w.Blocks {
		if f := &w.Blocks[i]; !f.sound(levels) || f.N < 1 || f.N > windowBlock {
			return false
		}
	}
	return len(w.Blocks) <= windowBlocks
}
