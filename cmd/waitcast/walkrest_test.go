package main

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/job/waittime"
)

// walkNow checks that the openings agree with GET /v1/wait for jobs of these sizes.
func (w *world) walkNow() {
	all := answerOf[wire.Now](w, "GET", "/v1/now", nil)
	w.dated("now", all.AsOf, all.AgeSeconds, all.Stale)
	if len(all.Queues) != len(w.queues) {
		w.Errorf("now has %d queues, want %v", len(all.Queues), w.queues)
	}
	for _, q := range all.Queues {
		for _, o := range q.Openings {
			c := walkCase{q.Queue, o.Procs, 7 * 24 * time.Hour}
			if o.TimeLimitSeconds != nil {
				c.limit = time.Duration(*o.TimeLimitSeconds) * time.Second
			}
			one, ok := w.wait(c, "&explain=false")
			if !ok || one.StartWithin.Minute != o.Probability || o.Procs > q.Free || one.State.Free != q.Free {
				w.Errorf("now: %+v of %d free; wait says %v of %d free", o, q.Free, one.StartWithin.Minute,
					one.State.Free)
			}
			if o.LikelyProcs > 0 && o.LikelyProcs < o.Procs {
				c.procs = o.LikelyProcs
				if one, ok := w.wait(c, "&explain=false"); !ok || one.StartWithin.Minute < .9 {
					w.Errorf("now: %d are likely, wait says %v", o.LikelyProcs, one.StartWithin.Minute)
				}
			}
		}
	}
	w.same("/v1/now", nil, []string{"now"}, w.queues...)
}

// walkMe checks that each user's own jobs are those of this user in the list of all jobs, even page by page.
func (w *world) walkMe() {
	all := answerOf[wire.Jobs](w, "GET", "/v1/jobs", nil)
	of := map[string][]wire.Job{}
	for _, j := range all.Jobs {
		of[j.User] = append(of[j.User], j)
	}
	for user, jobs := range of {
		me := answerOf[wire.Me](w, "GET", "/v1/me?user="+user, nil)
		w.dated("me", me.AsOf, me.AgeSeconds, me.Stale)
		if me.User != user || me.Waiting != len(jobs) || me.NextOffset != nil || !sameJSON(me.Jobs, jobs) {
			w.Errorf("%s has %+v, the list of all has %+v", user, me, jobs)
		}
		last := answerOf[wire.Me](w, "GET", fmt.Sprintf("/v1/me?limit=1&offset=%d&user=%s", len(jobs)-1, user), nil)
		if last.NextOffset != nil || !sameJSON(last.Jobs, jobs[len(jobs)-1:]) {
			w.Errorf("the last page of %s: %+v", user, last)
		}
	}
	if status, body := w.requestAs("", "GET", "/v1/me", nil); status != http.StatusUnauthorized {
		w.Errorf("nobody: %d %s", status, body)
	}
}

// walkJobs checks the list of waiting jobs against the jobs that wait in the world and against the answers for single
// jobs. It also checks the remaining waits against the forecasts at the submissions.
func (w *world) walkJobs() {
	all := answerOf[wire.Jobs](w, "GET", "/v1/jobs", nil)
	w.dated("jobs", all.AsOf, all.AgeSeconds, all.Stale)
	if all.Waiting != len(w.queued)+len(w.held) || len(all.Jobs) != all.Waiting {
		w.Errorf("%d jobs wait, %d are listed; want %d and %d held", all.Waiting, len(all.Jobs), len(w.queued),
			len(w.held))
	}
	for i, j := range all.Jobs {
		known := w.queued[j.ID]
		if j.Held {
			known = w.held[j.ID]
		}
		if known == nil || known.queue != j.Queue || known.procs != j.Procs || known.user != j.User ||
			math.Abs(j.WaitedSeconds-w.now().Sub(walkAt(known.submit)).Seconds()) > .01 ||
			i > 0 && j.Submit.Before(all.Jobs[i-1].Submit) || j.AheadJobs > len(w.queued) {
			w.Errorf("job %+v is listed, the log says %+v", j, known)
			continue
		}
		one := answerOf[wire.JobAnswer](w, "GET", "/v1/jobs/"+j.ID, nil)
		w.dated("job", one.AsOf, one.AgeSeconds, one.Stale)
		if !sameJSON(one.Forecast, j.Forecast) || one.AheadJobs != j.AheadJobs ||
			(j.Forecast == nil) != (j.NoForecast != "") {
			w.Errorf("job %s is %+v in the list and %+v alone", j.ID, j, one.Job)
		}
		if f := j.Forecast; f != nil {
			at := w.rise("job at its submission", &f.AtSubmit, nil)
			rest := w.rise("rest of a job", &f.Now, &f.Start)
			w.checkRest(j.ID, at, rest, j.WaitedSeconds)
		}
	}
	w.same("/v1/jobs", nil, []string{"jobs"})
	if len(all.Jobs) > 0 {
		w.same("/v1/jobs/"+all.Jobs[0].ID, nil, []string{"jobs", all.Jobs[0].ID})
	}
}

// checkRest checks that the remaining wait follows from the distribution at the submission, up to the rounding of the
// quantiles: of the jobs that have waited that long, the share that starts within each quantile is that quantile's
// level.
func (w *world) checkRest(id string, at, rest []float64, waited float64) {
	w.Helper()
	d, err := waittime.NewDistribution(waittime.Levels(), at)
	if err != nil {
		w.Errorf("job %s: %v", id, err)
		return
	}
	left := 1 - d.CDF(waited)
	if left < 1e-6 {
		return
	}
	for i, level := range waittime.Levels() {
		if math.IsInf(rest[i], 1) {
			continue
		}
		want := 1 - left*(1-level)
		if d.CDF(waited+rest[i]+.3) < want-.02 || d.CDF(waited+rest[i]-.3) > want+.02 {
			w.Errorf("job %s: after %v s of %v the rest is %v: level %v has the probability %v, want %v", id, waited,
				at, rest, level, d.CDF(waited+rest[i]), want)
		}
	}
}

func sameJSON(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

// walkQueues checks the counts of the queues.
func (w *world) walkQueues() {
	all := answerOf[wire.Queues](w, "GET", "/v1/queues", nil)
	w.dated("queues", all.AsOf, all.AgeSeconds, all.Stale)
	var running, queued, held, used int
	for _, q := range all.Queues {
		running, queued, held, used = running+q.RunningJobs, queued+q.QueuedJobs, held+q.HeldJobs, used+q.RunningProcs
	}
	if running != len(w.running) || queued != len(w.queued) || held != len(w.held) {
		w.Errorf("queues have %d running, %d queued, %d held; want %d, %d, %d", running, queued, held, len(w.running),
			len(w.queued), len(w.held))
	}
	for _, p := range all.Pools {
		if p.Used.Procs != int64(used) || p.Used.Procs > p.Capacity.Procs && p.Capacity.Procs > 0 {
			w.Errorf("pool %+v, whose queues hold %d processors", p, used)
		}
	}
}

// walkForecast checks that the load forecast is as of the newest record, that its quantiles rise, and that the command
// prints the same.
func (w *world) walkForecast() {
	status, body := w.request("GET", "/v1/forecast", nil)
	if status == http.StatusServiceUnavailable { // no forecast has been made yet
		return
	}
	var f wire.LoadForecast
	if status != http.StatusOK || json.Unmarshal(body, &f) != nil {
		w.Errorf("GET /v1/forecast: %d %s", status, body)
		return
	}
	w.dated("forecast", f.AsOf, f.AgeSeconds, f.Stale)
	for _, l := range f.Loads {
		for _, h := range l.Horizons {
			for _, b := range []wire.Band{h.QueuedJobs, h.QueuedWork, h.Utilization, h.JobsPerHour} {
				if !slices.IsSorted([]float64{b.P05, b.P25, b.P50, b.P75, b.P95}) {
					w.Errorf("forecast of %s: band %+v", l.Queue, b)
				}
			}
		}
	}
	w.same("/v1/forecast?hours=168", nil, []string{"forecast"})
	for _, q := range w.queues {
		path := "/v1/when?procs=1&time_limit=3600&hours=3&queue=" + q
		if status, _ := w.request("GET", path, nil); status == http.StatusOK {
			w.same(path, nil, []string{"when", "-q", q, "-n", "1", "-t", "1h", "--hours", "3"})
		}
	}
}

// walkModels checks that the models and the lifetimes of a queue have the same numbers of jobs.
func (w *world) walkModels() {
	for _, q := range w.queues {
		status, body := w.request("GET", "/v1/models/"+q, nil)
		var m struct {
			AsOf       time.Time `json:"as_of"`
			AgeSeconds float64   `json:"age_seconds"`
			Stale      bool      `json:"stale"`
		}
		if status == http.StatusNotFound { // no job of this queue has been seen
			continue
		}
		if status != http.StatusOK || json.Unmarshal(body, &m) != nil {
			w.Errorf("GET /v1/models/%s: %d %s", q, status, body)
			continue
		}
		w.dated("models", m.AsOf, m.AgeSeconds, m.Stale)
		l := answerOf[wire.LifetimeCurves](w, "GET", "/v1/models/"+q+"/lifetimes", nil)
		w.dated("lifetimes", l.AsOf, l.AgeSeconds, l.Stale)
		w.same("/v1/models/"+q, nil, []string{"models", q})
	}
}

// walkAccuracy checks the age of the scores, and that the command prints them.
func (w *world) walkAccuracy() {
	a := answerOf[wire.Accuracy](w, "GET", "/v1/accuracy?since=30d", nil)
	w.dated("accuracy", a.AsOf, a.AgeSeconds, a.Stale)
	w.same("/v1/accuracy?since=30d", nil, []string{"accuracy"})
	w.same("/v1/history?since=30d", nil, []string{"history"})
	_ = answerOf[wire.RecentForecasts](w, "GET", "/v1/accuracy/recent", nil)
}

// walkRest calls the paths without figures, and checks that all of them agree about the daemon's health.
func (w *world) walkRest() {
	for _, path := range []string{"/v1/quarantine", "/v1/log-level", "/v1/goroutines", "/healthz", "/readyz"} {
		if status, body := w.request("GET", path, nil); status != http.StatusOK {
			w.Errorf("GET %s: %d %s", path, status, body)
		}
	}
	h := answerOf[wire.Health](w, "GET", "/v1/health", nil)
	_, ready := w.request("GET", "/readyz", nil)
	if first, _, _ := strings.Cut(string(ready), "\n"); first != h.Status || (len(h.Stale) > 0) != w.stale() {
		w.Errorf("ready %q, health %+v, stale %t", ready, h, w.stale())
	}
	if status, body := w.request("GET", "/v1/workload?days=1", nil); status != http.StatusOK {
		w.checkRefused("GET /v1/workload", status, body)
	}
	if status, body := w.request("POST", "/v1/import", "not a log"); status < 400 || status >= 500 {
		w.Errorf("an import of nothing: %d %s", status, body)
	}
	var level wire.LogLevel
	status, body := w.request("PUT", "/v1/log-level", map[string]string{"level": "info"})
	if status != http.StatusOK || json.Unmarshal(body, &level) != nil || level.Level != "info" {
		w.Errorf("PUT /v1/log-level: %d %s", status, body)
	}
	if data := w.firstEvent("/v1/changes"); !strings.Contains(data, "main") {
		w.Errorf("the first event of the changes is %s", data)
	}
}

// walkMetrics checks the metrics against the answers.
func (w *world) walkMetrics() {
	_, body := w.request("GET", "/metrics", nil)
	series := map[string]float64{}
	for line := range strings.Lines(string(body)) {
		if name, value, ok := cutLast(strings.TrimSpace(line)); ok && !strings.HasPrefix(line, "#") {
			if x, err := strconv.ParseFloat(value, 64); err == nil {
				series[name] = x
			}
		}
	}
	check := func(name string, want float64) {
		w.Helper()
		if got, ok := series[name]; !ok || math.Abs(got-want) > 1e-6*math.Abs(want) {
			w.Errorf("%s is %v (there: %t), want %v", name, got, ok, want)
		}
	}
	all := answerOf[wire.Queues](w, "GET", "/v1/queues", nil)
	check(`waitcast_as_of_timestamp_seconds{cluster="main"}`, float64(all.AsOf.UnixMilli())/1000)
	check(`waitcast_stale{cluster="main"}`, map[bool]float64{true: 1}[all.Stale])
	check(`waitcast_capacity_procs{cluster="main"}`, float64(all.Pools[0].Capacity.Procs))
	for _, q := range all.Queues {
		for state, n := range map[string][2]int{"running": {q.RunningJobs, q.RunningProcs},
			"queued": {q.QueuedJobs, q.QueuedProcs}, "held": {q.HeldJobs, q.HeldProcs}} {
			labels := fmt.Sprintf(`{cluster="main",queue=%q,state=%q}`, q.Name, state)
			check("waitcast_queue_jobs"+labels, float64(n[0]))
			check("waitcast_queue_procs"+labels, float64(n[1]))
		}
		for _, size := range waittime.SizeClasses() {
			labels := fmt.Sprintf(`{cluster="main",queue=%q,size=%q}`, q.Name, size)
			procs, known := series["waitcast_forecast_wait_procs"+labels]
			if !known {
				continue
			}
			limit := series["waitcast_forecast_wait_time_limit_seconds"+labels]
			one, ok := w.wait(walkCase{q.Name, int(procs), time.Duration(limit) * time.Second}, "&explain=false")
			for i, level := range waittime.Levels() {
				got, there := series[fmt.Sprintf(
					`waitcast_forecast_wait_seconds{cluster="main",level="%g",queue=%q,size=%q}`, level, q.Name, size)]
				if there != ok || ok && math.Abs(got-values(&one.WaitSeconds)[i]) > .06 {
					w.Errorf("%s at %v: %v (there: %t), wait says %v (%t)", labels, level, got, there,
						values(&one.WaitSeconds), ok)
				}
			}
		}
	}
}

// cutLast cuts a line at its last space.
func cutLast(line string) (before, after string, ok bool) {
	i := strings.LastIndexByte(line, ' ')
	if i < 0 {
		return "", "", false
	}
	return line[:i], line[i+1:], true
}

// walkSubmission requests a forecast and submits exactly that job. It checks that the job's forecast is that in the
// answer.
func (w *world) walkSubmission() {
	if w.stale() || len(w.running) == 0 {
		return
	}
	for id, j := range w.running { // within one instant, ends come before submissions
		j.end = w.newest + 5
		w.feed(j.end, j.event(job.End, j.end))
		delete(w.running, id)
		break
	}
	c := walkCase{w.queues[0], min(2, w.procs), time.Hour}
	before, ok := w.wait(c, "&user=u1")
	if !ok {
		return
	}
	j := &walkJob{id: "probe", queue: c.queue, user: "u1", procs: c.procs, limit: c.limit, submit: w.newest, start: -1,
		end: -1}
	w.feed(w.newest, j.event(job.Submit, w.newest))
	later := &walkJob{id: "later", queue: c.queue, user: "u2", procs: 1, limit: c.limit, submit: w.newest + 1,
		start: -1, end: -1}
	w.feed(w.newest+1, later.event(job.Submit, w.newest+1))
	got := answerOf[wire.JobAnswer](w, "GET", "/v1/jobs/probe", nil)
	if got.Forecast == nil {
		w.Errorf("a job that was submitted has no forecast: %s", got.NoForecast)
		return
	}
	for i, q := range values(&got.Forecast.AtSubmit) {
		if want := values(&before.WaitSeconds)[i]; math.Abs(waittime.Log(q)-waittime.Log(want)) > .01 {
			w.Errorf("the job was forecast at its submission with %v, the answer just before was %v",
				values(&got.Forecast.AtSubmit), values(&before.WaitSeconds))
			return
		}
	}
}
