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

	"github.com/waitcast/waitcast/predictor/codec"
	"github.com/waitcast/waitcast/predictor/engine/ensemble"
	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/engine/training"
	"github.com/waitcast/waitcast/workload/uniformlog"
)

// version is the first byte of what is saved; its last four are a checksum (CRC-32, IEEE) of all before.
const version = 10

// ErrCorrupt is the error for bytes that are not a saved engine or view.
var ErrCorrupt = errors.New("engine: not a saved engine or view")

// seal puts the checksum behind what is saved.
func seal(w codec.Writer) []byte { return binary.LittleEndian.AppendUint32(w, crc32.ChecksumIEEE(w)) }

// unseal looks at version and checksum and returns what is between.
func unseal(data []byte) ([]byte, error) {
	n := len(data) - 4
	if n < 1 || crc32.ChecksumIEEE(data[:n]) != binary.LittleEndian.Uint32(data[n:]) {
		return nil, ErrCorrupt
	}
	if data[0] != version {
		return nil, fmt.Errorf("engine: saved state is version %d, this program reads %d: start afresh",
			data[0], version)
	}
	return data[1:n], nil
}

// MarshalBinary saves the engine: the same history gives the same bytes. It waits for a simulation in the background; a
// training goes on, and is begun again where the engine is restored.
func (e *Engine) MarshalBinary() ([]byte, error) {
	// a buffer that grows by doubling takes three times as much
	s := &codec.Codec{Writer: append(make(codec.Writer, 0, e.savedBytes+e.savedBytes/8), version)}
	if err := e.code(s); err != nil {
		return nil, fmt.Errorf("engine: save: %w", err)
	}
	data := seal(s.Writer)
	e.savedBytes = len(data)
	return data, nil
}

// UnmarshalBinary restores into an engine of the same configuration, just made by New, what MarshalBinary saved: it
// then answers as the saved one would. On an error the engine is as it was: the bytes may be damaged, or saved by
// another version or with other levels.
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
	s := &codec.Codec{Reader: codec.Reader{Rest: body}, Reading: true}
	if err := fresh.code(s); err != nil {
		return fmt.Errorf("engine: saved state: %w", err)
	}
	if s.Bad || len(s.Rest) > 0 {
		return ErrCorrupt
	}
	if t := fresh.learner.Next; t != nil {
		fresh.learner.Begin(t.From, t.Due, t.Changes)
	}
	e.Close()
	// not *e = *fresh: the learner's goroutine looks at its own learner only
	*e = *fresh
	return nil
}

// code goes through all that is saved.
func (e *Engine) code(s *codec.Codec) error {
	levels, kinds, features, without := e.cfg.Levels, ensemble.Count, len(e.features.names), e.features.without
	s.Reals(&levels)
	s.Int(&kinds, &features)
	codec.List(s, &without, func(group *string) { s.Text(group) })
	if !slices.Equal(levels, e.cfg.Levels) || kinds != ensemble.Count || features != len(e.features.names) ||
		!slices.Equal(without, e.features.without) {
		return ensemble.ErrShape
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
	}
	err := errors.Join(e.ensemble.CodeExperts(s), s.Own(e.tracker.Laws), e.codeHeads(s))
	err = errors.Join(err, e.ensemble.CodeState(s))
	e.tracker.CodeJobs(s, len(levels)*ensemble.Count, features)
	e.pools.CodeCauses(s)
	training.CodeRecord(s, &e.learner.Record)
	if e.replay.code(s); s.Reading {
		e.setGrowth()
	}
	return err
}

func (e *Engine) codeHeads(s *codec.Codec) error {
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
	codec.List(s, &all, func(v *entry) {
		codeClass(s, &v.class)
		if s.Reading {
			v.law = &classLaw{window: uniformlog.NewWindow(lawWindow, 0)}
			e.heads.classes[v.class] = v.law
		}
		s.Int(&v.law.stale)
		err = errors.Join(err, s.Own(v.law.window))
	})
	codeFitted(s, &e.heads.fitted)
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
		if s.Reading { // views read the map that is saved
			(*all)[*c] = m
		}
	})
}
