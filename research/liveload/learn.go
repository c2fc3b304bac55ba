package liveload

import (
	"context"
	"errors"
	"time"

	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/history"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline"
	"github.com/waitcast/waitcast/pipeline/past"
)

// chunkEvents is the number of events in a chunk of a stored history.
const chunkEvents = 4096

// learn imports the log at path as a history into the pipeline, and returns when the pipeline has learnt it.
func (r *replay) learn(ctx context.Context, path string) (err error) {
	options := r.source.Options
	options.Recorded = true
	log, err := history.Read(ctx, []string{path}, history.Config{
		Formats: history.Formats(time.Now), Options: options, Now: time.Now(),
		Check: func(ev *job.Event) (err error) { *ev, err = pipeline.Storable(*ev); return err },
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	described := past.History{ID: "dump", Mode: past.Exact}
	digest, chunk, n := history.NewDigest(), []history.Event(nil), 0
	put := func() error {
		data, err := history.EncodeChunk(chunk)
		if err != nil {
			return err
		}
		c := modelstore.HistoryChunk{
			Cluster: r.source.Options.Cluster, ID: described.ID, Part: past.EventsPart, N: n, Data: data,
		}
		n, chunk = n+1, chunk[:0]
		return r.store.PutHistory(ctx, c)
	}
	err = log.Each(func(ev *history.Event) error {
		digest.Add(ev)
		described.Events++
		if ev.Kind == job.Submit {
			described.Submissions++
		}
		if chunk = append(chunk, *ev); len(chunk) < chunkEvents {
			return nil
		}
		return put()
	})
	if err == nil && len(chunk) > 0 {
		err = put()
	}
	described.Hash = digest.String()
	if err != nil {
		return err
	}
	return r.teach(ctx, described)
}

// teach puts a stored history in force and lets the pipeline run until it has learnt the history.
func (r *replay) teach(ctx context.Context, h past.History) error {
	name := r.source.Options.Cluster
	deliveries := make(chan *source.Delivery)
	done := make(chan error, 1)
	go func() { done <- r.pipeline.Run(ctx, deliveries) }()
	err := r.pipeline.Teach(ctx, name, h)
	if err == nil {
		err = r.pipeline.AwaitTaught(ctx, name)
	}
	close(deliveries)
	return errors.Join(err, <-done)
}
