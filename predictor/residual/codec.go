package residual

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
)

// codecVersion is the first byte of a saved Model. Version 1 goes on with the configuration, the counts of ended jobs,
// the classes, the users and the running jobs, each in order of its key; integers are varints and reals 8 bytes.
const codecVersion = 1

// ErrCorrupt reports that bytes are not a saved Model.
var ErrCorrupt = errors.New("residual: not a saved model")

// MarshalBinary saves the model with the jobs that run: the same history gives the same bytes.
func (m *Model) MarshalBinary() ([]byte, error) {
	w := writer{codecVersion}
	c := &m.config
	w.uint(uint64(c.Runs), uint64(c.Users), uint64(c.Classes))
	w.real(c.reals()...)
	w.uint(m.ended)
	w.real(m.reached, m.outlived)
	w.uint(uint64(len(m.classes)))
	for _, k := range slices.SortedFunc(maps.Keys(m.classes), classKey.compare) {
		w.class(k, m.classes[k])
	}
	w.uint(uint64(len(m.users)))
	for _, k := range slices.SortedFunc(maps.Keys(m.users), userKey.compare) {
		h := m.users[k]
		w.text(k.queue, k.user)
		w.uint(h.used, uint64(len(h.runs)))
		for _, r := range h.runs {
			w.real(r.seconds, r.limit)
			w.uint(r.app, uint64(r.procs))
		}
	}
	w.uint(uint64(len(m.open)))
	for _, id := range slices.Sorted(maps.Keys(m.open)) {
		r := m.open[id]
		w.uint(uint64(id))
		w.text(r.job.Queue, r.job.User, r.job.App)
		w.uint(uint64(r.job.Procs))
		w.real(r.job.Limit, r.start)
		w.uint(r.since[:]...)
	}
	return w, nil
}

func (c *Config) reals() []float64 {
	return []float64{c.Memory, c.Recency, c.Prior, c.Parent, c.Width, c.Sharp, c.SameApp, c.SameLimit, c.SameSize}
}

func (k classKey) compare(o classKey) int {
	return cmp.Or(cmp.Compare(k.kind, o.kind), cmp.Compare(k.queue, o.queue), cmp.Compare(k.side(), o.side()),
		cmp.Compare(k.limit, o.limit))
}

func (k classKey) side() uint64 {
	if k.serial {
		return 1
	}
	return 0
}

func (k userKey) compare(o userKey) int {
	return cmp.Or(cmp.Compare(k.queue, o.queue), cmp.Compare(k.user, o.user))
}

type writer []byte

func (w *writer) uint(all ...uint64) {
	for _, v := range all {
		*w = binary.AppendUvarint(*w, v)
	}
}

func (w *writer) real(all ...float64) {
	for _, v := range all {
		*w = binary.LittleEndian.AppendUint64(*w, math.Float64bits(v))
	}
}

func (w *writer) text(all ...string) {
	for _, s := range all {
		w.uint(uint64(len(s)))
		*w = append(*w, s...)
	}
}

// class writes a class; of its cells only those that are not 0.
func (w *writer) class(k classKey, c *class) {
	w.text(k.queue)
	w.uint(uint64(k.kind), k.side(), uint64(int64(k.limit)))
	w.real(c.total, c.weight)
	w.uint(uint64(c.pending), c.n, c.used)
	n := 0
	for i, v := range c.counts {
		if v > 0 || c.hazard[i] > 0 {
			n++
		}
	}
	w.uint(uint64(n))
	for i, v := range c.counts {
		if v > 0 || c.hazard[i] > 0 {
			w.uint(uint64(i))
			w.real(v, c.hazard[i])
		}
	}
}

// UnmarshalBinary restores a model saved by MarshalBinary: it then learns and answers, to the last bit, as the saved
// one would. On an error the model stays as it was. A model that it accepts answers within the bounds that Law states,
// even if the bytes were damaged.
func (m *Model) UnmarshalBinary(data []byte) error {
	d := decoder{rest: data}
	if v := d.uint(); !d.bad && v != codecVersion {
		return fmt.Errorf("residual: saved model is version %d, this program reads %d", v, codecVersion)
	}
	c := Config{Runs: d.count(math.MaxInt32), Users: d.count(math.MaxInt32), Classes: d.count(math.MaxInt32)}
	for _, v := range []*float64{
		&c.Memory, &c.Recency, &c.Prior, &c.Parent, &c.Width, &c.Sharp, &c.SameApp, &c.SameLimit, &c.SameSize,
	} {
		*v = d.real()
	}
	in := New(c)
	in.ended, in.reached, in.outlived = d.uint(), d.within(longest), d.within(longest)
	for n := d.uint(); n > 0 && !d.bad; n-- {
		d.class(in.classes)
	}
	for n := d.uint(); n > 0 && !d.bad; n-- {
		d.history(in)
	}
	for n := d.uint(); n > 0 && !d.bad; n-- {
		id := int64(d.uint())
		r := running{job: Job{Queue: d.text(), User: d.text(), App: d.text(), Procs: d.int()}}
		r.job.Limit, r.start = d.real(), d.real()
		for i := range r.since {
			r.since[i] = d.uint()
		}
		r.job = r.job.clean()
		in.resume(id, r)
	}
	if d.bad || len(d.rest) > 0 {
		return ErrCorrupt
	}
	*m = *in
	return nil
}

// resume puts a running job where it is looked for.
func (m *Model) resume(id int64, r running) {
	m.open[id] = r
	if h := m.users[userKey{r.job.Queue, r.job.User}]; h != nil {
		h.running[id] = r.job.run(r.start)
	}
	for i, key := range r.job.keys() {
		if c := m.classes[key]; c != nil && r.job.has(i) {
			a := alive{start: r.start, since: r.since[i]}
			if i == kindRatio {
				a.limit = r.job.Limit
			}
			c.running[id] = a
		}
	}
}

type decoder struct {
	rest []byte
	bad  bool
}

func (d *decoder) fail() { d.bad, d.rest = true, nil }

func (d *decoder) uint() uint64 {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

// count reads a number from 0 to most.
func (d *decoder) count(most uint64) int {
	v := d.uint()
	if v > most {
		d.fail()
		return 0
	}
	return int(v)
}

func (d *decoder) int() int { return int(int64(d.uint())) }

// real reads a finite number.
func (d *decoder) real() float64 {
	if len(d.rest) < 8 {
		d.fail()
		return 0
	}
	v := math.Float64frombits(binary.LittleEndian.Uint64(d.rest))
	d.rest = d.rest[8:]
	if math.IsNaN(v) || math.IsInf(v, 0) {
		d.fail()
		return 0
	}
	return v
}

func (d *decoder) text() string {
	n := d.count(uint64(len(d.rest)))
	if n > len(d.rest) {
		d.fail()
		return ""
	}
	s := string(d.rest[:n])
	d.rest = d.rest[n:]
	return s
}

// within reads a number from 0 to most.
func (d *decoder) within(most float64) float64 {
	v := d.real()
	if !(v >= 0 && v <= most) {
		d.fail()
		return 0
	}
	return v
}

func (d *decoder) class(into map[classKey]*class) {
	k := classKey{queue: d.text(), kind: uint8(d.count(kinds - 1)), serial: d.count(1) == 1,
		limit: int32(int64(d.uint()))}
	c := &class{total: d.within(mostWeight), weight: d.within(mostWeight), running: map[int64]alive{}}
	c.pending, c.n, c.used = d.count(math.MaxInt32), d.uint(), d.uint()
	for n := d.count(Bins); n > 0 && !d.bad; n-- {
		i := d.count(Bins - 1)
		c.counts[i], c.hazard[i] = d.within(mostWeight), d.within(1)
	}
	into[k] = c
}

func (d *decoder) history(in *Model) {
	k := userKey{d.text(), d.text()}
	h := &history{running: map[int64]run{}, used: d.uint()}
	for n := d.count(uint64(in.config.Runs)); n > 0 && !d.bad; n-- {
		r := run{seconds: d.within(longest), limit: d.within(longest)}
		r.app, r.procs = d.uint(), d.int()
		r.prepare()
		h.runs = append(h.runs, r)
	}
	in.users[k] = h
}
