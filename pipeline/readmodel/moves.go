package readmodel

import (
	"math"
	"time"

	"github.com/waitcast/waitcast/cluster"
)

// MoveCause is the main reason why the present forecast of a waiting job differs from the one at its submission.
type MoveCause string

// These are the causes of a move.
const (
	// MovedHeld: the job is held and does not compete.
	MovedHeld MoveCause = "held"
	// MovedCapacity: the pool has fewer processors.
	MovedCapacity MoveCause = "capacity_lost"
	// MovedOverrun: the job waits for jobs that ran already at its submission, and that should have ended by now with a
	// probability of at least 0.9, see Move.Overrun.
	MovedOverrun MoveCause = "overrun"
	// MovedPriority: the priority of the job itself has fallen, so that more jobs go before it.
	MovedPriority MoveCause = "priority"
	// MovedPassed: jobs that came later, or were released, go before it.
	MovedPassed MoveCause = "let_go_before"
	// MovedOn: jobs that were ahead have started or left.
	MovedOn MoveCause = "ahead_started"
	// MovedTime: nothing has changed except the time that the job has waited.
	MovedTime MoveCause = "time"
)

// Move has the changes that concern a waiting job since its submission. Amounts are numbers of processors.
type Move struct {
	Cause MoveCause
	// Lost is the decrease of the pool's capacity. Passed is the increase of the processors requested by jobs ahead of
	// the job. Both are at least 0.
	Lost, Passed int
	// Overrun are the jobs that ran at the submission and should have ended since: at the submission, the probability
	// that they would end by now was at least 0.9.
	Overrun []Pivot
}

// surprise is the minimum probability with which a job should have ended by now to count in Overrun. The value is a
// free choice.
const surprise = .9

// Move compares the state of a waiting job at its submission (then) with the present state. For a held job the cause is
// MovedHeld. Otherwise the cause belongs to the largest of three amounts: lost capacity, processors of overrun jobs,
// and processors of jobs that passed the job; of equal amounts the first of these counts. If all three are 0, it is
// MovedOn or MovedTime. pivots are the running jobs that the start depends on; if it is nil, no overrun is found.
func (v *View) Move(w *Waiting, then *Served, pivots []Pivot, now time.Time) Move {
	var m Move
	if has := v.Pool(w.Job.Queue).Capacity(cluster.Procs); then.Capacity > has {
		m.Lost = then.Capacity - has
	}
	waited, over := now.Sub(w.Job.Submit).Seconds(), 0
	for _, p := range pivots {
		// An unknown probability is NaN, which does not count.
		if ran := p.Age - waited; ran >= 0 && p.Outlived(math.Max(0, waited)) >= surprise {
			m.Overrun, over = append(m.Overrun, p), over+p.Procs
		}
	}
	m.Passed = max(0, w.AheadProcs-then.AheadProcs)
	passed := MovedPassed
	if w.Job.Priority < then.Priority {
		passed = MovedPriority
	}
	switch most := max(m.Lost, over, m.Passed); {
	case w.Job.Held:
		m.Cause = MovedHeld
	case most == 0 && w.Ahead < then.Ahead:
		m.Cause = MovedOn
	case most == 0:
		m.Cause = MovedTime
	case m.Lost == most:
		m.Cause = MovedCapacity
	case over == most:
		m.Cause = MovedOverrun
	default:
		m.Cause = passed
	}
	return m
}
