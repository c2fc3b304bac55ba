package api

import (
	"context"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/job/waittime"
)

// RecentQuery says which rows of the ledger are asked for: those of jobs that started, the newest first.
type RecentQuery struct {
	// Cluster and Queue select; an empty queue means any.
	Cluster, Queue string
	// Since selects by when the wait ended.
	Since time.Time
	// Limit is the greatest number of rows.
	Limit int
}

// RecentRow is a forecast beside the fact.
type RecentRow struct {
	Queue         string
	Procs         int
	Submit, Start time.Time
	// WaitSeconds is the wait that was observed.
	WaitSeconds float64
	// Levels and Quantiles, in seconds, are the forecast; none where there was none. NaN is no quantile, +Inf is never.
	Levels, Quantiles []float64
	Replayed          bool
}

// RecentFunc reads the newest rows of the ledger.
type RecentFunc func(ctx context.Context, q RecentQuery) ([]RecentRow, error)

type recentInput struct {
	Cluster string `query:"cluster" doc:"cluster; may be left out where there is only one"`
	Queue   string `query:"queue" doc:"only this queue"`
	Since   string `query:"since" default:"30d" doc:"only jobs that started since: a time before the newest record (7d), or an instant (2026-03-02, 2026-03-02T13:00:00Z)"`
	Limit   int    `query:"limit" minimum:"1" maximum:"1000" default:"200" doc:"at most so many jobs, those that started last"`
}

type recentOutput struct {
	CacheControl string `header:"Cache-Control"`
	Body         wire.RecentForecasts
}

func (s *Server) registerRecent(a huma.API) {
	huma.Register(a, huma.Operation{
		OperationID: "get-recent-forecasts", Method: http.MethodGet, Path: "/v1/accuracy/recent",
		Summary:     "The newest forecasts, one by one, beside what came of them",
		Description: "What was forecast at the submissions of the jobs that started last, and how long they waited. It is not told whose the jobs were. The ledger is read for it, by one request at a time.",
		Errors:      []int{http.StatusNotFound, http.StatusUnprocessableEntity},
	}, s.getRecent)
}

func (s *Server) getRecent(ctx context.Context, in *recentInput) (*recentOutput, error) {
	v, err := s.readView(in.Cluster, &in.Queue)
	if err != nil {
		return nil, err
	}
	q := RecentQuery{Cluster: v.Cluster, Queue: in.Queue, Limit: in.Limit}
	if q.Since, err = since(in.Since, v.At); err != nil {
		return nil, unprocessable("since", err.Error())
	}
	select {
	case s.counting <- struct{}{}:
		defer func() { <-s.counting }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	rows, err := s.opts.Recent(ctx, q)
	if err != nil {
		return nil, unanswered("reading the ledger", err)
	}
	out := &recentOutput{CacheControl: "no-cache", Body: wire.RecentForecasts{Cluster: v.Cluster, Forecasts: []wire.RecentForecast{}, AsOf: s.asOfInstant(v)}}
	_, out.Body.AgeSeconds, out.Body.Stale = s.asOf(v)
	for i := range rows {
		out.Body.Forecasts = append(out.Body.Forecasts, recent(&rows[i]))
	}
	return out, nil
}

func recent(r *RecentRow) wire.RecentForecast {
	w := wire.RecentForecast{
		Queue: r.Queue, SizeClass: waittime.SizeClass(r.Procs), Made: "live", Submit: r.Submit, Start: r.Start, WaitSeconds: r.WaitSeconds,
	}
	if r.Replayed {
		w.Made = "replayed"
	}
	told := func(x float64) bool { return !math.IsNaN(x) }
	if len(r.Quantiles) != len(r.Levels) || !slices.ContainsFunc(r.Quantiles, told) {
		return w
	}
	w.Forecast = &wire.Quantiles{}
	for level, into := range map[float64]**float64{
		.1: &w.Forecast.P10, .25: &w.Forecast.P25, .5: &w.Forecast.P50, .75: &w.Forecast.P75, .9: &w.Forecast.P90, .95: &w.Forecast.P95,
	} {
		if i := slices.Index(r.Levels, level); i >= 0 {
			*into = number(r.Quantiles[i])
		}
	}
	return w
}
