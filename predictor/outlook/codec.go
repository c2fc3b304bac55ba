package outlook

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
)

// ErrCorrupt reports that bytes are not a saved Forecaster.
var ErrCorrupt = errors.New("outlook: not a saved forecaster")

// ErrOptions reports that a saved Forecaster was made with other horizons, another step or other bounds: start from
// scratch.
var ErrOptions = errors.New("outlook: saved with other options")

const (
	magic     = "wcoutl01" // the last two are the version
	mostBytes = 1 << 29
)

// file is what is saved.
type file struct {
	Horizons     []float64
	Every        float64
	Jobs, Queues int
	Laws         []byte
	State        saved
	Live         []alive
	Streams      []stream // by model; a span of 0 is none
}

// alive is a job that waits or runs, with its place in the ring.
type alive struct {
	Job  Job
	Slot int
}

// MarshalBinary saves everything learnt, what is awaited included: some 4 MB at first, and with the default options
// some 35 MB in the end, most of it the rows that trees are trained on.
func (f *Forecaster) MarshalBinary() ([]byte, error) {
	laws, err := f.laws.MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("outlook: save: %w", err)
	}
	o := &f.options
	out := file{Horizons: o.Horizons, Every: o.Every, Jobs: o.Jobs, Queues: o.Queues, Laws: laws, State: f.s,
		Streams: make([]stream, arrivalModels)}
	for id, slot := range f.live {
		out.Live = append(out.Live, alive{f.jobs[id], slot})
	}
	slices.SortFunc(out.Live, func(a, b alive) int { return cmp.Compare(a.Slot, b.Slot) })
	for m, s := range f.streams {
		if s != nil {
			out.Streams[m] = *s
		}
	}
	var body bytes.Buffer
	if err := gob.NewEncoder(&body).Encode(&out); err != nil {
		return nil, fmt.Errorf("outlook: save: %w", err)
	}
	head := binary.BigEndian.AppendUint32([]byte(magic), crc32.ChecksumIEEE(body.Bytes()))
	return append(head, body.Bytes()...), nil
}

// Load returns the Forecaster that was saved: what it then learns and forecasts is what the saved one would, given the
// same Options. The error wraps ErrCorrupt or ErrOptions, or names the option that cannot be.
func Load(o Options, data []byte) (*Forecaster, error) {
	f, err := New(o)
	if err != nil {
		return nil, err
	}
	const head = len(magic) + 4
	if len(data) < head || len(data) > mostBytes || string(data[:len(magic)]) != magic {
		return nil, fmt.Errorf("%w: %d bytes that do not begin with %s", ErrCorrupt, len(data), magic)
	}
	if binary.BigEndian.Uint32(data[len(magic):]) != crc32.ChecksumIEEE(data[head:]) {
		return nil, fmt.Errorf("%w: the checksum differs", ErrCorrupt)
	}
	var in file
	if err := gob.NewDecoder(bytes.NewReader(data[head:])).Decode(&in); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	p := &f.options
	if !slices.Equal(in.Horizons, p.Horizons) || in.Every != p.Every || in.Jobs != p.Jobs || in.Queues != p.Queues {
		return nil, fmt.Errorf("%w: horizons %v, every %g s, %d jobs, %d queues", ErrOptions, in.Horizons, in.Every,
			in.Jobs, in.Queues)
	}
	if err := f.laws.UnmarshalBinary(in.Laws); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if err := f.restore(&in); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return f, nil
}

// restore takes over what was read, once it is known to be whole.
func (f *Forecaster) restore(in *file) error {
	s := &in.State
	for _, check := range []func(*saved) error{f.checkJobs, f.checkQueues, f.checkLearnt, f.checkAwaited} {
		if err := check(s); err != nil {
			return err
		}
	}
	for i := range in.Live {
		l := &in.Live[i]
		j := &l.Job
		if l.Slot < 0 || l.Slot >= len(s.Ring) || s.Ring[l.Slot].ID != j.ID || j.Procs < 1 || !isTime(j.Submit) ||
			!isTime(j.Limit) {
			return fmt.Errorf("job %d in slot %d", j.ID, l.Slot)
		}
		f.live[j.ID], f.jobs[j.ID] = l.Slot, *j
	}
	if len(in.Streams) != arrivalModels {
		return fmt.Errorf("%d streams of arrivals", len(in.Streams))
	}
	for m := range in.Streams {
		if in.Streams[m].Span == 0 {
			continue
		}
		if err := in.Streams[m].check(); err != nil {
			return err
		}
		f.streams[m] = &in.Streams[m]
	}
	f.s = *s
	f.scopes = map[string]int{}
	for i, q := range f.s.Queues {
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

func (c *corrector) check() error {
	if c.Dressed == nil || c.Line == nil || c.Blend == nil || c.Blend.Experts() != experts || len(c.Rows) > mostRows ||
		c.Added < 0 || c.Trained < 0 {
		return fmt.Errorf("a corrector of %d rows without its parts", len(c.Rows))
	}
	for _, trees := range c.Trees {
		if len(trees) != 0 && len(trees) != levels {
			return fmt.Errorf("trees of %d levels", len(trees))
		}
		for _, m := range trees {
			if m.Features != featureCount {
				return fmt.Errorf("trees of %d features", m.Features)
			}
		}
	}
	for i := range c.Rows {
		if len(c.Rows[i].X) != featureCount {
			return fmt.Errorf("a row of %d features", len(c.Rows[i].X))
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
