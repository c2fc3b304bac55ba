package api

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/internal/duration"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/pipeline"
	"github.com/waitcast/waitcast/predictor"
	"github.com/waitcast/waitcast/predictor/headqueue"
)

type waitInput struct {
	Cluster     string `query:"cluster" doc:"cluster; may be left out where there is only one"`
	Queue       string `query:"queue" doc:"queue (Slurm partition); may be left out where there is only one"`
	Procs       int    `query:"procs" minimum:"0" doc:"processors asked for; if left out, nodes"`
	Nodes       int    `query:"nodes" minimum:"0" doc:"nodes asked for; takes the place of procs where that is left out"`
	GPUs        int    `query:"gpus" minimum:"0" doc:"GPUs asked for, of all nodes together"`
	Memory      string `query:"memory" doc:"memory asked for, of all nodes together: 4000M, 64G (powers of 1024)"`
	TimeLimit   string `query:"time_limit" doc:"wall-clock time asked for: 90m, 2:00:00, 1-12:00, seconds"`
	User        string `query:"user" doc:"who would submit it"`
	Account     string `query:"account" doc:"account it would be charged to"`
	QOS         string `query:"qos" doc:"quality of service"`
	Explain     bool   `query:"explain" default:"true" doc:"tell waits_for and sooner, which cost more than the forecast"`
	IfNoneMatch string `header:"If-None-Match" doc:"ETags of answers that the client has: the answer is 304 if it is still one of them"`
}

type waitOutput struct {
	ETag string `header:"ETag" doc:"weak validator: the same as long as the answer tells the same, age_seconds aside"`
	Body wire.Wait
}

func (s *Server) getWait(ctx context.Context, in *waitInput) (*waitOutput, error) {
	if err := s.mayAskAs(ctx, in.User, in.Account); err != nil {
		return nil, err
	}
	v, err := s.view(in.Cluster)
	if err != nil {
		return nil, err
	}
	req, err := request(v, in)
	if err != nil {
		return nil, err
	}
	tag := s.tag(ctx, true, v)
	if err := unchanged(in.IfNoneMatch, tag); err != nil {
		return nil, err
	}
	now, age, stale := s.asOf(v)
	scene, forecast, served, err := s.forecast(v, now, attributes(&req))
	if err != nil {
		return nil, forecastProblem(err)
	}
	forecast.Law, _ = v.Models.Law(req.Queue, req.Procs)
	body := answer(v, req, scene, forecast, s.asOfInstant(v), now, age, stale)
	if in.Queue != "" {
		body.AskedQueue = askedQueue(in.Queue, req.Queue)
	}
	served.into(&body)
	if in.Explain {
		a := attributes(&req)
		body.WaitsFor, body.Sooner = s.visibilityFor(ctx).pivots(v.Pivots(&a)), sooner(v, now, &a, forecast.Quantiles)
	}
	body.Reason = reason(&body)
	if body.AskedQueue != "" {
		body.Reason += fmt.Sprintf("; the jobs of queue %s are counted in queue %s", body.AskedQueue, body.Queue)
	}
	if forecast.Closed {
		body.Reason += "; it cannot start while " + outages(scene) + " would interrupt it"
	}
	if c := s.unread(v); c != nil {
		body.Reason += "; " + c.String()
	}
	return &waitOutput{ETag: tag, Body: body}, nil
}

// view finds the cluster that is asked about.
func (s *Server) view(cluster string) (*pipeline.View, error) {
	if cluster != "" {
		if v := s.views.View(cluster); v != nil {
			return v, nil
		}
		return nil, notFound(fmt.Sprintf("no cluster %q; known clusters: %s", cluster, strings.Join(s.clusters(), ", ")))
	}
	all := s.views.Views()
	if len(all) == 1 {
		return all[0], nil
	}
	return nil, unprocessable("cluster", "say which one: "+strings.Join(s.clusters(), ", "))
}

func (s *Server) clusters() []string {
	var names []string
	for _, v := range s.views.Views() {
		names = append(names, v.Cluster)
	}
	return names
}

// asOf returns the instant that an answer is for, the age of the newest record behind it in seconds, and whether that
// is stale. A picture that is stale is answered for as it was then: nobody knows what has ended since.
func (s *Server) asOf(v *pipeline.View) (now time.Time, age float64, stale bool) {
	now = s.opts.Now()
	if v.At.IsZero() {
		return now, 0, true // nothing was ever read
	}
	age = math.Max(0, now.Sub(v.At).Seconds())
	stale = s.whyStale(v) != ""
	if stale || now.Before(v.At) {
		now = v.At
	}
	return now, age, stale
}

// asOfInstant is what an answer from the view is as of: the newest record's time, but never later than the clock, from which hosts may differ by some minutes.
func (s *Server) asOfInstant(v *pipeline.View) time.Time {
	if now := s.opts.Now(); v.At.After(now) {
		return now.Round(0).UTC()
	}
	return v.At
}

func answer(v *pipeline.View, req job.Request, scene *predictor.Scene, f *predictor.Forecast, asOf, now time.Time, age float64, stale bool) wire.Wait {
	free := max(0, scene.Capacity()-f.Used)
	if scene.Dimension == cluster.Procs {
		_, free = scene.Pool.Room()
	}
	w := wire.Wait{
		Cluster: v.Cluster, Queue: req.Queue, Procs: req.Procs, Nodes: req.Nodes, GPUs: req.GPUs, MemoryBytes: req.Memory,
		TimeLimitSeconds: req.TimeLimit.Seconds(),
		WaitSeconds:      quantiles(f.Quantiles), Start: instants(f.Quantiles, now),
		StartWithin: wire.StartWithin{
			Minute: f.Within[0], TenMinutes: f.Within[1], Hour: f.Within[2], FourHours: f.Within[3], Day: f.Within[4],
		},
		Method: f.Method, Methods: methods(f.Medians), Model: model(&f.Law),
		State: wire.ClusterState{
			Pool: scene.Pool.Name, Binds: scene.Dimension.String(), Capacity: scene.Capacity(), CapacitySource: scene.Pool.Source,
			Size: scene.Size, Free: free, RunningJobs: len(scene.Running),
			QueuedAheadJobs: f.AheadJobs, QueuedAhead: f.AheadProcs, Needed: max(0, f.Need),
		},
		AsOf: asOf, AgeSeconds: age, Stale: stale,
	}
	return w
}

// outages names what the scheduler has planned for the pool of a scene.
func outages(scene *predictor.Scene) string {
	var names []string
	for _, o := range scene.Pool.Outages {
		names = append(names, o.Name)
	}
	return strings.Join(names, ", ")
}

// seconds returns a quantile as JSON has it: null where it is never reached.
func seconds(q float64) *float64 {
	if math.IsInf(q, 0) || math.IsNaN(q) {
		return nil
	}
	q = math.Round(q*10) / 10
	return &q
}

func quantiles(q []float64) wire.Quantiles {
	var values [6]float64 // one piece of memory for all
	at := func(i int) *float64 {
		if math.IsInf(q[i], 0) || math.IsNaN(q[i]) {
			return nil
		}
		values[i] = math.Round(q[i]*10) / 10
		return &values[i]
	}
	return wire.Quantiles{P10: at(0), P25: at(1), P50: at(2), P75: at(3), P90: at(4), P95: at(5)}
}

func instants(q []float64, now time.Time) wire.Instants {
	var values [6]time.Time
	at := func(i int) *time.Time {
		if math.IsInf(q[i], 0) || math.IsNaN(q[i]) || q[i] > math.MaxInt64/float64(time.Second) {
			return nil
		}
		values[i] = now.Add(time.Duration(q[i] * float64(time.Second))).UTC().Truncate(time.Millisecond)
		return &values[i]
	}
	return wire.Instants{P10: at(0), P25: at(1), P50: at(2), P75: at(3), P90: at(4), P95: at(5)}
}

func methods(medians []headqueue.MethodMedian) []wire.Method {
	out := make([]wire.Method, 0, len(medians))
	for _, m := range medians {
		w := wire.Method{Name: m.Name, MedianSeconds: seconds(m.Seconds)}
		if m.Cannot != nil {
			w.MedianSeconds = nil
			w.CannotSay = &wire.CannotSay{Reason: string(m.Cannot.Reason), Detail: m.Cannot.Detail, Hint: m.Cannot.Hint}
		}
		out = append(out, w)
	}
	return out
}

// model describes a law; the zero Law (nothing fitted) gives a model of 0 samples.
func model(l *predictor.Law) wire.Model {
	m := wire.Model{Queue: l.Queue, Class: l.Class, N: l.N}
	if l.N == 0 {
		return m
	}
	if m.Law = l.Name; !l.Valid() { // Downey's law does not fit at all: another one was chosen
		return m
	}
	m.B0, m.B1, m.R2 = l.B0, l.B1, l.R2
	m.TMinSeconds, m.TMaxSeconds = l.TMin(), l.TMax()
	at := l.At.UTC()
	m.FittedAt = &at
	return m
}

// reason says the forecast in one sentence: what is free, who is ahead, and what the forecast rests on.
func reason(w *wire.Wait) string {
	what := map[string]string{"procs": "processors", "nodes": "nodes", "gpus": "GPUs", "memory": "processors' shares of memory"}[w.State.Binds]
	text := fmt.Sprintf("%d of %d %s are free", w.State.Free, w.State.Capacity, what)
	ahead := count(w.State.QueuedAheadJobs, "job")
	switch {
	case w.State.Needed == 0 && w.State.QueuedAheadJobs == 0:
		text = fmt.Sprintf("starts at once if it fits: %s and nobody is ahead", text)
	case w.State.Needed == 0:
		text = fmt.Sprintf("starts at once if it fits: %s, enough for the %s ahead too", text, ahead)
	case w.State.QueuedAheadJobs == 0:
		text = fmt.Sprintf("next in line: %s, %d more must be freed by the %s that run",
			text, w.State.Needed, count(w.State.RunningJobs, "job"))
	default:
		text = fmt.Sprintf("%s with %d %s ahead, %s: %d must be freed first, unless this job fits between them",
			ahead, w.State.QueuedAhead, what, text, w.State.Needed)
	}
	text += "; " + basis(w)
	if w.Stale {
		text += fmt.Sprintf("; STALE: the newest record is %s old, this is how it looked then",
			duration.Format(time.Duration(w.AgeSeconds)*time.Second))
	}
	return text
}

// fewWaits is below how many learnt waits the answer says that little is known: before so many nothing is trained.
const fewWaits = 300

// basis says what the forecast rests on.
func basis(w *wire.Wait) string {
	b := &w.Basis
	switch {
	case w.Method != pipeline.Waitcast:
		return "no wait has been learnt yet: first come, first served is assumed"
	case b.Learnt < fewWaits && b.Learnt == 1:
		return "little is known yet: 1 wait learnt"
	case b.Learnt < fewWaits:
		return fmt.Sprintf("little is known yet: %d waits learnt", b.Learnt)
	case b.Similar == 0:
		return fmt.Sprintf("no wait of such a job in queue %s is known yet: learnt from %d others", w.Queue, b.Learnt)
	}
	return fmt.Sprintf("learnt from %s of such jobs and %d in all", count(b.Similar, "wait"), b.Learnt)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
