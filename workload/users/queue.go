package users

// due is the time of a member's next submission. Members with equal times are ordered by number.
type due struct {
	at     float64
	number int64
	member int32
}

func (d due) before(e due) bool { return d.at < e.at || d.at == e.at && d.number < e.number }

// queue is a heap of members; the earliest is at the top.
type queue []due

func (q *queue) push(d due) {
	*q = append(*q, d)
	h := *q
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !d.before(h[up]) {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = d
}

func (q *queue) pop() {
	h := *q
	last := h[len(h)-1]
	*q = h[:len(h)-1]
	if len(*q) > 0 {
		q.sink(last)
	}
}

// replace changes the time of the earliest member.
func (q *queue) replace(at float64) {
	d := (*q)[0]
	d.at = at
	q.sink(d)
}

// sink replaces the earliest entry by d.
func (q *queue) sink(d due) {
	h := *q
	i := 0
	for {
		down := 2*i + 1
		if down >= len(h) {
			break
		}
		if down+1 < len(h) && h[down+1].before(h[down]) {
			down++
		}
		if !h[down].before(d) {
			break
		}
		h[i] = h[down]
		i = down
	}
	h[i] = d
}
