package conformal

import (
	"cmp"
	"math"
	"slices"

	"github.com/waitcast/waitcast/internal/codec"
)

// kind and version identify the format of the saved state.
const kind, version = "conformal", 3

// fields reads or writes the saved state, including pending jobs.
func (c *Calibrator) fields(s *codec.Codec) {
	o := &c.cfg
	s.Reals(&o.Levels)
	s.Finite(&o.Resolution, &o.Rate, &o.Memory, &o.Bound, &o.Slope, &o.Dead, &o.KeepCancelled)
	s.Int(&o.MaxGroups, &o.MaxPending)
	if s.Reading {
		fresh, err := New(*o)
		if err != nil {
			s.Refuse(err)
			return
		}
		fresh.observe = c.observe
		*c = *fresh
	}
	codec.List(s, &c.accounts, func(a *account) { a.fields(s) })
	if c.checkAccounts(s); s.Bad {
		return
	}
	var jobs []*pending // in the order in which they were served
	for _, slot := range c.jobs.index {
		jobs = append(jobs, c.jobs.slots[slot])
	}
	slices.SortFunc(jobs, func(a, b *pending) int { return cmp.Compare(a.Seq, b.Seq) })
	codec.List(s, &jobs, func(j **pending) {
		if s.Reading {
			*j = &pending{}
		}
		if (*j).fields(s); s.Reading && !s.Bad {
			c.resume(s, *j)
		}
	})
	s.Uint(&c.jobs.seq)
	s.Any(&c.clock)
}

func (a *account) fields(s *codec.Codec) {
	s.Text(&a.Name)
	for _, shifts := range [...]*[]shift{&a.Above, &a.Zero} {
		codec.List(s, shifts, func(h *shift) {
			s.Finite(&h.Beta, &h.Mean)
			s.Between(0, math.MaxFloat64, &h.N)
		})
	}
}

func (j *pending) fields(s *codec.Codec) {
	codec.Number(s, &j.ID)
	s.Uint(&j.Seq, &j.Zero)
	s.Any(&j.Submit, &j.Start, &j.Cancel)
	s.Int(&j.NGroups, &j.Next)
	for i := range j.Groups {
		s.Int(&j.Groups[i])
	}
	for _, list := range [...]*[]float64{&j.Q, &j.Earned} {
		codec.List(s, list, func(v *float64) { s.Any(v) })
	}
}

// checkAccounts checks the accounts that were just read, and indexes them.
func (c *Calibrator) checkAccounts(s *codec.Codec) {
	if !s.Reading {
		return
	}
	n := len(c.cfg.Levels)
	s.Check(len(c.accounts) > 0 && len(c.accounts) <= 1+c.cfg.MaxGroups && c.accounts[0].Name == "",
		"%d accounts, or the first is not that of all jobs", len(c.accounts))
	c.index = map[string]int{}
	for i, a := range c.accounts {
		s.Check(len(a.Above) == n && len(a.Zero) == n, "account %q is not of %d levels", a.Name, n)
		c.index[a.Name] = i
	}
}

// resume adds a pending job that was just read.
func (c *Calibrator) resume(s *codec.Codec, j *pending) {
	n := len(c.cfg.Levels)
	bad := len(j.Q) != n || len(j.Earned) != n || j.Next < 0 || j.Next > n || math.IsNaN(j.Submit) || j.NGroups < 1 ||
		j.NGroups > len(j.Groups)
	for _, g := range j.Groups {
		bad = bad || g < 0 || g >= len(c.accounts)
	}
	if _, twice := c.jobs.index[j.ID]; bad || twice {
		s.Failf("job %d is damaged or twice there", j.ID)
		return
	}
	slot := c.jobs.take(j.ID, n)
	*slot = *j
	slot.at = -1
	slot.due = slot.Submit + c.up(slot.Q[n-1]) + linger
	if slot.Next < n {
		slot.due = slot.Submit + c.up(slot.Q[slot.Next])
	}
	c.jobs.schedule(slot)
}

// Code reads or writes the corrections and the pending jobs as a part of other saved state.
func (c *Calibrator) Code(s *codec.Codec) { s.Part(kind, version, c.fields) }

// MarshalBinary saves the state, including pending jobs. Equal histories give equal bytes, in every process.
func (c *Calibrator) MarshalBinary() ([]byte, error) { return codec.Save(kind, version, 0, c.fields) }

// UnmarshalBinary restores a state that MarshalBinary saved. An error is a *codec.Error and leaves the Calibrator
// unchanged.
func (c *Calibrator) UnmarshalBinary(data []byte) error {
	return codec.Restore(c, kind, version, data, (*Calibrator).fields)
}
