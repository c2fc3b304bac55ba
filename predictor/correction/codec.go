package correction

import (
	"cmp"
	"math"
	"slices"

	"github.com/waitcast/waitcast/internal/codec"
)

// kind and version identify the format of the saved state.
const kind, version = "correction", 1

// fields reads or writes the saved state, including pending jobs.
func (c *Correction) fields(s *codec.Codec) {
	o := &c.cfg
	s.Reals(&o.Levels)
	s.Int(&o.MaxPending)
	if s.Reading {
		fresh, err := New(*o)
		if err != nil {
			s.Refuse(err)
			return
		}
		fresh.observe = c.observe
		*c = *fresh
	}
	for i := range c.cells {
		codec.Optional(s, &c.cells[i], func(x *cell) {
			s.Between(0, math.MaxFloat64, &x.N, &x.Open, &x.Crowd)
			s.Reals(&x.Shifts)
			s.Check(len(x.Shifts) == len(o.Levels), "group %d is not of %d levels", i, len(o.Levels))
		})
	}
	jobs := slices.SortedFunc(slices.Values(c.jobs.order), func(a, b *pending) int { return cmp.Compare(a.Seq, b.Seq) })
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

func (j *pending) fields(s *codec.Codec) {
	codec.Number(s, &j.ID)
	s.Uint(&j.Seq, &j.Full)
	s.Any(&j.Submit, &j.Start, &j.End)
	s.Text(&j.Queue)
	s.Array(j.Weights[:])
	codec.Number(s, &j.Groups[0], &j.Groups[1], &j.Groups[2], &j.Groups[3])
	s.Int(&j.Next)
	s.Reals(&j.Q)
	s.Reals(&j.Earned)
}

// resume adds a pending job that was just read.
func (c *Correction) resume(s *codec.Codec, j *pending) {
	n := len(c.cfg.Levels)
	bad := len(j.Q) != n || len(j.Earned) != n || j.Next < 0 || j.Next > n || math.IsNaN(j.Submit)
	for _, i := range j.Groups {
		bad = bad || i < -1 || i >= cells
	}
	if c.jobs.byID[j.ID] != nil || bad {
		s.Failf("job %d is damaged or twice there", j.ID)
		return
	}
	j.due = j.Submit + j.Q[n-1] + linger
	if j.Next < n {
		j.due = j.Submit + j.Q[j.Next]
	}
	c.jobs.add(j)
}

// Code reads or writes the corrections and the pending jobs as a part of other saved state.
func (c *Correction) Code(s *codec.Codec) { s.Part(kind, version, c.fields) }

// MarshalBinary saves the state, including pending jobs. Equal histories give equal bytes, in every process.
func (c *Correction) MarshalBinary() ([]byte, error) { return codec.Save(kind, version, 0, c.fields) }

// UnmarshalBinary restores a state that MarshalBinary saved. An error is a *codec.Error and leaves the Correction
// unchanged.
func (c *Correction) UnmarshalBinary(data []byte) error {
	return codec.Restore(c, kind, version, data, (*Correction).fields)
}
