package access

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/waitcast/waitcast/api/access/fairqueue"
	"github.com/waitcast/waitcast/api/wire"
)

const (
	// enterPatience is how long an expensive request waits for its first slot before it is refused.
	enterPatience = 5 * time.Second
	// maxWaiting bounds the waiting expensive requests of all clients, because each has its body in memory.
	maxWaiting = 2048
	// minRetry and maxRetry bound the Retry-After of a refused request.
	minRetry, maxRetry = time.Second, time.Minute
)

// errImpatient is the cause of the end of a wait that got no first slot within enterPatience.
var errImpatient = errors.New("no slot came free in time")

// expensive returns the limits of the queue for expensive requests.
func (l *Limits) expensive() fairqueue.Limits {
	return fairqueue.Limits{Slots: cmp.Or(l.Expensive, math.MaxInt),
		PerClient: min(cmp.Or(l.ExpensiveWaiting, maxWaiting), maxWaiting), Waiting: maxWaiting}
}

// Slot is an expensive request that has one of the slots, which all clients share. It is not safe for concurrent use.
type Slot struct {
	guard   *Guard
	request *fairqueue.Request
}

// Enter waits for a slot to compute an expensive request of a caller. Costs are numbers of forecasts: cost for the work
// up to the first Step, expected for the whole request as far as that is known. Without a slot, Enter returns the
// reason and the time after which to retry.
func (g *Guard) Enter(ctx context.Context, c Caller, cost, expected float64) (*Slot, *wire.Problem, time.Duration) {
	waiting, cancel := context.WithTimeoutCause(ctx, enterPatience, errImpatient)
	defer cancel()
	began := time.Now()
	slot, err := g.expensive.Enter(waiting, c.Client, cost, expected)
	if err != nil {
		p, retry := g.noSlot(c, err)
		return nil, p, retry
	}
	g.metrics.slotWait.Observe(time.Since(began).Seconds())
	return &Slot{g, slot}, nil, 0
}

// Expect announces further work; its cost is a number of forecasts.
func (s *Slot) Expect(cost float64) { s.request.Expect(cost) }

// Step reports that a piece of work begins, with its cost in forecasts. If another request goes first, Step waits for
// the next slot. If it returns a problem, the work must be stopped; the duration is the time after which to retry.
func (s *Slot) Step(ctx context.Context, c Caller, cost float64) (*wire.Problem, time.Duration) {
	if err := s.request.Step(ctx, cost); err != nil {
		return s.guard.noSlot(c, err)
	}
	return nil, 0
}

// End gives the slot back. A second call does nothing.
func (s *Slot) End() { s.request.End() }

// noSlot counts a request that gets no slot, and returns the reason and the time after which to retry.
func (g *Guard) noSlot(c Caller, err error) (*wire.Problem, time.Duration) {
	retry := min(max(g.expensive.Delay(c.Client), minRetry), maxRetry)
	if errors.Is(err, fairqueue.ErrClientFull) {
		g.metrics.refused.WithLabelValues(reasonQueue).Inc()
		return &wire.Problem{Status: http.StatusTooManyRequests,
			Detail: "too many questions of many candidates of this client wait for their turn",
			Hint:   "ask again after the time of Retry-After; limits.expensive_waiting bounds them"}, retry
	}
	g.metrics.refused.WithLabelValues(reasonBusy).Inc()
	s := g.expensive.State()
	return &wire.Problem{Status: http.StatusServiceUnavailable,
		Detail: fmt.Sprintf("%d questions of many candidates are being computed, and %d of %d clients wait", s.Busy,
			s.Waiting, s.Clients),
		Hint: "ask again after the time of Retry-After"}, retry
}
