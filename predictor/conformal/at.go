package conformal

import (
	"maps"
	"slices"
)

// At returns a Calibrator that corrects as c will once event time has come to now, to be asked only: of the pending
// jobs it has none but those that are due by then. It costs what the accounts and those jobs do, not what all pending
// jobs would.
func (c *Calibrator) At(now float64) *Calibrator {
	out := &Calibrator{cfg: c.cfg, index: make(map[string]int, len(c.index)), clock: c.clock, logit: c.logit,
		step: c.step, z: make([]float64, len(c.z))}
	out.accounts = make([]account, len(c.accounts))
	for i, a := range c.accounts {
		out.accounts[i] = account{Name: a.Name, Above: slices.Clone(a.Above), Zero: slices.Clone(a.Zero)}
		out.index[a.Name] = i
	}
	out.jobs.index = map[int64]int{}
	c.copyDue(0, now, out)
	out.Advance(now)
	out.jobs = ledger{index: map[int64]int{}}
	return out
}

// copyDue copies the jobs of the heap from a place on that are due before now: what stands below a job in the heap is
// due no sooner.
func (c *Calibrator) copyDue(place int, now float64, to *Calibrator) {
	if place >= len(c.jobs.order) {
		return
	}
	j := c.jobs.slots[c.jobs.order[place]]
	if !(j.due < now) {
		return
	}
	slot := to.jobs.take(j.ID, len(j.Q))
	q, earned := slot.Q, slot.Earned
	copy(q, j.Q)
	copy(earned, j.Earned)
	*slot = *j
	slot.Q, slot.Earned, slot.at = q, earned, -1
	to.jobs.schedule(slot)
	c.copyDue(2*place+1, now, to)
	c.copyDue(2*place+2, now, to)
}

// Clone returns an independent copy, with the same pending jobs, to which nobody listens.
func (c *Calibrator) Clone() *Calibrator {
	out := &Calibrator{cfg: c.cfg, index: maps.Clone(c.index), clock: c.clock, logit: c.logit, step: c.step,
		z: make([]float64, len(c.z))}
	out.accounts = make([]account, len(c.accounts))
	for i, a := range c.accounts {
		out.accounts[i] = account{Name: a.Name, Above: slices.Clone(a.Above), Zero: slices.Clone(a.Zero)}
	}
	out.jobs = ledger{free: slices.Clone(c.jobs.free), index: maps.Clone(c.jobs.index),
		order: slices.Clone(c.jobs.order), seq: c.jobs.seq}
	for _, j := range c.jobs.slots {
		copied := *j
		copied.Q, copied.Earned = slices.Clone(j.Q), slices.Clone(j.Earned)
		out.jobs.slots = append(out.jobs.slots, &copied)
	}
	return out
}
