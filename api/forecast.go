package api

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/internal/duration"
	"github.com/waitcast/waitcast/pipeline"
	"github.com/waitcast/waitcast/predictor"
	"github.com/waitcast/waitcast/predictor/headqueue"
	"github.com/waitcast/waitcast/predictor/outlook"
)

type forecastInput struct {
	Cluster     string  `query:"cluster" doc:"cluster; may be left out where there is only one"`
	Queue       string  `query:"queue" doc:"only this queue"`
	Hours       float64 `query:"hours" default:"168" minimum:"1" maximum:"100000" doc:"only horizons up to so many hours"`
	IfNoneMatch string  `header:"If-None-Match" doc:"ETags of answers that the client has: the answer is 304 if it is still one of them"`
}

type forecastOutput struct {
	ETag string `header:"ETag" doc:"weak validator: the same as long as the answer tells the same, its ages aside"`
	Body wire.LoadForecast
}

func (s *Server) registerForecast(a huma.API) {
	huma.Register(a, huma.Operation{
		OperationID: "get-forecast", Method: http.MethodGet, Path: "/v1/forecast",
		Summary: "What do the next hours and days bring?",
		Description: "Queued work, queue length, utilization, arrivals and the waits of standard jobs from an hour to a week ahead, as quantiles, for the cluster and each queue, " +
			"and how such forecasts turned out.",
		Errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusServiceUnavailable},
	}, s.getForecast)
}

func (s *Server) getForecast(ctx context.Context, in *forecastInput) (*forecastOutput, error) {
	v, err := s.readView(in.Cluster, &in.Queue)
	if err != nil {
		return nil, err
	}
	o := v.Outlook()
	if o == nil {
		return nil, noOutlook(v)
	}
	tag := strings.TrimSuffix(s.tag(ctx, false, v), `"`) + fmt.Sprintf(`-f%d"`, o.Number)
	if err := unchanged(in.IfNoneMatch, tag); err != nil {
		return nil, err
	}
	out := &forecastOutput{ETag: tag, Body: wire.LoadForecast{Cluster: v.Cluster, MadeFor: o.At, AsOf: s.asOfInstant(v), Loads: []wire.LoadAhead{}, StandardWaits: []wire.StandardWait{}}}
	w := &out.Body
	var now time.Time
	now, w.AgeSeconds, w.Stale = s.asOf(v)
	w.MadeAge = decimals(math.Max(0, now.Sub(o.At).Seconds()), 1)
	if in.Queue == "" {
		w.Loads = append(w.Loads, loadAhead(&o.Cluster, o.At, in.Hours))
	}
	for i := range o.Queues {
		if in.Queue == "" || o.Queues[i].Queue == in.Queue {
			w.Loads = append(w.Loads, loadAhead(&o.Queues[i], o.At, in.Hours))
		}
	}
	if len(w.Loads) == 0 {
		return nil, noForecast(http.StatusServiceUnavailable, headqueue.NotFitted,
			fmt.Sprintf("no job of queue %s has been seen, or too many queues have", in.Queue), "leave queue out")
	}
	w.StandardWaits = standardWaits(v, o, in)
	found := s.analyses.saturation(v, in.Queue)
	w.Arrivals, w.Saturation = loadArrivals(o), saturation(&found)
	w.Scores, w.Learnt = loadScores(o, in.Hours), loadLearnt(o, in.Hours)
	return out, nil
}

// noOutlook says why there is no forecast yet.
func noOutlook(v *pipeline.View) *problem {
	if v.Capacity < 1 {
		return noForecast(http.StatusServiceUnavailable, predictor.ReasonUnknownCapacity,
			"the capacity of cluster "+v.Cluster+" is not configured and no job has run yet", "set procs of the cluster in the configuration")
	}
	return noForecast(http.StatusServiceUnavailable, headqueue.NotFitted, "the first forecast of the load of cluster "+v.Cluster+" is still being made", "ask again in a minute")
}

func withinHours(horizon, hours float64) bool { return horizon <= hours*3600 }

func loadAhead(f *outlook.Future, at time.Time, hours float64) wire.LoadAhead {
	out := wire.LoadAhead{Queue: f.Queue, Horizons: []wire.LoadPoint{}, Now: wire.LoadNow{
		QueuedWork: decimals(f.Now.QueuedWork[0], 1), QueuedJobs: decimals(f.Now.QueueLength[0], 1), Utilization: decimals(f.Now.Utilization[0], 4),
		JobsPerHour: decimals(f.Now.JobsPerHour[0], 2), WorkPerHour: decimals(f.Now.WorkPerHour[0], 1),
	}}
	for i := range f.Points {
		p := &f.Points[i]
		if withinHours(p.Horizon, hours) {
			out.Horizons = append(out.Horizons, wire.LoadPoint{
				HorizonSeconds: p.Horizon, At: at.Add(time.Duration(p.Horizon * float64(time.Second))),
				QueuedWork: loadBand(p.QueuedWork, 1), QueuedJobs: loadBand(p.QueueLength, 2), Utilization: loadBand(p.Utilization, 4),
				JobsPerHour: loadBand(p.JobsPerHour, 2), WorkPerHour: loadBand(p.WorkPerHour, 1),
			})
		}
	}
	return out
}

func decimals(x float64, n int) float64 {
	unit := math.Pow10(n)
	if y := math.Round(x*unit) / unit; !math.IsInf(y, 0) && !math.IsNaN(y) {
		return y
	}
	return 0 // what no log can tell
}

func loadBand(q outlook.Quantiles, n int) wire.Band {
	return wire.Band{P05: decimals(q[0], n), P25: decimals(q[1], n), P50: decimals(q[2], n), P75: decimals(q[3], n), P95: decimals(q[4], n)}
}

// standardWaits tells the waits of standard jobs in the pools that are asked about.
func standardWaits(v *pipeline.View, o *pipeline.Outlook, in *forecastInput) []wire.StandardWait {
	out := []wire.StandardWait{}
	for i := range o.Waits {
		w := &o.Waits[i]
		if !withinHours(w.Horizon, in.Hours) || in.Queue != "" && v.Pool(in.Queue).Name != w.Pool {
			continue
		}
		q := w.Seconds
		out = append(out, wire.StandardWait{
			Pool: w.Pool, Job: w.Standard, Procs: w.Procs, TimeLimitSeconds: w.Limit, HorizonSeconds: w.Horizon,
			WaitSeconds: wire.WaitsBand{P05: seconds(q[0]), P25: seconds(q[1]), P50: seconds(q[2]), P75: seconds(q[3]), P95: seconds(q[4])},
		})
	}
	return out
}

func loadArrivals(o *pipeline.Outlook) wire.LoadArrivals {
	out := wire.LoadArrivals{Model: o.Arrivals}
	for i, name := range outlook.ArrivalModels() {
		m := wire.ArrivalModel{Name: name}
		if loss := o.ArrivalLosses[i]; !math.IsNaN(loss) {
			loss = decimals(loss, 4)
			m.Loss = &loss
		}
		out.Models = append(out.Models, m)
	}
	return out
}

// saturation writes the saturation of a queue or the cluster, nil before anything of it is known.
func saturation(s *pipeline.Saturation) *wire.Saturation {
	if s.History.Weeks == 0 && s.FutureWeeks == 0 {
		return nil
	}
	out := &wire.Saturation{Saturated: s.Saturated(), Growth: decimals(s.History.PerWeek, 4), GrowthWeeks: s.History.Weeks}
	if s.FutureWeeks > 0 {
		probability, band, at := decimals(s.Future.Probability, 4), loadBand(s.Future.JobsPerWeek, 2), s.At
		out.Probability, out.JobsPerWeek, out.Weeks, out.At = &probability, &band, s.FutureWeeks, &at
	}
	return out
}

func loadScores(o *pipeline.Outlook, hours float64) []wire.LoadScore {
	out := []wire.LoadScore{}
	for i := range o.Scores {
		s := &o.Scores[i]
		if s.N == 0 || !withinHours(s.Horizon, hours) {
			continue
		}
		w := wire.LoadScore{
			Scope: "cluster", Series: s.Series.String(), HorizonSeconds: s.Horizon, N: int(s.N), Below: decimals(s.Below, 4), Above: decimals(s.Above, 4),
			Losses: wire.LoadLosses{
				Waitcast: decimals(s.Mean(0), 4), Simulation: decimals(s.Mean(1), 4), Persistence: decimals(s.Mean(2), 4), LastWeek: decimals(s.Mean(3), 4),
			},
		}
		if s.Queues {
			w.Scope = "queues"
		}
		out = append(out, w)
	}
	return out
}

// loadLearnt says how much is known of how forecasts turn out.
func loadLearnt(o *pipeline.Outlook, hours float64) wire.LoadLearnt {
	out := wire.LoadLearnt{Horizons: []wire.LoadOutcomes{}}
	var none []string
	for i := range o.Cluster.Points {
		h := o.Cluster.Points[i].Horizon
		if !withinHours(h, hours) {
			continue
		}
		one := wire.LoadOutcomes{HorizonSeconds: h, Outcomes: o.Outcomes[i]}
		for k := range o.Scores {
			if s := &o.Scores[k]; !s.Queues && s.Series == outlook.QueuedWork && s.Horizon == h {
				one.Scored = int(s.N)
			}
		}
		if one.Outcomes == 0 {
			none = append(none, duration.Format(time.Duration(h*float64(time.Second))))
		}
		out.Horizons = append(out.Horizons, one)
	}
	switch {
	case o.Arrivals == "":
		out.Note = "little is known yet: there is no model of the jobs to come, so that nobody comes in the simulation"
	case len(none) == len(out.Horizons):
		out.Note = "no outcome is known yet: the bands are those of the simulation alone"
	case len(none) > 0:
		out.Note = "no outcome is known yet " + strings.Join(none, ", ") + " ahead: there the bands are those of the simulation alone"
	default:
		out.Note = fmt.Sprintf("learnt from %d outcomes %s ahead", out.Horizons[0].Outcomes, duration.Format(time.Duration(out.Horizons[0].HorizonSeconds*float64(time.Second))))
	}
	return out
}
