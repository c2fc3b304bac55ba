package pipeline

// The newest forecasts of a queue are kept in blocks: as many as there may be, each of so many forecasts. Sums of blocks need no memory of single forecasts, and
// come out the same whatever was saved and restored between.
const (
	windowBlocks = 10
	windowBlock  = recent / windowBlocks
)

// window is how the newest scored forecasts of a queue turned out: between 901 and 1000 of them once there were so many.
type window struct {
	// Blocks are the figures of stretches of forecasts, the oldest first.
	Blocks []Figures `json:"blocks"`
}

// add takes in a scored forecast.
func (w *window) add(levels, quantiles []float64, wait float64) {
	if last := len(w.Blocks) - 1; last < 0 || w.Blocks[last].N >= windowBlock {
		if len(w.Blocks) == windowBlocks {
			w.Blocks = append(w.Blocks[:0], w.Blocks[1:]...)
		}
		w.Blocks = append(w.Blocks, newFigures(len(levels)))
	}
	w.Blocks[len(w.Blocks)-1].add(levels, quantiles, wait)
}

// sum returns the figures of the whole window.
func (w *window) sum(levels int) *Figures {
	out := newFigures(levels)
	for i := range w.Blocks {
		out.merge(&w.Blocks[i])
	}
	return &out
}

// sound reports whether a saved window is of so many levels and no longer than it may be.
func (w *window) sound(levels int) bool {
	for i := range w.Blocks {
		if f := &w.Blocks[i]; !f.sound(levels) || f.N < 1 || f.N > windowBlock {
			return false
		}
	}
	return len(w.Blocks) <= windowBlocks
}

// remember takes a closed forecast into its queue's window.
func (l *ledger) remember(queue string, levels, quantiles []float64, wait float64) {
	w := l.recent[queue]
	if w == nil {
		w = &window{}
		l.recent[queue] = w
	}
	w.add(levels, quantiles, wait)
}

// newest returns how the newest scored forecasts of each queue turned out.
func (l *ledger) newest() map[string]*Figures {
	out := make(map[string]*Figures, len(l.recent))
	for queue, w := range l.recent {
		out[queue] = w.sum(len(l.levels))
	}
	return out
}
