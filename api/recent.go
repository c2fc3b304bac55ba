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
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/job/waittime"
)

type recentInput struct {
	Cluster string `query:"cluster" doc:"name of the cluster; may be left out if there is only one"`
	Queue   string `query:"queue" doc:"only this queue"`
	Since   string `query:"since" default:"30d" doc:"only jobs that started since: a time before the newest record (7d), or an instant (2026-03-02, 2026-03-02T13:00:00Z)"`
	Limit   int    `query:"limit" minimum:"1" maximum:"1000" default:"200" doc:"maximum number of jobs, those that started last"`
}

type recentOutput struct {
	CacheControl string `header:"Cache-Control"`
	Body         wire.RecentForecasts
}

func (s *Server) registerRecent(a huma.API) {
	register(a, huma.Operation{
		OperationID: "get-recent-forecasts", Method: http.MethodGet, Path: "/v1/accuracy/recent",
		Summary: "The newest forecasts one by one, with the actual waits",
		Errors:  []int{http.StatusNotFound, http.StatusUnprocessableEntity},
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
	leave, err := s.enterLedger(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
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
	w.Forecast = recentQuantiles(r.Levels, r.Quantiles)
	if p := r.Parts; p != nil {
		w.BlockedSeconds, w.BlockedForecast = &p.BlockedSeconds, recentQuantiles(r.Levels, p.Blocked)
		w.Predicted, w.Settled = p.Predicted, job.CauseOf(p.Settled).String()
	}
	return w
}

// recentQuantiles converts quantiles of the ledger; nil if there are none.
func recentQuantiles(levels, quantiles []float64) *wire.Quantiles {
	told := func(x float64) bool { return !math.IsNaN(x) }
	if len(quantiles) != len(levels) || !slices.ContainsFunc(quantiles, told) {
		return nil
	}
	out := &wire.Quantiles{}
	for level, into := range map[float64]**float64{
		.1: &out.P10, .25: &out.P25, .5: &out.P50, .75: &out.P75, .9: &out.P90, .95: &out.P95,
	} {
		if i := slices.Index(levels, level); i >= 0 {
			*into = ask.Number(quantiles[i])
		}
	}
	return out
}
