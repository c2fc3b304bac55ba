package intake

import (
	"context"
	"fmt"
	"time"

	"github.com/waitcast/waitcast/history"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/pipeline/past"
)

// survey summarizes the events of an import, which it reads in their order.
type survey struct {
	hash                    string
	oldest                  time.Time // older events are left out
	events, submissions     int64
	fresh, freshSubmissions int64 // numbers of events and submissions that no stored history has
	tooOld                  int64 // number of submissions that are left out
	from, to                time.Time
	live                    *comparison
}

// survey reads all events once and summarizes them.
func (r *run) survey(ctx context.Context) (*survey, error) {
	live, err := r.followed(ctx)
	if err != nil {
		return nil, err
	}
	r.begins(Sorting, r.history.Len())
	s := &survey{live: live, oldest: r.history.Newest().Add(-r.cfg.Retention)}
	digest := history.NewDigest()
	err = r.history.Each(func(ev *history.Event) error {
		r.advance(1)
		if ev.Time.Before(s.oldest) {
			if ev.Kind == job.Submit {
				s.tooOld++
			}
			return nil
		}
		if s.events == 0 {
			s.from = ev.Time
		}
		s.to = ev.Time
		digest.Add(ev)
		s.count(ev)
		s.live.compare(ev, r.history.Files)
		if s.events%progressEvents == 0 {
			return ctx.Err()
		}
		return nil
	})
	s.hash = digest.String()
	return s, err
}

// count counts an event.
func (s *survey) count(ev *history.Event) {
	submission := int64(0)
	if ev.Kind == job.Submit {
		submission = 1
	}
	s.events++
	s.submissions += submission
	if ev.File != history.Stored {
		s.fresh++
		s.freshSubmissions += submission
	}
}

// description returns the history's description for the store.
func (s *survey) description(mode past.Mode) past.History {
	if mode == "" {
		mode = past.Exact
		if s.submissions > past.FastAbove {
			mode = past.Fast
		}
	}
	return past.History{
		ID: fmt.Sprintf("%.16s-%s", s.hash, mode), Hash: s.hash, Mode: mode, Events: s.events,
		Submissions: s.submissions, From: s.from, To: s.to,
	}
}
