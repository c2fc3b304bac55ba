package engine

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"slices"

	"github.com/waitcast/waitcast/predictor/forward"
	"github.com/waitcast/waitcast/predictor/forward/learn"
	"github.com/waitcast/waitcast/workload/uniformlog"
)

// version is the first byte of what is saved; its last four are a checksum (CRC-32, IEEE) of all before.
const version = 3

// ErrCorrupt says that bytes are not a saved engine or view.
var ErrCorrupt = errors.New("engine: not a saved engine or view")

// seal puts the checksum behind what is saved.
func seal(w writer) []byte { return binary.LittleEndian.AppendUint32(w, crc32.ChecksumIEEE(w)) }

// unseal looks at version and checksum and returns what is between.
func unseal(data []byte) ([]byte, error) {
	n := len(data) - 4
	if n < 1 || crc32.ChecksumIEEE(data[:n]) != binary.LittleEndian.Uint32(data[n:]) {
		return nil, ErrCorrupt
	}
	if data[0] != version {
		return nil, fmt.Errorf("engine: saved state is version %d, this program reads %d: start afresh", data[0], version)
	}
	return data[1:n], nil
}

// MarshalBinary saves the engine: the same history gives the same bytes. It waits for a simulation in the background; a training goes on, and is begun
// again where the engine is restored.
func (e *Engine) MarshalBinary() ([]byte, error) {
	s := &stream{writer: append(make(writer, 0, e.savedBytes+e.savedBytes/8), version)} // a buffer that grows by doubling takes three times as much
	if err := e.code(s); err != nil {
		return nil, fmt.Errorf("engine: save: %w", err)
	}
	data := seal(s.writer)
	e.savedBytes = len(data)
	return data, nil
}

// UnmarshalBinary restores into an engine of the same configuration, just made by New, what MarshalBinary saved: what it then says is what the saved one would. On an error the engine is
// as it was: the bytes may be damaged, or saved by another version or with other levels.
func (e *Engine) UnmarshalBinary(data []byte) error {
	body, err := unseal(data)
	if err != nil {
		return err
	}
	return e.restore(body)
}

func (e *Engine) restore(body []byte) error {
	fresh, err := New(e.cfg)
	if err != nil {
		return err
	}
	s := &stream{reader: reader{rest: body}, reading: true}
	if err := fresh.code(s); err != nil {
		return fmt.Errorf("engine: saved state: %w", err)
	}
	if s.bad || len(s.rest) > 0 {
		return ErrCorrupt
	}
	if t := fresh.learner.next; t != nil {
		fresh.learner.begin(t.from, t.due, t.changes)
	}
	e.Close()
	// not *e = *fresh: the learner's goroutine looks at its own learner only
	*e = *fresh
	return nil
}

var errShape = errors.New("it was saved with other levels, features or experts: start afresh")

// code goes through all that is saved.
func (e *Engine) code(s *stream) error {
	levels, kinds, features := e.cfg.Levels, experts, len(e.names)
	s.reals(&levels)
	s.int(&kinds, &features)
	if !slices.Equal(levels, e.cfg.Levels) || kinds != experts || features != len(e.names) {
		return errShape
	}
	s.int(&e.capacity, &e.codes, &e.starts, &e.since)
	s.uint(&e.events, &e.seen, &e.entered, &e.numbers)
	began := !math.IsInf(e.clock, -1)
	if s.flag(&began); began {
		s.clear(&e.clock)
	}
	s.real(&e.lastStart, &e.lastSubmit)
	s.clear(&e.rate.value, &e.rate.last)
	s.recent(&e.recent)
	s.bounds(&e.bounds, levels)
	e.codeQueues(s)
	e.codeUsers(s)
	e.codePools(s)
	if !s.brief {
		e.codeLearner(s)
	}
	err := errors.Join(s.own(e.live.linear), s.own(e.live.blend), s.own(e.live.calibrator), s.own(e.laws), e.codeHeads(s))
	if err == nil && s.reading && e.live.blend.Experts() != experts {
		err = errShape
	}
	s.reals(&e.errors.known)
	list(s, &e.errors.waiting, func(g *guess) {
		s.uint(&g.id)
		s.clear(&g.submit, &g.said)
	})
	if s.reading && (len(e.errors.known) > correctedJobs || len(e.errors.waiting) > correctedJobs) {
		s.fail()
	}
	kept := e.kept != nil
	if s.flag(&kept); kept {
		if s.reading {
			e.kept = &council{advance: math.NaN()}
		}
		err = errors.Join(err, s.council(e.kept))
	}
	err = errors.Join(err, e.watch.code(s))
	e.codeJobs(s)
	e.codeCauses(s)
	return err
}

func (s *stream) bounds(b **bounds, levels []float64) {
	known := *b != nil
	if s.flag(&known); !known {
		return
	}
	var waits []float64
	lengths, misses := make([]int, len(levels)), make([]int, len(levels))
	if !s.reading {
		waits, lengths, misses = (*b).waits, (*b).lengths(), (*b).misses()
	}
	s.reals(&waits)
	for i := range levels {
		s.int(&lengths[i], &misses[i])
	}
	if !s.reading {
		return
	}
	if *b = newBounds(levels); !(*b).restore(waits, lengths, misses) {
		s.fail()
	}
}

func (e *Engine) codeQueues(s *stream) {
	list(s, &e.inOrder, func(v **queue) {
		if s.reading {
			*v = &queue{}
		}
		q := *v
		s.text(&q.name)
		s.int(&q.code)
		s.uint(&q.seen)
		s.recent(&q.recent)
		s.mean(&q.runtimes)
		for i := range q.similar {
			known := q.similar[i] != nil
			if s.flag(&known); known {
				s.similar(&q.similar[i])
			}
		}
		for i := range q.series {
			s.bounds(&q.series[i], e.cfg.Levels)
		}
		if s.reading {
			q.oldest = math.NaN()
			e.queues[q.name] = q
		}
	})
	if len(e.queues) != len(e.inOrder) {
		s.fail()
	}
}

func (s *stream) similar(v **similar) {
	if s.reading {
		*v = newSimilar()
	}
	m := *v
	s.recent(&m.similarFacts.recent)
	s.real(&m.lastStart, &m.lastWait, &m.newest.submit, &m.newest.wait)
	s.int(&m.learnt, &m.latest.next)
	s.reals(&m.latest.waits)
	if s.reading && (len(m.latest.waits) > latestWaits || m.latest.next > 0 && m.latest.next >= len(m.latest.waits)) {
		s.fail()
	}
}

func (e *Engine) codeUsers(s *stream) {
	all := slices.SortedFunc(maps.Values(e.users), func(a, b *user) int { return cmp.Compare(a.number, b.number) })
	list(s, &all, func(v **user) {
		if s.reading {
			*v = &user{}
		}
		u := *v
		s.text(&u.name)
		s.uint(&u.seen)
		s.user(&u.userFacts)
		if s.reading {
			u.shard = shardOf(u.name)
			e.users[u.name] = u
			e.frozen.changed = append(e.frozen.changed, u)
		}
	})
}

// user goes through a user's facts but those that follow from the jobs.
func (s *stream) user(u *userFacts) {
	s.uint(&u.number)
	s.real(&u.lastSubmit)
	s.request(&u.lastRequest)
	s.real(&u.lastStart.at, &u.lastStart.wait)
	s.recent(&u.recent)
	list(s, &u.alike, func(a *alike) {
		s.int(&a.queue, &a.size)
		s.real(&a.at, &a.wait)
	})
	list(s, &u.runtimes, func(r *ran) {
		s.int(&r.queue)
		s.mean(&r.mean)
	})
	if s.reading {
		u.oldest = math.NaN()
	}
}

func (e *Engine) codePools(s *stream) {
	p := &e.pools
	dictionary(s, &p.told, func(t *Pool) {
		policy := uint64(t.Policy)
		s.text(&t.Name)
		s.int(&t.Procs)
		s.uint(&policy)
		t.Policy = forward.Policy(policy)
		s.flag(&t.PolicyKnown)
		list(s, &t.Order, func(n *string) { s.text(n) })
		if t.Procs > math.MaxInt32 || policy > uint64(forward.PriorityEASY) {
			s.fail()
		}
	})
	dictionary(s, &p.outages, func(all *[]Outage) { list(s, all, s.outage) })
	dictionary(s, &p.highest, func(n *int) { s.int(n) })
	list(s, &p.learnt, func(l *learn.Pool) {
		policy := uint64(l.Finding.Policy)
		list(s, &l.Queues, func(n *string) { s.text(n) })
		s.int(&l.Procs)
		s.uint(&policy)
		l.Finding.Policy = forward.Policy(policy)
		list(s, &l.Finding.Order, func(n *string) { s.text(n) })
		s.flag(&l.Finding.Enough)
		if policy > uint64(forward.PriorityEASY) {
			s.fail()
		}
	})
	if s.reading {
		e.regroup()
	}
	for _, b := range p.all {
		s.flag(&b.made)
		s.clear(&b.at)
		s.int(&b.since)
	}
	s.tables(&e.tables)
	making := e.refresh != nil
	if s.flag(&making); making {
		if s.reading {
			e.refresh = &refresh{job: newBackground()}
			e.refresh.job.run(true, func() {})
		}
		<-e.refresh.job.done
		s.uint(&e.refresh.due)
		s.tables(&e.refresh.tables)
	}
	e.codeRules(s)
}

func (e *Engine) codeRules(s *stream) {
	young := e.rules.young != nil
	s.flag(&young)
	if !s.reading {
		e.rules.each(func(h *heard) { h.write(&s.writer) })
		return
	}
	e.rules.old = readHeard(&s.reader)
	if young {
		e.rules.young = readHeard(&s.reader)
	}
}

func (e *Engine) codeLearner(s *stream) {
	l := e.learner
	s.int(&l.seen, &l.trained)
	s.flag(&l.soon)
	l.codeChanges(s, &l.changes)
	list(s, &l.rows, func(row *[]float32) {
		s.singles(row)
		if len(*row) != len(e.names) {
			s.fail()
		}
	})
	s.reals(&l.targets)
	s.models(&l.models, len(e.cfg.Levels), len(e.names))
	trains := l.next != nil
	if s.flag(&trains); trains {
		if s.reading {
			l.next = &training{}
		}
		s.int(&l.next.from, &l.next.due)
		l.codeChanges(s, &l.next.changes)
		if s.reading && (l.next.from > l.seen || l.seen-l.next.from >= len(l.rows)) {
			s.fail()
		}
	}
	if len(l.rows) != len(l.targets) {
		s.fail()
	}
}

func (l *learner) codeChanges(s *stream, changes *[]int) {
	list(s, changes, func(at *int) { s.int(at) })
	if s.reading && (!slices.IsSorted(*changes) || len(*changes) > 0 && (*changes)[len(*changes)-1] > l.seen) {
		s.fail()
	}
}

func (e *Engine) codeHeads(s *stream) error {
	if e.heads == nil {
		e.heads = newHeadLaws()
		defer func() { e.heads = nil }()
	}
	type entry struct {
		class
		law *classLaw
	}
	var all []entry
	for c, l := range e.heads.classes {
		all = append(all, entry{c, l})
	}
	slices.SortFunc(all, func(a, b entry) int { return a.compare(b.class) })
	var err error
	list(s, &all, func(v *entry) {
		s.class(&v.class)
		if s.reading {
			v.law = &classLaw{window: uniformlog.NewWindow(lawWindow, 0)}
			e.heads.classes[v.class] = v.law
		}
		s.int(&v.law.stale)
		err = errors.Join(err, s.own(v.law.window))
	})
	s.fitted(&e.heads.fitted)
	return err
}

func (c class) compare(o class) int {
	side := func(c class) int {
		if c.sequential {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(c.queue, o.queue), cmp.Compare(side(c), side(o)))
}

func (s *stream) class(c *class) {
	s.text(&c.queue)
	s.flag(&c.sequential)
}

func (s *stream) fitted(all *map[class]uniformlog.Model) {
	keys := slices.SortedFunc(maps.Keys(*all), class.compare)
	if s.reading {
		*all = map[class]uniformlog.Model{}
	}
	list(s, &keys, func(c *class) {
		s.class(c)
		m := (*all)[*c]
		s.clear(&m.B0, &m.B1)
		if s.reading { // views read the map that is saved
			(*all)[*c] = m
		}
	})
}

func (s *stream) council(c *council) error {
	s.blob(&c.linear)
	s.blob(&c.blend)
	s.blob(&c.calibrator)
	s.real(&c.advance)
	if !s.reading {
		return nil
	}
	v, err := c.voices()
	if err == nil && v.blend.Experts() != experts {
		err = errShape
	}
	return err
}
