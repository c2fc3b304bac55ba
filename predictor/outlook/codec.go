package outlook

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/predictor/blend"
	"github.com/waitcast/waitcast/predictor/boost"
	"github.com/waitcast/waitcast/predictor/linear"
)

// kind and version identify the format of the saved state.
const kind, version = "outlook", 2

// alive is a job that waits or runs, with its index in the ring.
type alive struct {
	Job  Job
	Slot int
}

// MarshalBinary saves the whole state, including the forecasts whose outcomes are not known yet. The result has about 4
// MB at first, and up to 35 MB with the default options. Most of it is rows for training trees.
func (f *Forecaster) MarshalBinary() ([]byte, error) { return codec.Save(kind, version, 0, f.fields) }

// Load returns a saved Forecaster, which behaves like the saved one if Options are equal. The error is a *codec.Error,
// or names the invalid option. It wraps codec.ErrConfig if the Forecaster was saved with other Horizons, Every, Jobs or
// Queues.
func Load(o Options, data []byte) (*Forecaster, error) {
	f, err := New(o)
	if err != nil {
		return nil, err
	}
	if err := codec.Load(kind, version, data, f.fields); err != nil {
		return nil, err
	}
	return f, nil
}

// fields reads or writes all saved state.
func (f *Forecaster) fields(c *codec.Codec) {
	o := &f.options
	horizons, every, jobs, queues := o.Horizons, o.Every, o.Jobs, o.Queues
	c.Reals(&horizons)
	c.Finite(&every)
	c.Int(&jobs, &queues)
	if !c.Bad && (!slices.Equal(horizons, o.Horizons) || every != o.Every || jobs != o.Jobs || queues != o.Queues) {
		c.Differs("horizons %v, every %g s, %d jobs, %d queues", horizons, every, jobs, queues)
		return
	}
	f.laws.Code(c)
	f.s.fields(c)
	var live []alive
	for id, slot := range f.live {
		live = append(live, alive{f.jobs[id], slot})
	}
	slices.SortFunc(live, func(a, b alive) int { return cmp.Compare(a.Slot, b.Slot) })
	codec.List(c, &live, func(l *alive) {
		c.Int(&l.Slot)
		l.Job.fields(c)
	})
	for m := range f.streams {
		codec.Optional(c, &f.streams[m], func(s *stream) { s.fields(c) })
	}
	if c.Reading && !c.Bad {
		c.Refuse(f.restore(live))
	}
}

// anyArray reads or writes a fixed number of numbers, which may be NaN or infinite.
func anyArray(c *codec.Codec, all []float64) {
	for i := range all {
		c.Any(&all[i])
	}
}

func (j *Job) fields(c *codec.Codec) {
	c.Uint(&j.ID)
	c.Text(&j.Queue, &j.User, &j.App)
	codec.Number(c, &j.Procs)
	c.Any(&j.Limit, &j.Submit, &j.Eligible, &j.Start)
}

func (s *saved) fields(c *codec.Codec) {
	codec.List(c, &s.Ring, func(r *record) {
		c.Uint(&r.ID)
		c.Signed(&r.User)
		codec.Number(c, &r.Queue, &r.Procs)
		c.Real(&r.Submit, &r.Limit, &r.Runtime, &r.Wait)
	})
	c.Int(&s.Next)
	codec.List(c, &s.Queues, func(name *string) { c.Text(name) })
	codec.List(c, &s.Totals, func(t *total) { t.fields(c) })
	codec.List(c, &s.Trail, func(l *loadSample) {
		c.Real(&l.At)
		codec.List(c, &l.Values, func(v *values) { anyArray(c, v[:]) })
	})
	c.Real(&s.Refitted)
	c.Int(&s.Model)
	for m := range s.Models {
		s.Models[m].fields(c)
	}
	for class := range s.Correctors {
		codec.List(c, &s.Correctors[class], func(k **corrector) {
			if c.Reading {
				*k = &corrector{}
			}
			(*k).fields(c)
		})
	}
	codec.List(c, &s.Shifts, func(of *[]shift) {
		codec.List(c, of, func(x *shift) { c.Any(&x.Low, &x.High, &x.N) })
	})
	for class := range s.Scores {
		codec.List(c, &s.Scores[class], func(t *scoreSums) { t.fields(c) })
	}
	codec.List(c, &s.Awaited, func(all *[]awaited) {
		codec.List(c, all, func(a *awaited) { a.fields(c) })
	})
}

func (t *total) fields(c *codec.Codec) { c.Any(&t.Jobs, &t.Work) }

func (m *mean) fields(c *codec.Codec) { c.Any(&m.N, &m.Mean) }

func (t *scoreSums) fields(c *codec.Codec) {
	for m := range t.Loss {
		for l := range t.Loss[m] {
			t.Loss[m][l].fields(c)
		}
	}
	t.Below.fields(c)
	t.Above.fields(c)
}

func (a *awaited) fields(c *codec.Codec) {
	c.Any(&a.At, &a.Due, &a.Procs)
	codec.List(c, &a.Shared, func(v *float64) { c.Any(v) })
	codec.List(c, &a.Totals, func(t *total) { t.fields(c) })
	codec.List(c, &a.Rows, func(r *row) {
		anyArray(c, r.Own[:])
		c.Singles(&r.Said)
		anyArray(c, r.Raw[:])
		anyArray(c, r.Served[:])
	})
	for m := range a.Models {
		for of := range a.Models[m] {
			anyArray(c, a.Models[m][of][:])
		}
	}
}

func (k *corrector) fields(c *codec.Codec) {
	if c.Reading {
		k.Dressed, k.Line, k.Blend = &linear.Model{}, &linear.Model{}, &blend.Blend{}
	}
	k.Dressed.Code(c)
	k.Line.Code(c)
	k.Blend.Code(c)
	for of := range k.Trees {
		codec.List(c, &k.Trees[of], func(m **boost.Model) {
			if c.Reading {
				*m = &boost.Model{}
			}
			(*m).Code(c)
		})
	}
	for l := range k.Snap {
		anyArray(c, k.Snap[l][:])
	}
	codec.List(c, &k.Rows, func(r *lesson) {
		c.Any(&r.At)
		c.Singles(&r.X)
		c.Single(&r.Y)
	})
	c.Int(&k.Added, &k.Trained)
}

func (s *stream) fields(c *codec.Codec) {
	c.Real(&s.Span, &s.Period, &s.Origin)
	c.Flag(&s.Local)
	codec.List(c, &s.Jobs, func(a *arrival) {
		c.Real(&a.At, &a.Runtime, &a.Limit)
		codec.Number(c, &a.Procs, &a.Scope)
	})
}

// restore checks the state that was just read, and computes the derived fields.
func (f *Forecaster) restore(live []alive) error {
	s := &f.s
	for _, check := range []func(*saved) error{f.checkJobs, f.checkQueues, f.checkLearnt, f.checkAwaited} {
		if err := check(s); err != nil {
			return err
		}
	}
	for i := range live {
		l := &live[i]
		j := &l.Job
		if l.Slot >= len(s.Ring) || s.Ring[l.Slot].ID != j.ID || j.Procs < 1 || !isTime(j.Submit) ||
			!isTime(j.Limit) {
			return fmt.Errorf("job %d in slot %d", j.ID, l.Slot)
		}
		f.live[j.ID], f.jobs[j.ID] = l.Slot, *j
	}
	for _, one := range f.streams {
		if one == nil {
			continue
		}
		if err := one.check(); err != nil {
			return err
		}
	}
	f.scopes = map[string]int{}
	for i, q := range s.Queues {
		f.scopes[q] = i + 1
	}
	return nil
}

func (s *stream) check() error {
	if (s.Period != day && s.Period != week) || !(s.Span >= day && s.Span <= 10*52*week) || !isTime(s.Origin) ||
		len(s.Jobs) > 2*streamJobs {
		return fmt.Errorf("a stream of %d jobs in %g s, period %g s", len(s.Jobs), s.Span, s.Period)
	}
	last := 0.
	for _, a := range s.Jobs {
		if !(a.At >= last && a.At <= s.Span) || !isTime(a.Runtime) || !(a.Limit > 0 && isTime(a.Limit)) ||
			a.Procs < 1 || a.Scope < 1 {
			return fmt.Errorf("a drawn job %+v", a)
		}
		last = a.At
	}
	return nil
}

func (f *Forecaster) checkJobs(s *saved) error {
	n := len(s.Ring)
	if n > f.options.Jobs || s.Next < 0 || s.Next >= f.options.Jobs || n < f.options.Jobs && s.Next != n {
		return fmt.Errorf("a ring of %d jobs, next %d", n, s.Next)
	}
	for i := range s.Ring {
		r := &s.Ring[i]
		if r.Procs < 1 || r.Queue < 1 || int(r.Queue) > len(s.Queues) || !isTime(r.Submit) ||
			!(r.Limit > 0 && isTime(r.Limit)) ||
			!(r.Runtime >= -1 && r.Runtime < 1e15) || !(r.Wait >= -1 && r.Wait < 1e15) {
			return fmt.Errorf("a recorded job %+v", *r)
		}
	}
	return nil
}

func (f *Forecaster) checkQueues(s *saved) error {
	if len(s.Queues) < 1 || len(s.Queues) > f.options.Queues || s.Queues[0] != "" || len(s.Totals) != 1+len(s.Queues) {
		return fmt.Errorf("%d queues, %d totals", len(s.Queues), len(s.Totals))
	}
	for i, q := range s.Queues {
		if slices.Contains(s.Queues[:i], q) {
			return fmt.Errorf("queue %q twice", q)
		}
	}
	for _, t := range s.Totals {
		if !(t.Jobs >= 0 && t.Work >= 0) || math.IsInf(t.Jobs+t.Work, 1) {
			return fmt.Errorf("a total %+v", t)
		}
	}
	last := math.Inf(-1)
	for _, l := range s.Trail {
		if !(l.At > last && isTime(l.At)) || len(l.Values) < 1 || len(l.Values) > 1+len(s.Queues) {
			return fmt.Errorf("a look at %g s of %d scopes", l.At, len(l.Values))
		}
		last = l.At
	}
	return nil
}

func (f *Forecaster) checkLearnt(s *saved) error {
	n := len(f.options.Horizons) * int(seriesCount)
	if s.Model < 0 || s.Model >= arrivalModels || !isTime(s.Refitted) || len(s.Shifts) > 1+len(s.Queues) {
		return fmt.Errorf("model %d, refitted at %g s, %d shifts", s.Model, s.Refitted, len(s.Shifts))
	}
	for _, x := range s.Shifts {
		if len(x) != n {
			return fmt.Errorf("%d shifts of a scope, %d belong", len(x), n)
		}
	}
	for c := range s.Correctors {
		if len(s.Correctors[c]) != n || len(s.Scores[c]) != n {
			return fmt.Errorf("%d correctors and %d scores, %d belong", len(s.Correctors[c]), len(s.Scores[c]), n)
		}
		for _, one := range s.Correctors[c] {
			if err := one.check(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (k *corrector) check() error {
	if k.Blend.Experts() != experts || len(k.Rows) > mostRows {
		return fmt.Errorf("a corrector of %d experts with %d rows", k.Blend.Experts(), len(k.Rows))
	}
	for _, trees := range k.Trees {
		if len(trees) != 0 && len(trees) != levels {
			return fmt.Errorf("trees of %d levels", len(trees))
		}
		for _, m := range trees {
			if m.Features != featureCount {
				return fmt.Errorf("trees of %d features", m.Features)
			}
		}
	}
	for i := range k.Rows {
		if len(k.Rows[i].X) != featureCount {
			return fmt.Errorf("a row of %d features", len(k.Rows[i].X))
		}
	}
	return nil
}

func (f *Forecaster) checkAwaited(s *saved) error {
	if len(s.Awaited) != len(f.options.Horizons) {
		return fmt.Errorf("forecasts for %d horizons are awaited", len(s.Awaited))
	}
	for _, list := range s.Awaited {
		for i := range list {
			a := &list[i]
			if !isTime(a.At) || !isTime(a.Due) || !(a.Procs >= 1) || len(a.Shared) != ownAt ||
				len(a.Rows)%int(seriesCount) != 0 ||
				len(a.Rows) > (1+len(s.Queues))*int(seriesCount) || len(a.Rows) > len(s.Shifts)*int(seriesCount) ||
				len(a.Totals) > 1+len(s.Queues) {
				return fmt.Errorf("a forecast of %g s for %g s with %d rows", a.At, a.Due, len(a.Rows))
			}
			for k := range a.Rows {
				if n := len(a.Rows[k].Said); n != 0 && n != levels*experts {
					return fmt.Errorf("a row of what %d experts said", n)
				}
			}
		}
	}
	return nil
}
