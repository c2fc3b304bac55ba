package conformal

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/waitcast/waitcast/predictor/codec"
)

// version is the first byte of the saved form.
const version = 2

type saved struct {
	Config   Config
	Accounts []account
	Jobs     []pending // in the order in which they were served
	Seq      uint64
	Clock    float64
}

// code passes all that is saved.
func (s *saved) code(c *codec.Codec) {
	o := &s.Config
	c.Reals(&o.Levels)
	c.Finite(&o.Resolution, &o.Rate, &o.Memory, &o.Bound, &o.Slope, &o.Dead, &o.KeepCancelled)
	c.Int(&o.MaxGroups, &o.MaxPending)
	codec.List(c, &s.Accounts, func(a *account) {
		c.Text(&a.Name)
		for _, shifts := range [...]*[]shift{&a.Above, &a.Zero} {
			codec.List(c, shifts, func(h *shift) { c.Finite(&h.Beta, &h.Mean, &h.N) })
		}
	})
	codec.List(c, &s.Jobs, func(j *pending) { j.code(c) })
	c.Uint(&s.Seq)
	c.Any(&s.Clock)
}

func (j *pending) code(c *codec.Codec) {
	id := uint64(j.ID)
	c.Uint(&id, &j.Seq, &j.Zero)
	j.ID = int64(id)
	c.Any(&j.Submit, &j.Start, &j.Cancel)
	c.Int(&j.NGroups, &j.Next)
	for i := range j.Groups {
		c.Int(&j.Groups[i])
	}
	for _, list := range [...]*[]float64{&j.Q, &j.Earned} {
		codec.List(c, list, func(v *float64) { c.Any(v) })
	}
}

// MarshalBinary saves the state, pending jobs too; the same history gives the same bytes, in every process.
func (c *Calibrator) MarshalBinary() ([]byte, error) {
	s := saved{Config: c.cfg, Accounts: c.accounts, Seq: c.jobs.seq, Clock: c.clock}
	for _, slot := range c.jobs.index {
		s.Jobs = append(s.Jobs, *c.jobs.slots[slot])
	}
	slices.SortFunc(s.Jobs, func(a, b pending) int { return cmp.Compare(a.Seq, b.Seq) })
	out := &codec.Codec{Writer: codec.Writer{version}}
	s.code(out)
	return out.Writer, nil
}

// UnmarshalBinary restores what MarshalBinary saved. After an error the Calibrator is as it was.
func (c *Calibrator) UnmarshalBinary(data []byte) error {
	in := &codec.Codec{Reader: codec.Reader{Rest: data}, Reading: true}
	var s saved
	if in.Byte() == version {
		s.code(in)
	}
	if in.Bad || len(in.Rest) > 0 || len(data) == 0 {
		return fmt.Errorf("conformal: saved state: %d bytes that no calibrator of this version wrote: start afresh",
			len(data))
	}
	out, err := New(s.Config)
	if err != nil {
		return fmt.Errorf("conformal: saved state: %w", err)
	}
	if err := out.restoreAccounts(s.Accounts); err != nil {
		return err
	}
	out.clock = s.Clock
	for i := range s.Jobs {
		if err := out.restoreJob(&s.Jobs[i]); err != nil {
			return err
		}
	}
	out.jobs.seq, out.observe = s.Seq, c.observe
	*c = *out
	return nil
}

func (c *Calibrator) restoreAccounts(accounts []account) error {
	n := len(c.cfg.Levels)
	if len(accounts) == 0 || len(accounts) > 1+c.cfg.MaxGroups || accounts[0].Name != "" {
		return fmt.Errorf("conformal: saved state: %d accounts, or the first is not that of all jobs", len(accounts))
	}
	c.accounts = accounts
	for i, a := range accounts {
		bad := func(s shift) bool {
			return math.IsNaN(s.Beta-s.Beta) || math.IsNaN(s.Mean-s.Mean) || !(s.N >= 0) || math.IsInf(s.N, 1)
		}
		if len(a.Above) != n || len(a.Zero) != n || slices.ContainsFunc(a.Above, bad) ||
			slices.ContainsFunc(a.Zero, bad) {
			return fmt.Errorf("conformal: saved state: account %q is not of %d levels with finite numbers", a.Name, n)
		}
		c.index[a.Name] = i
	}
	return nil
}

func (c *Calibrator) restoreJob(j *pending) error {
	n := len(c.cfg.Levels)
	bad := len(j.Q) != n || len(j.Earned) != n || j.Next < 0 || j.Next > n || math.IsNaN(j.Submit) || j.NGroups < 1 ||
		j.NGroups > len(j.Groups)
	for _, g := range j.Groups {
		bad = bad || g < 0 || g >= len(c.accounts)
	}
	if _, twice := c.jobs.index[j.ID]; bad || twice {
		return fmt.Errorf("conformal: saved state: job %d is damaged or twice there", j.ID)
	}
	slot := c.jobs.take(j.ID, n)
	*slot = *j
	slot.at = -1
	slot.due = slot.Submit + c.up(slot.Q[n-1]) + linger
	if slot.Next < n {
		slot.due = slot.Submit + c.up(slot.Q[slot.Next])
	}
	c.jobs.schedule(slot)
	return nil
}
