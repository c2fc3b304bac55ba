package engine

import (
	"maps"
	"slices"
)

// codeCauses goes through what the starts of all tables hang on, and since when trees are in force. It finds the jobs again that still run where it is read.
func (e *Engine) codeCauses(s *stream) {
	s.causes(e.tables, e.jobs)
	if e.refresh != nil {
		s.causes(e.refresh.tables, e.jobs)
	}
	s.book(&e.learner.book)
}

func (s *stream) causes(tables map[string]*table, jobs map[uint64]*tracked) {
	done := map[*table]bool{}
	for _, queue := range slices.Sorted(maps.Keys(tables)) {
		if t := tables[queue]; t != nil && !done[t] {
			done[t] = true
			s.causesOf(&t.causes, len(t.sizes)*len(t.limits), jobs)
		}
	}
}

func (s *stream) causesOf(c *causes, cells int, jobs map[uint64]*tracked) {
	s.int(&c.futures)
	list(s, &c.holders, func(h *holder) {
		s.uint(&h.id)
		s.int(&h.procs)
		s.clear(&h.start)
		if j := jobs[h.id]; s.reading && j != nil && j.state == running {
			h.law = j.law
		}
	})
	list(s, &c.requests, func(all *[]share) { s.shares(all, c) })
	ids := slices.Sorted(maps.Keys(c.starts))
	if s.reading {
		c.starts = map[uint64][]share{}
	}
	list(s, &ids, func(id *uint64) {
		s.uint(id)
		all := c.starts[*id]
		s.shares(&all, c)
		if s.reading { // views read the map that is saved
			c.starts[*id] = all
		}
	})
	if s.reading && (len(c.requests) != 0 && len(c.requests) != cells || len(c.starts) != len(ids)) {
		s.fail()
	}
}

func (s *stream) shares(all *[]share, c *causes) {
	sum := 0
	list(s, all, func(x *share) {
		s.int(&x.holder, &x.futures)
		sum += x.futures
		if x.holder >= len(c.holders) || sum > c.futures {
			s.fail()
		}
	})
	if s.reading && *all == nil {
		*all = []share{}
	}
}
