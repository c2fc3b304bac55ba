package api_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/pipeline"
	"github.com/waitcast/waitcast/pipeline/queuenames"
)

// manyQueues returns a fixture with a limit of queues. A job ran in each of many more queues.
func manyQueues(t testing.TB, limit, queues int) *fixture {
	t.Helper()
	f := serveWith(t, pipeline.Config{Clusters: []pipeline.ClusterConfig{main(64, "work")}, MaxQueues: limit})
	f.history("main", "work")
	begin := f.pipeline.View("main").At.Sub(epoch()).Seconds()
	var events []job.Event
	for i := range queues {
		at := begin + float64(20*i)
		o := one{id: fmt.Sprint("c", i), queue: fmt.Sprint("q", i), procs: 1 << (i % 6), submit: at, start: at + 5,
			end: at + 15}
		events = append(events, o.events("main")...)
	}
	f.feed("main", events...)
	f.now = f.pipeline.View("main").At
	return f
}

// TestFoldedQueue proves that a request for a queue beyond the limit is answered for the queue "other", and that the
// answer also has the requested name. A queue that was never seen is refused, with a message of limited length.
func TestFoldedQueue(t *testing.T) {
	f := manyQueues(t, 80, 300)
	w := f.wait("queue=q299&procs=2&time_limit=1h")
	if w.Queue != queuenames.Other || w.AskedQueue != "q299" ||
		!strings.Contains(w.Reason, "queue q299 are counted in queue other") {
		t.Errorf("queue %q, asked %q: %s", w.Queue, w.AskedQueue, w.Reason)
	}
	if w := f.wait("queue=q3&procs=2&time_limit=1h"); w.Queue != "q3" || w.AskedQueue != "" {
		t.Errorf("a queue within the limit is answered as %q, asked %q", w.Queue, w.AskedQueue)
	}
	p := f.problem("/v1/wait?queue=never&procs=2&time_limit=1h")
	if p.Status != http.StatusNotFound || !strings.Contains(fmt.Sprint(p), "more (GET /v1/queues has all)") ||
		len(fmt.Sprint(p)) > 1000 {
		t.Errorf("an unknown queue: %+v", p)
	}
	var now wire.Now
	if f.get("/v1/now?queue=q299", &now); len(now.Queues) != 1 || now.Queues[0].Queue != queuenames.Other ||
		now.Queues[0].AskedQueue != "q299" {
		t.Errorf("/v1/now: %+v", now.Queues)
	}
	for _, path := range []string{
		"/v1/models/q299", "/v1/models/q299/lifetimes", "/v1/jobs?queue=q299", "/v1/accuracy/recent?queue=q299",
	} {
		if a := f.do(http.MethodGet, path, nil); a.status != http.StatusOK {
			t.Errorf("%s: status %d: %s", path, a.status, a.body)
		}
	}
	var accuracy wire.Accuracy
	if f.get("/v1/accuracy?queue=q299", &accuracy); f.asked.Queue != queuenames.Other {
		t.Errorf("the ledger is asked for queue %q, want %s", f.asked.Queue, queuenames.Other)
	}
	if len(f.pipeline.View("main").Queues()) != 81 {
		t.Errorf("%d queues, want 80 and other", len(f.pipeline.View("main").Queues()))
	}
}

// TestMetricsOfManyQueues proves that only a part of the queues within the limit have detailed series, that sums of
// counters over queues are complete, and that queues beyond the limit are counted.
func TestMetricsOfManyQueues(t *testing.T) {
	f := manyQueues(t, 80, 300)
	body := string(f.do(http.MethodGet, "/metrics", nil).body)
	queues, scored := map[string]map[string]bool{}, 0.0
	for _, m := range regexp.MustCompile(`(?m)^(waitcast_\w+)\{.*?queue="([^"]*)".*\} (\S+)$`).
		FindAllStringSubmatch(body, -1) {
		if queues[m[1]] == nil {
			queues[m[1]] = map[string]bool{}
		}
		queues[m[1]][m[2]] = true
		if m[1] == "waitcast_forecasts_scored_total" || m[1] == "waitcast_forecasts_impossible_total" {
			v, err := strconv.ParseFloat(m[3], 64)
			if err != nil {
				t.Fatal(err)
			}
			scored += v
		}
	}
	for name, of := range queues {
		most := 66 // 64, the default and the other queue
		if name == "waitcast_queue_jobs" || name == "waitcast_queue_procs" {
			most = 81
		}
		if len(of) > most {
			t.Errorf("%s has %d queues, want at most %d", name, len(of), most)
		}
	}
	for name, least := range map[string]int{
		"waitcast_queue_jobs": 81, "waitcast_forecasts_hits_total": 65, "waitcast_observed_wait_seconds_bucket": 65,
		"waitcast_queue_drifts_total": 65,
	} {
		if len(queues[name]) < least {
			t.Errorf("%s has %d queues, want %d", name, len(queues[name]), least)
		}
	}
	if scored != lawJobs+300 {
		t.Errorf("%v jobs are scored over all queues, want %d", scored, lawJobs+300)
	}
	for _, line := range []string{
		`waitcast_queues{cluster="main"} 81`, `waitcast_queues_folded_total{cluster="main"} 221`,
	} {
		if !strings.Contains(body, line+"\n") {
			t.Errorf("no %s", line)
		}
	}
}
