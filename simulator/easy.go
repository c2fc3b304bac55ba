package simulator

import (
	"math"

	"github.com/waitcast/waitcast/internal/byend"
)

// EASY is aggressive backfilling (D. Lifka, "The ANL/IBM SP Scheduling System", JSSPP 1995). The first job of the
// queue starts as soon as enough processors are free. While it waits, it has a reservation at the first instant at
// which enough running jobs will have ended, by their estimates. Another job may overtake it, in order of submission,
// if it fits now and meets one of two conditions: it is expected to end by that instant, or it uses only processors
// that the first job leaves free.
//
// If estimates are upper bounds, no start delays the first job beyond its reservation. A call of Schedule costs O(log
// n) for each start, and about as much to find that no job can start. While there are outages in the future, it
// visits every waiting job.
type EASY struct {
	ends byend.List
	candidates
	plan Profile // scratch memory for plans with outages
}

// New implements Policy.
func (*EASY) New() Policy { return new(EASY) }

// Attach implements Policy.
func (e *EASY) Attach(p *Pool) {
	e.ends.Reset()
	e.candidates.attach(p)
}

// CopyFrom implements Policy.
func (e *EASY) CopyFrom(src Policy) {
	if o, ok := src.(*EASY); ok {
		e.ends.CopyFrom(&o.ends)
		e.candidates.copyFrom(&o.candidates)
	}
}

// Submitted implements Policy.
func (e *EASY) Submitted(p *Pool, r Ref) { e.add(p, r) }

// Withdrawn implements Policy.
func (e *EASY) Withdrawn(_ *Pool, r Ref) { e.candidates.remove(r) }

// Started implements Policy.
func (e *EASY) Started(p *Pool, r Ref) {
	if int(r) < len(e.places) && e.places[r].lane >= 0 {
		e.candidates.remove(r)
	}
	e.ends.Add(p.item(r))
}

// Ended implements Policy.
func (e *EASY) Ended(p *Pool, r Ref) { e.ends.Remove(p.Expected(r), int32(r)) }

// Overran implements Policy.
func (e *EASY) Overran(p *Pool, r Ref, was float64) {
	e.ends.Remove(was, int32(r))
	e.ends.Add(p.item(r))
}

// Head implements Policy.
func (e *EASY) Head(p *Pool) Ref {
	if r := e.head(p); r != None {
		return r
	}
	return p.First()
}

// Wake implements Policy.
func (*EASY) Wake() float64 { return math.Inf(1) }

// Schedule implements Policy.
func (e *EASY) Schedule(p *Pool, _ Cause) {
	var head Ref
	for {
		if head = e.head(p); head == None {
			return
		}
		if !p.Fits(head) || !p.Start(head) {
			break
		}
	}
	if p.Waiting() == 1 || p.Free() <= 0 {
		return
	}
	if !p.Steady() {
		e.backfillAround(p, head)
		return
	}
	at, extra := e.reservation(p, head)
	short := within(p.Now(), at)
	for p.Free() > 0 {
		r := e.first(p, head, short, extra)
		if r == None || !p.Start(r) {
			return
		}
		if p.Estimate(r) > short {
			extra -= p.Held(r)
		}
	}
}

// reservation returns the instant at which the first blocked job can start, and the number of processors that will
// then remain free.
func (e *EASY) reservation(p *Pool, head Ref) (at float64, extra int) {
	at, freed := e.ends.When(p.Held(head) - p.Free())
	return at, p.Free() + freed - p.Held(head)
}

// within returns the longest estimate of a job that starts at the instant now and does not end after the instant at, in
// spite of rounding. The result is finite.
func within(now, at float64) float64 {
	short := at - now
	if now+short > at {
		short = math.Nextafter(short, 0)
	}
	return math.Min(short, math.MaxFloat64)
}

// backfillAround backfills if the capacity will change. It checks each job against a plan of all known future events.
func (e *EASY) backfillAround(p *Pool, head Ref) {
	now := p.Now()
	e.plan.from(p, &e.ends)
	e.plan.Take(e.plan.Earliest(now, p.Held(head), p.Estimate(head)), p.Estimate(head), p.Held(head))
	for r := p.After(head); r != None && p.Free() > 0; {
		next := p.After(r)
		if held := p.Held(r); held <= p.roomBeside(p.Queue(r), head) &&
			e.plan.Least(now, p.Estimate(r)) >= held && p.Start(r) {
			e.plan.Take(now, p.Estimate(r), held)
		}
		r = next
	}
}
