package ask

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/internal/duration"
	"github.com/waitcast/waitcast/pipeline/loadforecast"
	"github.com/waitcast/waitcast/pipeline/readmodel"
	"github.com/waitcast/waitcast/predictor"
	"github.com/waitcast/waitcast/predictor/headqueue"
	"github.com/waitcast/waitcast/predictor/outlook"
)

// LoadRequest is a request for the forecast of the load.
type LoadRequest struct {
	// Cluster may be empty if there is only one. An empty queue means the whole cluster, and each of its queues.
	Cluster, Queue string
	// Hours is the longest horizon of the answer, in hours.
	Hours float64
}

// LoadQuery is a query for the forecast of the load, on one view.
type LoadQuery struct {
	View *readmodel.View
	// Outlook is the newest forecast of the load in View.
	Outlook *loadforecast.Outlook
	service *Service
	request LoadRequest
}

// Load finds the newest forecast of the load. It returns a Refusal if there is none yet.
func (s *Service) Load(in LoadRequest) (*LoadQuery, error) {
	v, err := s.ReadView(in.Cluster, &in.Queue)
	if err != nil {
		return nil, err
	}
	o := v.Outlook()
	if o == nil {
		return nil, noOutlook(v)
	}
	return &LoadQuery{v, o, s, in}, nil
}

// Answer returns the forecast of the load.
func (q *LoadQuery) Answer() (wire.LoadForecast, error) {
	s, v, o, in := q.service, q.View, q.Outlook, &q.request
	out := wire.LoadForecast{
		Cluster: v.Cluster, MadeFor: o.At, AsOf: s.AsOfInstant(v), Loads: []wire.LoadAhead{},
		StandardWaits: []wire.StandardWait{},
	}
	var now time.Time
	now, out.AgeSeconds, out.Stale = s.AsOf(v)
	out.MadeAge = decimals(math.Max(0, now.Sub(o.At).Seconds()), 1)
	if in.Queue == "" {
		out.Loads = append(out.Loads, loadAhead(&o.Cluster, o.At, in.Hours))
	}
	for i := range o.Queues {
		if in.Queue == "" || o.Queues[i].Queue == in.Queue {
			out.Loads = append(out.Loads, loadAhead(&o.Queues[i], o.At, in.Hours))
		}
	}
	if len(out.Loads) == 0 {
		return out, noForecast(KindUnavailable, headqueue.NotFitted,
			fmt.Sprintf("no job of queue %s has been seen, or too many queues have", in.Queue), "leave queue out")
	}
	out.StandardWaits = standardWaits(v, o, in)
	found := s.Saturation(v, in.Queue)
	out.Arrivals, out.Saturation = loadArrivals(o), saturation(&found)
	out.Scores, out.Learnt = loadScores(o, in.Hours), loadLearnt(o, in.Hours)
	return out, nil
}

// noOutlook returns the reason why there is no forecast yet.
func noOutlook(v *readmodel.View) *Refusal {
	if v.Capacity < 1 {
		return noForecast(KindUnavailable, predictor.ReasonUnknownCapacity,
			"the capacity of cluster "+v.Cluster+" is not configured and no job has run yet",
			"set procs of the cluster in the configuration")
	}
	return noForecast(KindUnavailable, headqueue.NotFitted,
		"the first forecast of the load of cluster "+v.Cluster+" is still being made", "ask again in a minute")
}

func withinHours(horizon, hours float64) bool { return horizon <= hours*3600 }

func loadAhead(f *outlook.Future, at time.Time, hours float64) wire.LoadAhead {
	out := wire.LoadAhead{Queue: f.Queue, Horizons: []wire.LoadPoint{}, Now: wire.LoadNow{
		QueuedWork: decimals(f.Now.QueuedWork[0], 1), QueuedJobs: decimals(f.Now.QueueLength[0], 1),
		Utilization: decimals(f.Now.Utilization[0], 4),
		JobsPerHour: decimals(f.Now.JobsPerHour[0], 2), WorkPerHour: decimals(f.Now.WorkPerHour[0], 1),
	}}
	for i := range f.Points {
		p := &f.Points[i]
		if withinHours(p.Horizon, hours) {
			out.Horizons = append(out.Horizons, wire.LoadPoint{
				HorizonSeconds: p.Horizon, At: at.Add(time.Duration(p.Horizon * float64(time.Second))),
				QueuedWork: loadBand(p.QueuedWork, 1), QueuedJobs: loadBand(p.QueueLength, 2),
				Utilization: loadBand(p.Utilization, 4),
				JobsPerHour: loadBand(p.JobsPerHour, 2), WorkPerHour: loadBand(p.WorkPerHour, 1),
			})
		}
	}
	return out
}

// standardWaits returns the waits of standard jobs in the queried pools.
func standardWaits(v *readmodel.View, o *loadforecast.Outlook, in *LoadRequest) []wire.StandardWait {
	out := []wire.StandardWait{}
	for i := range o.Waits {
		w := &o.Waits[i]
		if !withinHours(w.Horizon, in.Hours) || in.Queue != "" && v.Pool(in.Queue).Name != w.Pool {
			continue
		}
		q := w.Seconds
		out = append(out, wire.StandardWait{
			Pool: w.Pool, Job: w.Standard, Procs: w.Procs, TimeLimitSeconds: w.Limit, HorizonSeconds: w.Horizon,
			WaitSeconds: wire.WaitsBand{
				P05: seconds(q[0]), P25: seconds(q[1]), P50: seconds(q[2]), P75: seconds(q[3]), P95: seconds(q[4]),
			},
		})
	}
	return out
}

func loadArrivals(o *loadforecast.Outlook) wire.LoadArrivals {
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

func loadScores(o *loadforecast.Outlook, hours float64) []wire.LoadScore {
	out := []wire.LoadScore{}
	for i := range o.Scores {
		s := &o.Scores[i]
		if s.N == 0 || !withinHours(s.Horizon, hours) {
			continue
		}
		w := wire.LoadScore{
			Scope: "cluster", Series: s.Series.String(), HorizonSeconds: s.Horizon, N: int(s.N),
			Below: decimals(s.Below, 4), Above: decimals(s.Above, 4), Losses: wire.LoadLosses{
				Waitcast: decimals(s.Mean(0), 4), Simulation: decimals(s.Mean(1), 4),
				Persistence: decimals(s.Mean(2), 4), LastWeek: decimals(s.Mean(3), 4),
			},
		}
		if s.Queues {
			w.Scope = "queues"
		}
		out = append(out, w)
	}
	return out
}

// loadLearnt reports how many outcomes of forecasts have been learned.
func loadLearnt(o *loadforecast.Outlook, hours float64) wire.LoadLearnt {
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
		out.Note = "little is known yet: there is no model of the jobs to come, so the simulation is without them"
		if len(none) < len(out.Horizons) {
			out.Note += "; only the outcomes of earlier forecasts correct for them"
		}
	case len(none) == len(out.Horizons):
		out.Note = "no outcome is known yet: the bands are those of the simulation alone"
	case len(none) > 0:
		out.Note = "no outcome is known yet of what was forecast " + strings.Join(none, ", ") +
			" ahead: those bands are the simulation's alone"
	default:
		out.Note = fmt.Sprintf("learnt from %d outcomes %s ahead", out.Horizons[0].Outcomes,
			duration.Format(time.Duration(out.Horizons[0].HorizonSeconds*float64(time.Second))))
	}
	return out
}
