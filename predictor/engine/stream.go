package engine

import (
	"maps"
	"math"
	"slices"

	"github.com/waitcast/waitcast/predictor/boost"
)

// stream writes what it is shown, or reads into it: what is saved is told once for both directions.
type stream struct {
	writer
	reader
	reading bool
	brief   bool // without what a copy shares
}

func (s *stream) real(all ...*float64) {
	for _, v := range all {
		if s.reading {
			*v = s.reader.maybe()
		} else {
			s.writer.real(*v)
		}
	}
}

// clear is real for what must be a number.
func (s *stream) clear(all ...*float64) {
	s.real(all...)
	for _, v := range all {
		if s.reading && math.IsNaN(*v) {
			s.fail()
		}
	}
}

func (s *stream) uint(all ...*uint64) {
	for _, v := range all {
		if s.reading {
			*v = s.reader.uint()
		} else {
			s.writer.uint(*v)
		}
	}
}

// int is for numbers from 0 up to 2^53.
func (s *stream) int(all ...*int) {
	for _, v := range all {
		if s.reading {
			*v = s.within(1 << 53)
		} else {
			s.writer.uint(uint64(*v))
		}
	}
}

func (s *stream) flag(v *bool) {
	if s.reading {
		*v = s.reader.flag()
	} else {
		s.writer.flag(*v)
	}
}

func (s *stream) text(all ...*string) {
	for _, v := range all {
		if s.reading {
			*v = s.reader.text()
		} else {
			s.writer.text(*v)
		}
	}
}

func (s *stream) blob(v *[]byte) {
	if s.reading {
		*v = slices.Clone(s.reader.bytes())
	} else {
		s.writer.blob(*v)
	}
}

func (s *stream) reals(v *[]float64) {
	if s.reading {
		*v = s.reader.reals()
	} else {
		s.writer.reals(*v)
	}
}

func (s *stream) singles(v *[]float32) {
	if s.reading {
		*v = s.reader.singles()
	} else {
		s.writer.singles(*v)
	}
}

// list goes through a list whose elements take at least a byte each.
func list[T any](s *stream, v *[]T, each func(*T)) {
	n := len(*v)
	if s.reading {
		n = s.count()
		*v = nil
	} else {
		s.writer.uint(uint64(n))
	}
	for i := range n {
		if s.bad {
			return
		}
		if s.reading {
			var fresh T
			*v = append(*v, fresh)
		}
		each(&(*v)[i])
	}
}

// dictionary goes through a map in the order of its keys.
func dictionary[T any](s *stream, v *map[string]T, each func(*T)) {
	keys := slices.Sorted(maps.Keys(*v))
	if s.reading {
		*v = map[string]T{}
	}
	list(s, &keys, func(key *string) {
		s.text(key)
		value := (*v)[*key]
		each(&value)
		if s.reading { // views read the map that is saved
			(*v)[*key] = value
		}
	})
}

// savable is what has a saved form of its own.
type savable interface {
	MarshalBinary() ([]byte, error)
	UnmarshalBinary([]byte) error
}

// own goes through what has a saved form of its own, and returns its error.
func (s *stream) own(v savable) error {
	if s.reading {
		return v.UnmarshalBinary(s.reader.bytes())
	}
	b, err := v.MarshalBinary()
	s.writer.blob(b)
	return err
}

func (s *stream) mean(all ...*mean) {
	for _, m := range all {
		s.clear(&m.sum, &m.weight)
	}
}

func (s *stream) recent(r *recent) { s.mean(&r.fast, &r.slow, &r.nothing) }

func (s *stream) amount(a *amount) { s.clear(&a.jobs, &a.procs, &a.work) }

func (s *stream) request(r *Request) {
	s.text(&r.Queue, &r.User, &r.App, &r.Partition)
	s.int(&r.Procs)
	s.clear(&r.Limit, &r.Priority)
	if s.reading && r.Procs > 0 && *r != r.clean() {
		s.fail()
	}
}

func (s *stream) law(l **law) {
	if s.reading {
		*l = &law{}
	}
	v := *l
	none := math.IsInf(v.limit, 1)
	s.flag(&none)
	if none {
		v.limit = math.Inf(1)
	} else {
		s.clear(&v.limit)
	}
	s.clear(&v.over, &v.end)
	s.singles(&v.tail)
	if s.reading && !(v.end >= 0 && v.end <= knots && len(v.tail) == int(math.Ceil(v.end))+1) {
		s.fail()
	}
}

func (s *stream) outage(o *Outage) {
	s.clear(&o.From)
	s.int(&o.Procs)
	ever := math.IsInf(o.Until, 1)
	s.flag(&ever)
	if ever {
		o.Until = math.Inf(1)
	} else {
		s.clear(&o.Until)
	}
	if s.reading && (!(o.From < o.Until) || o.Procs > math.MaxInt32) {
		s.fail()
	}
}

// tables goes through tables by queue; those that are the same stay the same.
func (s *stream) tables(all *map[string]*table) {
	var each []*table
	number := map[*table]int{}
	for _, queue := range slices.Sorted(maps.Keys(*all)) {
		if t := (*all)[queue]; number[t] == 0 {
			each = append(each, t)
			number[t] = len(each)
		}
	}
	list(s, &each, s.table)
	dictionary(s, all, func(t **table) {
		n := number[*t]
		s.int(&n)
		if !s.reading {
			return
		}
		if n < 1 || n > len(each) {
			s.fail()
			return
		}
		*t = each[n-1]
	})
}

func (s *stream) table(v **table) {
	if s.reading {
		*v = &table{}
	}
	t := *v
	s.clear(&t.at)
	s.int(&t.most, &t.levels)
	list(s, &t.sizes, func(n *int) { s.int(n) })
	last := t.limits // the last one is infinite, and not written
	if !s.reading {
		last = last[:len(last)-1]
	}
	s.reals(&last)
	if s.reading {
		t.limits = append(last, math.Inf(1))
	}
	s.singles(&t.cells)
	if s.reading && (t.levels > 64 || !slices.IsSorted(t.sizes) || !slices.IsSorted(t.limits) || len(t.cells) != len(t.sizes)*len(t.limits)*t.width()) {
		s.fail()
	}
}

// models goes through the trees of all levels, for rows of so many features.
func (s *stream) models(all *[]*boost.Model, levels, features int) {
	list(s, all, func(m **boost.Model) {
		if s.reading {
			*m = &boost.Model{}
		}
		if s.own(*m) != nil || (*m).Features != features {
			s.fail()
		}
	})
	if s.reading && len(*all) != 0 && len(*all) != levels {
		s.fail()
	}
}
