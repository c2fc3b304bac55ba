package engine

import (
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/predictor/engine/ensemble"
	"github.com/waitcast/waitcast/predictor/engine/pools"
	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/engine/training"
	"github.com/waitcast/waitcast/workload/uniformlog"
)

// MarshalBinary saves the view with all data that its answers need.
func (v *View) MarshalBinary() ([]byte, error) {
	if v.template == nil {
		return nil, errors.New("engine: save view: it is none that an engine gave")
	}
	return codec.Save(viewKind, version, 0, v.fields)
}

// RestoreView restores a view that View.MarshalBinary saved. The view must come from this engine, or from the engine
// that this one was restored from. The restored view gives the same forecasts, unless the limits have changed since or
// experts are left out (Config.WithoutExperts). It has no start rules and no fair-share factors (StartRules,
// ShareFactor). The error is a *codec.Error.
func (e *Engine) RestoreView(data []byte) (*View, error) {
	v := &View{}
	if err := codec.Load(viewKind, version, data, v.fields); err != nil {
		return nil, err
	}
	for _, f := range v.pools {
		f.Attach(&e.tracker.Past)
		f.AttachPriorities(e.pools)
	}
	if v.whole != nil {
		v.whole.Attach(&e.tracker.Past)
		v.whole.AttachPriorities(e.pools)
	}
	// The view gets the present limits instead of those at its instant. Views are kept for a few minutes only, in which
	// limits rarely change.
	v.Limits = e.tracker.Limits()
	return v, nil
}

// fields reads or writes all fields of a view.
func (v *View) fields(s *codec.Codec) {
	experts := ensemble.Count
	s.Reals(&v.Levels)
	s.Int(&experts, &v.median, &v.Capacity, &v.learnt, &v.Queues.Codes)
	s.Uint(&v.entered)
	v.codeFeatures(s)
	if experts != ensemble.Count {
		s.Differs("it has %d experts, not %d", experts, ensemble.Count)
	}
	s.Check(v.median < len(v.Levels), "level %d of %d is the median", v.median, len(v.Levels))
	for _, level := range v.Levels {
		s.Check(level > 0 && level < 1, "level %v", level)
	}
	if s.Bad {
		return
	}
	s.Finite(&v.Instant, &v.WorkLeft, &v.LimitsLeft, &v.Rate.Value, &v.Rate.Last)
	s.Real(&v.Oldest, &v.LastStart, &v.LastSubmit)
	track.CodeAmount(s, &v.Running)
	track.CodeRecent(s, &v.Recent)
	track.CodeJobCounts(s, &v.Waiting)
	track.CodeStarts(s, &v.Starts)
	track.CodeFlow(s, &v.Flow)
	track.CodeStartClocks(s, &v.Clocks)
	track.CodeKnown(s, &v.Bounds, v.Levels)
	track.CodeKnown(s, &v.errors, v.Levels)
	ensemble.CodeEarly(s, &v.early, v.Levels)
	codec.List(s, &v.Queues.All, func(q **track.QueueFacts) { track.CodeQueue(s, q, v.Levels) })
	v.codeUsers(s)
	v.codePools(s)
	v.trees.Code(s, len(v.Levels), len(v.features.names))
	asked := v.laws != nil
	if s.Flag(&asked); asked {
		if s.Reading {
			v.laws = map[class]uniformlog.Model{}
		}
		codeFitted(s, &v.laws)
	}
	if s.Reading {
		v.template, v.memo, v.scratches = &ensemble.ExpertTemplate{}, &pools.Memo{}, &sync.Pool{}
		v.similar = &training.SimilarRows{}
		v.Queues.Index = map[string]int{}
		for i, q := range v.Queues.All {
			v.Queues.Index[q.Name] = i
		}
	}
	codec.List(s, &v.drifts, func(d *ensemble.Drift) {
		s.Text(&d.Queue)
		s.Flag(&d.Whole)
		ensemble.CodeDrift(s, d)
	})
	ensemble.CodeTemplate(s, v.template)
}

// codeFeatures reads or writes the number of features, and the groups that are left out.
func (v *View) codeFeatures(s *codec.Codec) {
	count, without := 0, []string(nil)
	if !s.Reading {
		count, without = len(v.features.names), v.features.without
	}
	s.Int(&count)
	codec.List(s, &without, func(group *string) { s.Text(group) })
	if !s.Reading || s.Bad {
		return
	}
	var err error
	if v.features, err = newFeatures(without, nil); err != nil {
		s.Differs("%v", err)
		return
	}
	if count != len(v.features.names) {
		s.Differs("it has %d features, not %d", count, len(v.features.names))
	}
}

func (v *View) codeUsers(s *codec.Codec) {
	users := v.Users
	if s.Reading || users == nil {
		users = &track.UserTable{}
	}
	if s.Reading {
		v.Users = users
	}
	for i := range users {
		codec.Map(s, &users[i], func(u **track.UserFacts) {
			if s.Reading {
				*u = &track.UserFacts{}
			}
			track.CodeUser(s, *u)
			s.Real(&(*u).Oldest)
			track.CodeAmount(s, &(*u).Waiting)
			track.CodeAmount(s, &(*u).Running)
		})
	}
}

// codePools reads or writes each pool once, the whole machine first. For each queue, the number of its pool in this
// list follows.
func (v *View) codePools(s *codec.Codec) {
	all := []*pools.Facts{v.whole}
	number := map[*pools.Facts]int{}
	for _, queue := range slices.Sorted(maps.Keys(v.pools)) {
		if f := v.pools[queue]; number[f] == 0 {
			number[f] = len(all)
			all = append(all, f)
		}
	}
	codec.List(s, &all, func(f **pools.Facts) { pools.CodePool(s, f) })
	codec.Map(s, &v.pools, func(f **pools.Facts) {
		n := number[*f]
		s.Int(&n)
		if !s.Reading {
			return
		}
		if n >= len(all) {
			s.Fail()
			return
		}
		*f = all[n]
	})
	if s.Reading {
		if len(all) == 0 {
			s.Fail()
			return
		}
		v.whole = all[0]
	}
}
