package intake

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/waitcast/waitcast/history"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline/accuracy"
	"github.com/waitcast/waitcast/pipeline/past"
	"github.com/waitcast/waitcast/pipeline/readmodel"
	"github.com/waitcast/waitcast/predictor/coverage"
)

// learningPoll is the time between two checks of the progress of learning.
const learningPoll = 200 * time.Millisecond

// store stores the chunks of a history and puts the history in force. On error it deletes the chunks.
func (r *run) store(ctx context.Context, s *survey, h *past.History) (err error) {
	before, err := r.stored(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			r.drop(ctx, before)
		}
	}()
	if err := r.putChunks(ctx, s, h); err != nil {
		return err
	}
	if err := r.quarantine(ctx); err != nil {
		return err
	}
	return r.cfg.Learner.Teach(ctx, r.cfg.Cluster, *h)
}

// stored returns the names of the cluster's histories in the store.
func (r *run) stored(ctx context.Context) ([]string, error) {
	parts, err := r.cfg.Store.Histories(ctx)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, p := range parts {
		if p.Cluster == r.cfg.Cluster {
			ids = append(ids, p.ID)
		}
	}
	return ids, nil
}

// drop deletes the stored chunks of the cluster's histories, except those of the histories named in `keep`. If the
// store returns an error, the next start tries to delete them again.
func (r *run) drop(ctx context.Context, keep []string) {
	if err := r.cfg.Store.DropHistories(context.WithoutCancel(ctx), r.cfg.Cluster, keep...); err != nil {
		r.cfg.Log.Warn("the chunks of an import that failed are still in the database: the next start drops them",
			zap.String("cluster", r.cfg.Cluster), zap.Error(err))
	}
}

// putChunks stores the events.
func (r *run) putChunks(ctx context.Context, s *survey, h *past.History) error {
	r.begins(Storing, s.events)
	n, chunk := 0, make([]history.Event, 0, chunkEvents)
	put := func() error {
		data, err := history.EncodeChunk(chunk)
		if err != nil {
			return err
		}
		c := modelstore.HistoryChunk{Cluster: r.cfg.Cluster, ID: h.ID, Part: past.EventsPart, N: n, Data: data}
		n++
		chunk = chunk[:0]
		return r.cfg.Store.PutHistory(ctx, c)
	}
	err := r.history.Each(func(ev *history.Event) error {
		if ev.Time.Before(s.oldest) {
			return nil
		}
		r.advance(1)
		if chunk = append(chunk, *ev); len(chunk) < chunkEvents {
			return nil
		}
		return errors.Join(ctx.Err(), put())
	})
	if err != nil || len(chunk) == 0 {
		return err
	}
	return put()
}

// await waits until the history is learnt. If ctx ends before, learning continues in the background.
func (r *run) await(ctx context.Context) error {
	r.begins(Learning, 0)
	done := make(chan error, 1)
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { done <- r.cfg.Learner.AwaitTaught(waiting, r.cfg.Cluster) }()
	poll := time.NewTicker(learningPoll)
	defer poll.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-poll.C:
			if t := r.cfg.Learner.View(r.cfg.Cluster).Teaching; t != nil {
				r.learning(t)
			}
		}
	}
}

// learning publishes the progress of the learning.
func (r *run) learning(t *readmodel.Teaching) {
	r.shown.Done, r.shown.Total = t.Done, t.Total
	p := r.shown
	p.Bytes, p.Lines, p.BadLines = r.report.Bytes, r.report.Lines, r.report.BadLines
	if t.Remaining > 0 {
		left := t.Remaining.Seconds()
		p.RemainingSeconds = &left
	}
	r.show(&p)
}

// describe adds the description of the history to the report.
func (r *run) describe(s *survey, h *past.History) {
	p := &r.report
	p.Mode, p.Hash = string(h.Mode), h.Hash
	p.Jobs, p.NewJobs, p.TooOldJobs = s.submissions, s.freshSubmissions, s.tooOld
	if s.events > 0 {
		p.From, p.To = s.from, s.to
	}
}

// learnt adds the results of the learning to the report.
func (r *run) learnt(v *readmodel.View) {
	r.report.Waits, r.report.Lifetimes = int64(v.Learning.Learnt), v.Counts.Ended
	for _, s := range v.Scores {
		r.report.Forecasts += s.N
		r.report.WithinFactor2 += s.Within2
	}
	var at90 coverage.OutcomeCounts
	for _, counts := range v.Decided.Counts {
		for level, c := range counts[accuracy.MadeIndex(true)] {
			if waittime.Levels()[level] == 0.9 {
				at90.Below, at90.Tied = at90.Below+c.Below, at90.Tied+c.Tied
				at90.Missed += c.Missed
			}
		}
	}
	r.report.Replayed, r.report.Covered90 = at90.Known(), at90.UpTo()
}
