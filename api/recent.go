package api

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/waitcast/waitcast/api/ask"
	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/job/waittime"
)

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
	register(a, huma.Operation{
		OperationID: "get-recent-forecasts", Method: http.MethodGet, Path: "/v1/accuracy/recent",
		Summary: "The newest forecasts, one by one, beside what came of them",
		Description: "What was forecast at the submissions of the jobs that started last, and how long they waited. " +
			"It is not told whose the jobs were. The ledger is read for it, by one request at a time.",
		Errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity},
	}, s.getRecent)
}

func (s *Server) getRecent(ctx context.Context, in *recentInput) (*recentOutput, error) {
	v, err := s.ask.ReadView(in.Cluster, &in.Queue)
	if err != nil {
		return nil, err
	}
	q := RecentQuery{Cluster: v.Cluster, Queue: in.Queue, Limit: in.Limit}
	if q.Since, err = since(in.Since, v.At); err != nil {
		return nil, ask.Invalid("since", err.Error())
	}
	select {
	case s.counting <- struct{}{}:
		defer func() { <-s.counting }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	rows, err := s.opts.Recent(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("reading the ledger: %w", err)
	}
	out := &recentOutput{CacheControl: "no-cache",
		Body: wire.RecentForecasts{Cluster: v.Cluster, Forecasts: []wire.RecentForecast{}, AsOf: s.ask.AsOfInstant(v)}}
	_, out.Body.AgeSeconds, out.Body.Stale = s.ask.AsOf(v)
	for i := range rows {
		out.Body.Forecasts = append(out.Body.Forecasts, recent(&rows[i]))
	}
	return out, nil
}

func recent(r *RecentRow) wire.RecentForecast {
	w := wire.RecentForecast{
		Queue: r.Queue, SizeClass: waittime.SizeClass(r.Procs), Made: "live", Submit: r.Submit, Start: r.Start,
		WaitSeconds: r.WaitSeconds,
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
		.1: &w.Forecast.P10, .25: &w.Forecast.P25, .5: &w.Forecast.P50, .75: &w.Forecast.P75, .9: &w.Forecast.P90,
		.95: &w.Forecast.P95,
	} {
		if i := slices.Index(r.Levels, level); i >= 0 {
			*into = ask.Number(r.Quantiles[i])
		}
	}
	return w
}
