package api_test

import (
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/collector/tail"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/pipeline"
)

// ready checks the status and the text of /readyz. With strict=true the text must be the same, and the status 503
// unless the text is "ready".
func (f *fixture) ready(status int, text string) {
	f.Helper()
	strict := http.StatusServiceUnavailable
	if text == "ready\n" {
		strict = http.StatusOK
	}
	if a := f.do(http.MethodGet, "/readyz", nil); a.status != status || string(a.body) != text {
		f.Errorf("readyz: %d %q, want %d %q", a.status, a.body, status, text)
	}
	if a := f.do(http.MethodGet, "/readyz?strict=true", nil); a.status != strict || string(a.body) != text {
		f.Errorf("readyz, strict: %d %q, want %d %q", a.status, a.body, strict, text)
	}
	degraded := "0"
	if text != "ready\n" {
		degraded = "1"
	}
	help := "# HELP waitcast_degraded 1 if a problem keeps the daemon from doing all of its work, as in " +
		"/readyz.\n# TYPE waitcast_degraded gauge\n"
	if err := testutil.GatherAndCompare(f.registry, strings.NewReader(help+"waitcast_degraded "+degraded+"\n"),
		"waitcast_degraded"); err != nil {
		f.Error(err)
	}
}

// standing passes lasting problems of a cluster's log to the pipeline.
func (f *fixture) standing(cluster string, problems ...tail.Problem) {
	f.Helper()
	f.deliver(&source.Delivery{Source: f.sources[cluster], Standing: problems, CaughtUp: true})
}

func denied(path string) tail.Problem {
	return tail.Problem{Path: path, Reason: tail.Unreadable,
		Err: &fs.PathError{Op: "open", Path: path, Err: fs.ErrPermission}}
}

// TestReady proves that a server is healthy at once, and ready when one cluster is usable and every source was read to
// its end or failed. Later failures make it unready only if strict is requested.
func TestReady(t *testing.T) {
	f := serve(t, pipeline.ClusterConfig{Name: "one", Procs: 4}, pipeline.ClusterConfig{Name: "two", Procs: 4})
	if a := f.do(http.MethodGet, "/healthz", nil); a.status != http.StatusOK || string(a.body) != "ok\n" {
		t.Errorf("healthz: %d %s", a.status, a.body)
	}
	const (
		no      = http.StatusServiceUnavailable
		reading = ": still reading what was there before\n"
		nothing = "nothing_read: no record of any cluster has been read yet\n"
		lost    = "source_unreadable: source two/log: /var/two: permission denied\n"
	)
	f.ready(no, "not ready\nsource_reading: source one/log"+reading+"source_reading: source two/log"+reading+nothing)
	f.standing("two", denied("/var/two"))
	f.ready(no, "not ready\nsource_reading: source one/log"+reading+lost+nothing)
	f.feed("one") // an empty log: no job was submitted yet
	f.ready(http.StatusOK, "degraded\n"+lost)
	events := one{id: "1", queue: "work", procs: 1, submit: 0, start: 1, end: -1}.events("one")
	f.feed("one", events...)
	f.ready(http.StatusOK, "degraded\n"+lost)
	f.feed("two")
	f.ready(http.StatusOK, "ready\n")
	f.standing("one", denied("/var/one"))
	f.ready(http.StatusOK, "degraded\nsource_unreadable: source one/log: /var/one: permission denied\n")
	f.feed("one")
	f.ready(http.StatusOK, "ready\n")
	if a := f.do(http.MethodGet, "/readyz?strict=maybe", nil); a.status != http.StatusBadRequest {
		t.Errorf("strict=maybe: %d", a.status)
	}
}

// TestReadyMiddle proves that a server that has read only a part of its only log is not ready, and marks its answers as
// stale.
func TestReadyMiddle(t *testing.T) {
	f := serve(t, main(4))
	events := one{id: "1", queue: "work", procs: 1, submit: 0, start: 1, end: -1}.events("main")
	f.deliver(&source.Delivery{Source: f.sources["main"], Events: events, Lines: 2}) // the log has more
	f.ready(http.StatusServiceUnavailable,
		"not ready\nsource_reading: source main/log: still reading what was there before\n")
	var q wire.Queues
	f.get("/v1/queues", &q)
	var got wire.Health
	f.get("/v1/health", &got)
	if !q.Stale || len(got.Stale) != 1 ||
		got.Stale[0].Reason != "source_reading: source main/log: still reading what was there before" {
		t.Errorf("stale %t, health %+v", q.Stale, got)
	}
	f.feed("main")
	if f.get("/v1/queues", &q); q.Stale {
		t.Error("stale although the log was read to its end")
	}
}

// TestReadySameWords proves that /readyz, /v1/health and the metrics give source, file and reason in the same words,
// for file names with any characters. The beginning of a condition stays the same as long as the condition lasts.
func TestReadySameWords(t *testing.T) {
	f := serve(t, main(4))
	f.feed("main", one{id: "1", queue: "work", procs: 1, submit: 0, start: 1, end: -1}.events("main")...)
	hostile := "/var/log/\x1b[31mx\n\u202e\xff\"}"
	began := f.now
	f.standing("main", denied(hostile), denied(hostile)) // reported twice, but one series
	f.now = f.now.Add(time.Minute)
	f.standing("main", denied(hostile))
	var got wire.Health
	f.get("/v1/health", &got)
	if len(got.Conditions) != 1 || got.Status != wire.Degraded {
		t.Fatalf("health: %+v", got)
	}
	c := got.Conditions[0]
	want := wire.Condition{
		Name: "source_unreadable", Cluster: "main", Source: "main/log", File: `/var/log/?[31mx ??"}`,
		Reason: "permission denied", Since: began,
		Text: `source_unreadable: source main/log: /var/log/?[31mx ??"}: permission denied`,
	}
	if c != want {
		t.Errorf("condition %+v\nwant %+v", c, want)
	}
	f.ready(http.StatusOK, "degraded\n"+want.Text+"\n")
	metrics := string(f.do(http.MethodGet, "/metrics", nil).body)
	series := `waitcast_health_condition{cluster="main",condition="source_unreadable",file="/var/log/?[31mx ` +
		`??\"}",reason="permission denied",source="main/log"} 1`
	if !strings.Contains(metrics, series+"\n") {
		t.Errorf("the metrics do not have %s", series)
	}
}

// TestHealthShowsSources proves that /v1/health has the version, the freshness of each cluster and the state of each
// source.
func TestHealthShowsSources(t *testing.T) {
	f := serve(t, main(4))
	f.feed("main", one{id: "1", queue: "work", procs: 1, submit: 0, start: 1, end: -1}.events("main")...)
	read := f.now
	f.now = f.now.Add(time.Minute)
	f.deliver(&source.Delivery{Source: f.sources["main"], CaughtUp: true, LagBytes: 7, Checkpoint: []byte("x")})
	var got wire.Health
	f.get("/v1/health", &got)
	clusters := []wire.ClusterStatus{{Cluster: "main", AsOf: at(1), AgeSeconds: f.now.Sub(at(1)).Seconds()}}
	sources := []wire.SourceStatus{{Source: "main/log", Cluster: "main", CaughtUp: true, LastLine: read,
		LineAgeSeconds: 60, LagBytes: 7}}
	if got.Version == "" || !slices.Equal(got.Clusters, clusters) || !slices.Equal(got.Sources, sources) {
		t.Errorf("health: %+v", got)
	}
}

// TestReadyStale proves that /v1/health has the reason why answers are stale, and that they are not stale before the
// limit.
func TestReadyStale(t *testing.T) {
	f := serve(t, main(4))
	why := func() string {
		t.Helper()
		var got wire.Health
		f.get("/v1/health", &got)
		if len(got.Stale) == 0 {
			return ""
		}
		return got.Stale[0].Reason
	}
	if got := why(); got != "no record of the cluster has been read yet" {
		t.Errorf("before the first record: %q", got)
	}
	f.feed("main", one{id: "1", queue: "work", procs: 1, submit: 0, start: 1, end: -1}.events("main")...)
	f.now = at(1).Add(staleAfter)
	if got := why(); got != "" {
		t.Errorf("at the limit: %q", got)
	}
	f.now = f.now.Add(time.Minute)
	if got := why(); got != "the newest record is 11 min old, the limit (stale_after) is 10 min" {
		t.Errorf("past the limit: %q", got)
	}
	f.feed("main", one{id: "2", queue: "work", procs: 1, submit: 660, start: 661, end: -1}.events("main")...)
	f.standing("main", denied("/var/log/x"))
	f.now = f.now.Add(staleAfter + time.Second)
	if got := why(); !strings.HasSuffix(got, "; source_unreadable: source main/log: /var/log/x: permission denied") {
		t.Errorf("unreadable past the limit: %q", got)
	}
}

// TestReadyClock proves that records ahead of the clock, and a log with a wrong clock, cause ordinary conditions, which
// /readyz, /v1/health and the metrics show in the same words. However many such records there are, the condition has
// one beginning, and ends when they end.
func TestReadyClock(t *testing.T) {
	f := serve(t, main(4))
	f.feed("main", one{id: "1", queue: "work", procs: 1, submit: 0, start: 1, end: -1}.events("main")...)
	f.ready(http.StatusOK, "ready\n")
	began := f.now
	written := func(ahead time.Duration, ids ...string) {
		d := &source.Delivery{Source: f.sources["main"], CaughtUp: true, Read: f.now, Since: f.now.Add(-time.Second),
			Ahead: map[int]source.BadLine{}}
		for i, id := range ids {
			at := f.now.Add(ahead)
			d.Events = append(d.Events, job.Event{Kind: job.Submit, Cluster: "main", ID: id, Time: at,
				Times: job.Times{Submit: at}, Attributes: job.Attributes{Queue: "work", Procs: 1}})
			d.Ahead[i] = source.BadLine{Path: "log", Number: int64(i + 1)}
		}
		d.Lines = len(ids)
		f.deliver(d)
	}
	const (
		aside = "records are dated ahead of the clock, and are used when it gets there: waitcast quarantine " +
			"--reason future lists them"
		behind = "its times are 1h0m0s behind this host's clock, and are corrected by that: set time_zone, the " +
			"clocks, or clock_offset of the source"
	)
	written(20*time.Hour, "2")
	f.ready(http.StatusOK, "degraded\nset_aside: source main/log: "+aside+"\n")
	f.now = f.now.Add(time.Minute)
	written(21*time.Hour, "3")
	var ids []string
	for i := range 60 {
		ids = append(ids, strconv.Itoa(100+i))
	}
	written(-time.Hour, ids...)
	f.ready(http.StatusOK, "degraded\nclock_offset: source main/log: "+behind+
		"\nset_aside: source main/log: "+aside+"\n")
	var got wire.Health
	f.get("/v1/health", &got)
	if len(got.Conditions) != 2 || !got.Conditions[1].Since.Equal(began) || got.Conditions[0].Reason != behind {
		t.Errorf("health: %+v", got.Conditions)
	}
	want := fmt.Sprintf("waitcast_health_condition{cluster=\"main\",condition=\"clock_offset\",file=\"\",reason=%q,"+
		"source=\"main/log\"} 1", behind)
	if a := f.do(http.MethodGet, "/metrics", nil); a.status == http.StatusOK &&
		!strings.Contains(string(a.body), want) {
		t.Errorf("the metrics have no %s", want)
	}
	f.now = f.now.Add(time.Minute)
	for i := range ids {
		ids[i] += "b"
	}
	written(0, ids...)
	f.ready(http.StatusOK, "degraded\nset_aside: source main/log: "+aside+"\n")
}
