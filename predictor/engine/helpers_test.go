package engine

import (
	"container/heap"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/waitcast/waitcast/predictor/boost"
	"github.com/waitcast/waitcast/predictor/engine/track"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// quick returns an engine with small trees, which are first trained after 150 waits unless cfg.First is set.
func quick(t testing.TB, cfg Config) *Engine {
	t.Helper()
	if cfg.First == 0 {
		cfg.First = 150
	}
	cfg.Trees = boost.Params{Trees: 8, Leaves: 6, MinLeaf: 10}
	e, err := New(cfg)
	check(t, err)
	t.Cleanup(e.Close)
	return e
}

// sized returns the size of a test: full with WAITCAST_LONG=1, else usual.
func sized(usual, full int) int {
	if os.Getenv("WAITCAST_LONG") != "" {
		return full
	}
	return usual
}

// happening is one event for an engine.
type happening struct {
	at   float64
	kind byte
	id   uint64
	r    track.Request
}

const (
	ended byte = iota
	submitted
	begun
	gone
	holding
	releasing
	requeued
	lost
	updated
)

// tell passes the event to an engine, and returns the forecast of a submission.
func (h *happening) tell(e *Engine) Forecast {
	switch h.kind {
	case ended:
		e.End(h.at, h.id)
	case submitted:
		return e.Submit(h.at, h.id, h.r)
	case begun:
		e.Start(h.at, h.id, true)
	case gone:
		e.Gone(h.at, h.id)
	case holding:
		e.Hold(h.at, h.id, Hold{})
	case releasing:
		e.Release(h.at, h.id)
	case requeued:
		e.Requeued(h.at, h.id)
	case lost:
		e.Lost(h.at, h.id)
	case updated:
		e.Update(h.at, h.id, h.r)
	}
	return Forecast{}
}

type endings []happening

func (h *endings) Len() int           { return len(*h) }
func (h *endings) Less(i, j int) bool { return (*h)[i].at < (*h)[j].at }
func (h *endings) Swap(i, j int)      { (*h)[i], (*h)[j] = (*h)[j], (*h)[i] }
func (h *endings) Push(v any)         { *h = append(*h, v.(happening)) }
func (h *endings) Pop() any {
	last := len(*h) - 1
	v := (*h)[last]
	*h = (*h)[:last]
	return v
}

// happenings returns the events on a machine of 64 processors that starts jobs strictly in order, with the given number
// of submissions. Now and then a job is held, cancelled or changed.
func happenings(seed uint64, submits int) []happening {
	rng := rand.New(rand.NewPCG(seed, 1))
	var out []happening
	var running endings
	type waiter struct {
		id     uint64
		r      track.Request
		length float64
	}
	var queue []waiter
	sizes := map[uint64]int{}
	free, clock := 64, 1e9
	start := func(now float64) {
		for len(queue) > 0 && queue[0].r.Procs <= free {
			w := queue[0]
			queue = queue[1:]
			free -= w.r.Procs
			sizes[w.id] = w.r.Procs
			out = append(out, happening{at: now, kind: begun, id: w.id})
			heap.Push(&running, happening{at: now + w.length, kind: ended, id: w.id})
		}
	}
	end := func(until float64) {
		for len(running) > 0 && running[0].at <= until {
			h := heap.Pop(&running).(happening)
			out = append(out, h)
			free += sizes[h.id]
			start(h.at)
		}
	}
	for i := range submits {
		clock += math.Floor(rng.ExpFloat64() * 400)
		end(clock)
		user := rng.IntN(12)
		length := math.Ceil(math.Exp(4 + float64(user%4) + rng.NormFloat64()))
		r := track.Request{
			Queue: []string{"short", "long", "wide"}[user%3], User: fmt.Sprint("u", user), App: fmt.Sprint("a", user%5),
			Procs: 1 + rng.IntN(24), Limit: math.Ceil(length * (1 + 2*rng.Float64())),
		}
		id := uint64(i + 1)
		out = append(out, happening{at: clock, kind: submitted, id: id, r: r})
		if rng.IntN(20) == 0 {
			switch rng.IntN(3) {
			case 0:
				out = append(out, happening{at: clock + 1, kind: gone, id: id})
				continue
			case 1:
				out = append(out, happening{at: clock, kind: holding, id: id},
					happening{at: clock, kind: releasing, id: id})
			default:
				r.Limit *= 2
				out = append(out, happening{at: clock, kind: updated, id: id, r: r})
			}
		}
		queue = append(queue, waiter{id, r, length})
		start(clock)
	}
	slices.SortStableFunc(out, func(a, b happening) int {
		switch {
		case a.at < b.at:
			return -1
		case a.at > b.at:
			return 1
		}
		return 0
	})
	return out
}

// same reports whether two forecasts are the same to the last bit.
func same(a, b Forecast) bool {
	ok := slices.Equal(a.Quantiles, b.Quantiles) && slices.Equal(a.Combined, b.Combined) &&
		len(a.Experts) == len(b.Experts)
	for k := range a.Experts {
		ok = ok && slices.EqualFunc(a.Experts[k], b.Experts[k],
			func(x, y float64) bool { return x == y || x != x && y != y })
	}
	age := a.SimulationAge == b.SimulationAge || a.SimulationAge != a.SimulationAge &&
		b.SimulationAge != b.SimulationAge
	return ok && age && a.Basis == b.Basis && a.Learnt == b.Learnt && a.Similar == b.Similar &&
		a.JobsAhead == b.JobsAhead &&
		a.ProcsAhead == b.ProcsAhead && a.Free == b.Free && a.Needed == b.Needed
}
