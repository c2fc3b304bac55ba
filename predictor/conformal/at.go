package conformal

import (
	"maps"
	"slices"
)

// At returns a read-only Calibrator that corrects as c will at the event time now. It copies only the pending jobs
// that are due by then. So its cost depends on the accounts and on those jobs, not on all pending jobs.
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

// copyDue copies the jobs that are due before now from c to another Calibrator. It starts at the index place of the
// heap and continues with the children of each due job, because they are not due before it.
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

// Clone returns an independent copy, with the same pending jobs and without an observer.
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
