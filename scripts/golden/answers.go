package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// request is an HTTP request.
type request struct {
	method, path, body string
	token              string
	header             [2]string
	streams            bool // read the first event only
}

// ask sends a request and returns status, header and body; of a stream, only the first event.
func ask(ctx context.Context, base string, q request) (int, http.Header, string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, q.method, base+q.path, strings.NewReader(q.body))
	if err != nil {
		return 0, nil, "", err
	}
	if q.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if q.token != "" {
		r.Header.Set("Authorization", "Bearer "+q.token)
	}
	if q.header[0] != "" {
		r.Header.Set(q.header[0], q.header[1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, "", err
	}
	defer resp.Body.Close() //nolint:errcheck // it was only read
	if q.streams && resp.StatusCode == http.StatusOK {
		event, err := firstEvent(resp.Body)
		return resp.StatusCode, resp.Header, event, err
	}
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, string(body), err
}

// firstEvent reads the first event of a stream: its name and its data.
func firstEvent(r io.Reader) (string, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	name := ""
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			name = text
		}
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			return fmt.Sprintf(`{"event": %q, "data": %s}`, name, data), nil
		}
	}
	return "", fmt.Errorf("the stream ended without an event: %w", lines.Err())
}

// world has the data of a cluster from which requests are made.
type world struct {
	cluster string
	queues  []string
	waiting []string // numbers of waiting jobs
	sizes   []int
	users   []string
	token   string
	at      time.Time // time of the daemon's clock
}

// look requests the queues and waiting jobs from a daemon.
func look(ctx context.Context, base, cluster, token string, at int64) (*world, error) {
	w := &world{cluster: cluster, token: token, at: time.Unix(at, 0).UTC(), sizes: []int{1, 4, 20, 64}}
	var queues struct {
		Queues []struct{ Queue, Name string }
	}
	_, _, body, err := ask(ctx, base, request{method: "GET", path: "/v1/queues?cluster=" + cluster})
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal([]byte(body), &queues); err != nil {
		return nil, fmt.Errorf("/v1/queues: %w", err)
	}
	for _, q := range queues.Queues {
		w.queues = append(w.queues, q.Queue+q.Name)
	}
	var jobs struct {
		Jobs []struct {
			ID    string
			JobID string `json:"job_id"`
			User  string
		}
	}
	_, _, body, err = ask(ctx, base, request{method: "GET", path: "/v1/jobs?cluster=" + cluster, token: token})
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal([]byte(body), &jobs); err != nil {
		return nil, fmt.Errorf("/v1/jobs: %w", err)
	}
	for _, j := range jobs.Jobs {
		w.waiting = append(w.waiting, j.ID+j.JobID)
		w.users = append(w.users, j.User)
	}
	return w, nil
}

// questions returns all requests that are possible at an instant.
func (w *world) questions() []request {
	var all []request
	get := func(path string, query ...string) {
		values := url.Values{"cluster": {w.cluster}}
		for i := 0; i+1 < len(query); i += 2 {
			values.Set(query[i], query[i+1])
		}
		all = append(all, request{method: "GET", path: path + "?" + values.Encode()})
	}
	w.waits(get)
	for _, q := range []string{"", w.queue(0), "nowhere"} {
		get("/v1/now", "queue", q)
		get("/v1/forecast", "queue", q, "hours", "24")
		get("/v1/jobs", "queue", q, "limit", "25")
		get("/v1/accuracy", "queue", q)
		get("/v1/accuracy/recent", "queue", q, "limit", "20")
	}
	get("/v1/now", "queue", w.queue(1), "user", "user03", "account", "proj0", "qos", "high")
	get("/v1/forecast")
	get("/v1/accuracy", "size_class", "2-8")
	get("/v1/accuracy", "made", "live", "since", w.at.Add(-24*time.Hour).Format(time.RFC3339))
	get("/v1/accuracy", "made", "replayed", "until", w.at.Add(-24*time.Hour).Format(time.RFC3339))
	get("/v1/queues")
	get("/v1/queues", "cluster", "nowhere")
	for _, q := range append(slices.Clone(w.queues[:min(3, len(w.queues))]), "nowhere") {
		get("/v1/models/" + url.PathEscape(q))
		get("/v1/models/" + url.PathEscape(q) + "/lifetimes")
	}
	for _, id := range append(slices.Clone(w.waiting[:min(4, len(w.waiting))]), "999999", "1") {
		get("/v1/jobs/" + url.PathEscape(id))
	}
	for _, model := range []string{"lublin", "markov", "uniform_log", "users"} {
		get("/v1/workload", "model", model, "jobs", "30", "seed", "7", "format", "jsonl")
		get("/v1/workload", "model", model, "hours", "12", "seed", "8", "format", "swf", "queue", w.queue(0))
	}
	all = append(all, w.posts()...)
	return append(all, w.rest()...)
}

func (w *world) queue(i int) string {
	if i < len(w.queues) {
		return w.queues[i]
	}
	return "batch"
}

func (w *world) waits(get func(path string, query ...string)) {
	for i := range w.queues[:min(3, len(w.queues))] {
		for _, procs := range w.sizes {
			get("/v1/wait", "queue", w.queue(i), "procs", fmt.Sprint(procs), "time_limit", "2h")
		}
		get("/v1/wait", "queue", w.queue(i), "procs", "8", "time_limit", "1-12:00", "user", "user05",
			"account", "proj0")
		get("/v1/wait", "queue", w.queue(i), "procs", "8", "time_limit", "600", "explain", "true")
	}
	get("/v1/wait", "queue", w.queue(0), "procs", "8")
	get("/v1/wait", "queue", w.queue(0), "procs", "8", "nodes", "2", "gpus", "1", "memory", "64G", "time_limit", "90m",
		"qos", "high")
	get("/v1/wait", "queue", w.queue(0), "procs", "100000", "time_limit", "1h")
	get("/v1/wait", "queue", w.queue(0), "procs", "0", "time_limit", "1h")
	get("/v1/wait", "queue", w.queue(0), "procs", "4", "time_limit", "soon")
	get("/v1/wait", "queue", "nowhere", "procs", "4", "time_limit", "1h")
	get("/v1/wait", "procs", "4")
}

// posts returns the requests with bodies, and the streams with the same parameters.
func (w *world) posts() []request {
	place := func(i int) string { return fmt.Sprintf(`{"cluster": %q, "queue": %q}`, w.cluster, w.queue(i)) }
	both := place(0) + ", " + place(1)
	const table = `"runtime": {"table": [{"procs": 1, "seconds": 36000}, {"procs": 8, "seconds": 6000}, ` +
		`{"procs": 64, "seconds": 1500}]}`
	size := []string{
		fmt.Sprintf(`{"places": [%s], "sizes": [1, 4, 16, 64], %s, "time_limit_factor": 1.5}`, place(0), table),
		fmt.Sprintf(
			`{"places": [%s], "min": 2, "max": 32, "runtime": {"amdahl": {"serial": 0.05, "t1_seconds": 40000}}, `+
				`"time_limit": "12h", "objective": {"deadline": "8h"}, "request": {"procs": 8}}`, both),
		fmt.Sprintf(`{"places": [%s], "sizes": [2, 8, 32], "runtime": {"downey": {"a": 20, "sigma": 0.5, `+
			`"t1_seconds": 90000}}, `+
			`"time_limit_factor": 2, "objective": {"kind": "quantile", "level": 0.9}}`, place(1)),
		fmt.Sprintf(`{"places": [%s], "sizes": [1, 8], %s, "time_limit_factor": 2, `+
			`"objective": {"kind": "cost", "price_proc_hour": 0.1, "price_hour": 3}}`, both, table),
		fmt.Sprintf(`{"places": [%s], "sizes": [1, 8, 64], %s, "time_limit_factor": 2, `+
			`"objective": {"kind": "considerate"}}`, place(0), table),
		fmt.Sprintf(`{"places": [%s], "sizes": [4, 8, 16, 32], %s, "time_limit_factor": 2, `+
			`"running": {"procs": 8, "remaining_seconds": 4000, "overhead_seconds": 60}}`, place(0), table),
		fmt.Sprintf(
			`{"places": [%s], "sizes": [1, 2, 4, 8], "runtime": {"history": {"user": "user02", "name": "case7"}}, `+
				`"time_limit_factor": 2}`, place(0)),
		fmt.Sprintf(`{"places": [%s], "sizes": []}`, place(0)),
	}
	wait := []string{
		fmt.Sprintf(`{"places": [%s], "procs": [1, 4, 16], "time_limits": ["1h", "8h"]}`, both),
		fmt.Sprintf(`{"places": [%s], "procs": [2, 64], "time_limits": ["2h"], %s, "user": "user01"}`, place(0), table),
		fmt.Sprintf(`{"places": [%s], "procs": [100000]}`, place(0)),
		`{"places": "none"}`,
	}
	var all []request
	for _, body := range size {
		all = append(all, request{method: "POST", path: "/v1/size", body: body})
	}
	for _, body := range wait {
		all = append(all, request{method: "POST", path: "/v1/wait", body: body})
	}
	for _, body := range size[:2] {
		all = append(all, request{method: "GET", path: "/v1/watch?request=" + url.QueryEscape(body), streams: true})
	}
	return append(all, request{method: "GET", path: "/v1/changes?cluster=" + w.cluster, streams: true})
}

// rest returns the requests of administrators, health checks, and invalid requests.
func (w *world) rest() []request {
	return []request{
		{method: "GET", path: "/v1/jobs?limit=10&cluster=" + w.cluster, token: w.token},
		{method: "GET", path: "/v1/quarantine?cluster=" + w.cluster},
		{method: "GET", path: "/v1/quarantine?limit=20&cluster=" + w.cluster, token: w.token},
		{method: "GET", path: "/v1/quarantine?reason=time&cluster=" + w.cluster, token: w.token},
		{method: "GET", path: "/v1/log-level", token: w.token},
		{method: "PUT", path: "/v1/log-level", body: `{"level": "loud"}`, token: w.token},
		{method: "GET", path: "/v1/log-level", token: "wrong"},
		{method: "POST", path: "/v1/import", body: "nothing"},
		{method: "GET", path: "/v1/nothing"},
		{method: "DELETE", path: "/v1/wait"},
		{method: "GET", path: "/v1/jobs?limit=none"},
		{method: "GET", path: "/healthz"},
		{method: "GET", path: "/readyz"},
		{method: "HEAD", path: "/"},
		{method: "GET", path: "/v1/queues?cluster=" + w.cluster, header: [2]string{"If-None-Match", "*"}},
	}
}

// answers sends all requests and records the answers, and whether they have an ETag.
func (c *chapter) answers(ctx context.Context, base, when string, w *world) error {
	for i, q := range w.questions() {
		status, header, body, err := ask(ctx, base, q)
		if err != nil {
			return fmt.Errorf("%s %s: %w", q.method, q.path, err)
		}
		media, _, _ := strings.Cut(header.Get("Content-Type"), ";")
		text := fmt.Sprintf("%s %s\n%s\n%d %s, tag %t\n", q.method, q.path, q.body, status, media,
			header.Get("ETag") != "")
		switch {
		case strings.HasSuffix(media, "json") || q.streams || strings.HasSuffix(media, "ndjson"):
			text += maskJSON([]byte(body), dropped...)
		case media == "text/html":
		default:
			text += digits(body)
		}
		path, _, _ := strings.Cut(q.path, "?")
		c.add(fmt.Sprintf("%s/%03d %s %s", when, i, q.method, path), text)
	}
	return nil
}
