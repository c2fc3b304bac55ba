package simulator

// lane is a list of jobs in order with a tree of minima. The tree finds the first job that meets a condition without
// visiting all jobs. It is stored in slices: levels[0] has the jobs by slot; an entry of each next level has the
// minima of fanout entries of the level below.
type lane struct {
	refs   []Ref // by slot; None if the job has left
	levels [][]minima
	all    minima // minima over all jobs
	alive  int
}

const (
	fanBits = 4
	fanout  = 1 << fanBits
)

func (l *lane) copyFrom(src *lane) {
	l.refs = append(l.refs[:0], src.refs...)
	l.all, l.alive = src.all, src.alive
	for len(l.levels) < len(src.levels) {
		l.levels = append(l.levels, nil)
	}
	l.levels = l.levels[:len(src.levels)]
	for i := range src.levels {
		l.levels[i] = append(l.levels[i][:0], src.levels[i]...)
	}
}

// grow makes the tree large enough for n slots.
func (l *lane) grow(n int) {
	if len(l.levels) > 0 && n <= len(l.levels[0]) {
		return
	}
	size := fanout
	for size < n {
		size *= 2
	}
	for k := 0; ; k++ {
		if k == len(l.levels) {
			l.levels = append(l.levels, nil)
		}
		for len(l.levels[k]) < size {
			l.levels[k] = append(l.levels[k], vacant())
		}
		if size <= fanout {
			break
		}
		size = (size + fanout - 1) / fanout
	}
	l.rebuild()
}

// rebuild computes all levels above the jobs again.
func (l *lane) rebuild() {
	if len(l.levels) == 0 {
		return
	}
	for i := len(l.refs); i < len(l.levels[0]); i++ {
		l.levels[0][i] = vacant()
	}
	for k := 1; k < len(l.levels); k++ {
		for i := range l.levels[k] {
			l.levels[k][i] = l.below(k, i)
		}
	}
	l.all = l.below(len(l.levels), 0)
}

// below computes entry i of level k from the level below.
func (l *lane) below(k, i int) minima {
	down := l.levels[k-1]
	m := vacant()
	for _, o := range down[i<<fanBits : min((i+1)<<fanBits, len(down))] {
		m.add(o)
	}
	return m
}

// set puts a job into a slot.
func (l *lane) set(slot int, m minima) {
	l.grow(slot + 1)
	l.levels[0][slot] = m
	for k := 1; k < len(l.levels); k++ {
		slot >>= fanBits
		l.levels[k][slot].add(m)
	}
	l.all.add(m)
}

// clear removes the job from a slot.
func (l *lane) clear(slot int) {
	l.levels[0][slot] = vacant()
	for k := 1; k < len(l.levels); k++ {
		slot >>= fanBits
		m := l.below(k, slot)
		if m == l.levels[k][slot] {
			return
		}
		l.levels[k][slot] = m
	}
	l.all = l.below(len(l.levels), 0)
}

// first returns the first slot at or after `from` whose job meets the condition. It returns -1 if there is none.
func (l *lane) first(from int, w *wanted) int {
	for k, i := 0, from; ; {
		level := l.levels[k]
		end := min(i|(fanout-1)+1, len(level))
		for i < end && !w.matches(&level[i]) {
			i++
		}
		switch {
		case i < end && k == 0:
			return i
		case i < end:
			k--
			i <<= fanBits
		case end == len(level):
			return -1
		default:
			k++
			i = end >> fanBits
		}
	}
}
