package engine

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/predictor/engine/ensemble"
	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/engine/training"
	"github.com/waitcast/waitcast/workload/uniformlog"
)

// kind and viewKind are the kinds of saved state of an engine and of a view. Both have the same version.
const (
	kind     = "engine"
	viewKind = "view"
	version  = 26
)

// MarshalBinary saves the engine. Equal histories give equal bytes. It waits for a background simulation. A running
// training continues; in a restored engine it starts again from the beginning.
func (e *Engine) MarshalBinary() ([]byte, error) {
	data, err := codec.Save(kind, version, e.savedBytes, e.fields)
	e.savedBytes = len(data)
	return data, err
}

// SaveTo saves the engine like MarshalBinary, but it passes the bytes to put, piece by piece. So they need not fit into
// memory. It returns their number. put must not keep a piece.
func (e *Engine) SaveTo(put func([]byte) error) (int, error) {
	return codec.SaveTo(put, kind, version, e.fields)
}

// UnmarshalBinary restores an engine that MarshalBinary saved. The receiver must be a new engine of the same
// configuration. It then gives the same answers as the saved one. An error is a *codec.Error and leaves the engine
// unchanged. State with other levels, experts or features gives codec.ErrConfig.
func (e *Engine) UnmarshalBinary(data []byte) error {
	fresh, err := New(e.cfg)
	if err != nil {
		return err
	}
	if err := codec.Load(kind, version, data, fresh.fields); err != nil {
		fresh.learner.Next = nil // the restored training has not begun
		fresh.Close()
		return err
	}
	if t := fresh.learner.Next; t != nil {
		fresh.learner.Begin(t.From, t.Due, t.Changes)
	}
	e.Close()
	// The assignment is safe because the learner's goroutine uses only the learner.
	*e = *fresh
	return nil
}

// fields reads or writes the saved state.
func (e *Engine) fields(s *codec.Codec) {
	levels, features := e.cfg.Levels, len(e.features.names)
	if e.codeShape(s); s.Bad {
		return
	}
	s.Int(&e.tracker.Capacity, &e.tracker.Codes, &e.pools.Starts, &e.ensemble.Since, &e.withoutRow)
	s.Uint(&e.events, &e.tracker.Seen, &e.tracker.Entered, &e.tracker.Numbers)
	e.tracker.CodeUse(s)
	began := !math.IsInf(e.tracker.Clock, -1)
	if s.Flag(&began); began {
		s.Finite(&e.tracker.Clock)
	}
	s.Real(&e.tracker.LastStart, &e.tracker.LastSubmit)
	s.Finite(&e.tracker.Rate.Value, &e.tracker.Rate.Last)
	track.CodeRecent(s, &e.tracker.Recent)
	track.CodeBounds(s, &e.tracker.Bounds, levels)
	e.tracker.CodeEvidence(s)
	e.tracker.CodeQueues(s)
	e.tracker.CodeUsers(s)
	e.pools.CodePools(s)
	if !s.WithoutShared {
		e.pools.Gates.Code(s)
		e.pools.Priorities.Code(s)
		e.learner.Code(s, features)
		e.tracker.Past.Code(s)
		e.tracker.CodeLimits(s)
		e.pools.CodePriorities(s)
	}
	e.ensemble.CodeExperts(s)
	e.tracker.Laws.Code(s)
	e.codeHeads(s)
	e.ensemble.CodeState(s)
	e.tracker.CodeJobs(s, len(levels)*ensemble.Count, features)
	e.tracker.CodeEnded(s)
	e.pools.CodeCauses(s)
	training.CodeRecord(s, &e.learner.Record)
	if e.replay.code(s); s.Reading {
		e.setGrowth()
	}
}

// codeShape reads or writes the levels, the experts and the features. It refuses state with different ones.
func (e *Engine) codeShape(s *codec.Codec) {
	levels, without := e.cfg.Levels, e.features.without
	experts, features := ensemble.Count, len(e.features.names)
	s.Reals(&levels)
	s.Int(&experts, &features)
	codec.List(s, &without, func(group *string) { s.Text(group) })
	switch {
	case s.Bad:
	case !slices.Equal(levels, e.cfg.Levels):
		s.Differs("it has levels %v, not %v", levels, e.cfg.Levels)
	case !slices.Equal(without, e.features.without):
		s.Differs("it is without features %q, not without %q", without, e.features.without)
	case experts != ensemble.Count || features != len(e.features.names):
		s.Differs("it has %d experts and %d features, not %d and %d", experts, features, ensemble.Count,
			len(e.features.names))
	}
}

func (e *Engine) codeHeads(s *codec.Codec) {
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
	codec.List(s, &all, func(v *entry) {
		codeClass(s, &v.class)
		if s.Reading {
			v.law = &classLaw{window: uniformlog.NewWindow(lawWindow, 0)}
			e.heads.classes[v.class] = v.law
		}
		s.Int(&v.law.stale)
		v.law.window.Code(s)
	})
	codeFitted(s, &e.heads.fitted)
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

func codeClass(s *codec.Codec, c *class) {
	s.Text(&c.queue)
	s.Flag(&c.sequential)
}

func codeFitted(s *codec.Codec, all *map[class]uniformlog.Model) {
	keys := slices.SortedFunc(maps.Keys(*all), class.compare)
	if s.Reading {
		*all = map[class]uniformlog.Model{}
	}
	codec.List(s, &keys, func(c *class) {
		codeClass(s, c)
		m := (*all)[*c]
		s.Finite(&m.B0, &m.B1)
		if s.Reading { // saving must not write the map, because views may read it
			(*all)[*c] = m
		}
	})
}
