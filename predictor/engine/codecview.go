package engine

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/waitcast/waitcast/predictor/forward"
	"github.com/waitcast/waitcast/workload/uniformlog"
)

// MarshalBinary saves the view with all that it needs to answer.
func (v *View) MarshalBinary() ([]byte, error) {
	if v.council == nil {
		return nil, errors.New("engine: save view: it is none that an engine gave")
	}
	s := &stream{writer: writer{version}}
	if err := v.code(s); err != nil {
		return nil, fmt.Errorf("engine: save view: %w", err)
	}
	return seal(s.writer), nil
}

// UnmarshalView restores a view that View.MarshalBinary saved: it gives the same answers. The error says whether the bytes are damaged or of another version.
func UnmarshalView(data []byte) (*View, error) {
	body, err := unseal(data)
	if err != nil {
		return nil, err
	}
	return restoreView(body)
}

func restoreView(body []byte) (*View, error) {
	s, v := &stream{reader: reader{rest: body}, reading: true}, &View{}
	if err := v.code(s); err != nil {
		return nil, fmt.Errorf("engine: saved view: %w", err)
	}
	if s.bad || len(s.rest) > 0 {
		return nil, ErrCorrupt
	}
	return v, nil
}

// code goes through all of a view.
func (v *View) code(s *stream) error {
	kinds, features := experts, len(names())
	s.reals(&v.levels)
	s.int(&kinds, &features, &v.median, &v.capacity, &v.learnt, &v.queues.codes)
	if kinds != experts || features != len(names()) {
		return errShape
	}
	if s.reading && (len(v.levels) == 0 || v.median >= len(v.levels)) {
		return ErrCorrupt
	}
	s.clear(&v.at, &v.workLeft, &v.limitsLeft, &v.rate.value, &v.rate.last)
	s.real(&v.oldest, &v.lastStart, &v.lastSubmit)
	s.amount(&v.running)
	s.recent(&v.recent)
	s.tally(&v.waiting)
	s.known(&v.bounds, v.levels)
	s.known(&v.errors, v.levels)
	list(s, &v.queues.all, func(q **queueFacts) { s.queue(q, v.levels) })
	v.codeUsers(s)
	v.codePools(s)
	s.models(&v.models, len(v.levels), features)
	asked := v.laws != nil
	if s.flag(&asked); asked {
		if s.reading {
			v.laws = map[class]uniformlog.Model{}
		}
		s.fitted(&v.laws)
	}
	if s.reading {
		v.council, v.memo = &council{}, &memo{}
		v.queues.index = map[string]int{}
		for i, q := range v.queues.all {
			v.queues.index[q.name] = i
		}
	}
	list(s, &v.drifts, func(d *Drift) {
		s.text(&d.Queue)
		s.flag(&d.Whole)
		s.drift(d)
	})
	return s.council(v.council)
}

// known goes through one value for each level, or none.
func (s *stream) known(v *[]float64, levels []float64) {
	s.reals(v)
	if !s.reading {
		return
	}
	if len(*v) == 0 {
		*v = nil
	} else if len(*v) != len(levels) {
		s.fail()
	}
}

// tally goes through the cells in which there is something.
func (s *stream) tally(v **tally) {
	if s.reading {
		*v = &tally{}
	}
	t := *v
	s.amount(&t.total)
	var used []int
	for i := range t.cells {
		for k := range t.cells[i] {
			if t.cells[i][k].jobs != 0 {
				used = append(used, i*limitClasses+k)
			}
		}
	}
	list(s, &used, func(n *int) {
		s.int(n)
		if *n >= sizeClasses*limitClasses {
			s.fail()
			return
		}
		s.amount(&t.cells[*n/limitClasses][*n%limitClasses])
	})
}

func (s *stream) queue(v **queueFacts, levels []float64) {
	if s.reading {
		*v = &queueFacts{}
	}
	q := *v
	s.text(&q.name)
	s.int(&q.code)
	s.real(&q.oldest)
	s.amount(&q.running)
	s.recent(&q.recent)
	s.mean(&q.runtimes)
	s.tally(&q.tally)
	for i := range q.bounds {
		s.known(&q.bounds[i], levels)
	}
	for i := range q.sizes {
		there := q.sizes[i] != nil
		if s.flag(&there); !there {
			continue
		}
		if s.reading {
			q.sizes[i] = &similarFacts{}
		}
		m := q.sizes[i]
		s.real(&m.oldest, &m.lastStart, &m.lastWait, &m.newest.submit, &m.newest.wait)
		s.recent(&m.recent)
		s.int(&m.learnt)
		s.reals(&m.lately)
	}
}

func (v *View) codeUsers(s *stream) {
	users := v.users
	if s.reading || users == nil {
		users = &userTable{}
	}
	if s.reading {
		v.users = users
	}
	for i := range users {
		dictionary(s, &users[i], func(u **userFacts) {
			if s.reading {
				*u = &userFacts{}
			}
			s.user(*u)
			s.real(&(*u).oldest)
			s.amount(&(*u).waiting)
			s.amount(&(*u).running)
		})
	}
}

// codePools goes through the pools: each once, with the numbers of the queues' pools behind; the whole machine first.
func (v *View) codePools(s *stream) {
	all := []*poolFacts{v.whole}
	number := map[*poolFacts]int{}
	for _, queue := range slices.Sorted(maps.Keys(v.pools)) {
		if f := v.pools[queue]; number[f] == 0 {
			number[f] = len(all)
			all = append(all, f)
		}
	}
	list(s, &all, s.pool)
	dictionary(s, &v.pools, func(f **poolFacts) {
		n := number[*f]
		s.int(&n)
		if !s.reading {
			return
		}
		if n >= len(all) {
			s.fail()
			return
		}
		*f = all[n]
	})
	if s.reading {
		if len(all) == 0 {
			s.fail()
			return
		}
		v.whole = all[0]
	}
}

func (s *stream) pool(v **poolFacts) {
	if s.reading {
		*v = &poolFacts{}
	}
	f := *v
	policy := uint64(f.policy)
	s.int(&f.procs)
	if s.uint(&policy); s.reading {
		f.policy = forward.Policy(policy)
	}
	list(s, &f.order, func(n *string) { s.text(n) })
	list(s, &f.outages, s.outage)
	s.amount(&f.inUse)
	s.amount(&f.ahead)
	ranked := f.ranks != nil
	if s.flag(&ranked); ranked {
		dictionary(s, &f.ranks, s.amount)
	}
	s.flag(&f.prioritized)
	s.flag(&f.large)
	if f.large {
		s.tables(&f.tables)
	}
	list(s, &f.running, s.job)
	list(s, &f.waiting, s.job)
	if s.reading && (policy > uint64(forward.PriorityEASY) || f.procs > math.MaxInt32) {
		s.fail()
	}
}

func (s *stream) job(j *job) {
	s.uint(&j.key, &j.group)
	s.int(&j.procs, &j.rank)
	s.clear(&j.start, &j.limit)
	s.law(&j.law)
	s.text(&j.queue)
}
