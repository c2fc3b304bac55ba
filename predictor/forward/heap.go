package forward

// event is the instant at which a job that runs ends, or reaches its expected end.
type event struct {
	at float64
	id int32
}

// events is a heap of four children each, by time; what is equal comes in an order that is the same for the same history.
type events []event

func (h *events) push(e event) {
	*h = append(*h, e)
	a := *h
	i := len(a) - 1
	for i > 0 {
		up := (i - 1) / 4
		if a[up].at <= e.at {
			break
		}
		a[i] = a[up]
		i = up
	}
	a[i] = e
}

func (h *events) pop() event {
	a := *h
	top, n := a[0], len(a)-1
	last := a[n]
	a = a[:n]
	*h = a
	if n > 0 {
		a.sink(0, last)
	}
	return top
}

// sink puts an event at place i or below.
func (h events) sink(i int, e event) {
	for {
		first := 4*i + 1
		if first >= len(h) {
			break
		}
		least := first
		for c := first + 1; c < min(first+4, len(h)); c++ {
			if h[c].at < h[least].at {
				least = c
			}
		}
		if h[least].at >= e.at {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = e
}

// build makes a heap of what was appended in any order.
func (h events) build() {
	for i := (len(h) - 2) / 4; i >= 0 && len(h) > 1; i-- {
		h.sink(i, h[i])
	}
}
