package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/api/wire"
)

// cannedSize returns the fixed answer of the fake server, with invented numbers.
func cannedSize() wire.Size {
	at := time.Date(2026, 3, 2, 13, 0, 0, 0, time.UTC)
	candidate := func(procs int, wait, run, best, gain float64) wire.SizeCandidate {
		return wire.SizeCandidate{
			Cluster: "main", Queue: "batch", Procs: procs, TimeLimitSeconds: 2 * run, MeanWait: &wait, MeanRun: &run,
			MeanFinish: ptr(wait + run),
			Wait:       wire.Quantiles{P50: ptr(wait / 2)},
			Finish:     wire.Quantiles{P50: ptr(wait + run), P90: ptr(2*wait + run)}, Score: ptr(wait + run),
			Best: best, Requested: gain == 0, Gain: &wire.SizeGain{MeanFinish: &gain, Better: best},
		}
	}
	return wire.Size{
		Objective: "mean", AsOf: at, AgeSeconds: 3,
		Advice: wire.SizeAdvice{Action: "ask", Cluster: "main", Queue: "batch", Procs: 16, Best: .83, Since: at,
			Reason: "ask for 16 processors in queue batch: the job finishes in about 2½ h on the average, about 20 " +
				"min of it waiting, about 4 h sooner than with 64 processors; it turns out best in 83 % of the cases"},
		Candidates: []wire.SizeCandidate{candidate(16, 1200, 7200, .83, 14400), candidate(32, 10_800, 5400, .12, 6600),
			candidate(64, 19_200, 3600, .05, 0)},
		LeftOut: []wire.SizeLeftOut{{Cluster: "main", Queue: "short", Procs: 64, Reason: "larger_than_machine",
			Detail: "64 processors asked for, queue short has 32"}},
	}
}

const cannedSizeText = `Advice          ask for 16 processors in queue batch: the job finishes in about
                2½ h on the average, about 20 min of it waiting, about 4 h
                sooner than with 64 processors; it turns out best in 83 % of the
                cases

procs  queue  limit  median wait  mean wait   mean run    mean finish  9 of 10 by   best  gain
16     batch  4 h    10 min       20 min      2 h         2 h 20 min   2 h 40 min   83 %  4 h sooner
32     batch  3 h    1 h 30 min   3 h         1 h 30 min  4 h 30 min   7 h 30 min   12 %  1 h 50 min sooner
64     batch  2 h    2 h 40 min   5 h 20 min  1 h         6 h 20 min   11 h 40 min  5 %   (asked)

Left out        64 in short: 64 processors asked for, queue short has 32
As of           2026-03-02 13:00:00 +00:00, 3 s ago
`

// TestSizeText checks the command's text, and proves that the daemon's JSON is printed unchanged, and that stale data
// cause their own exit code.
func TestSizeText(t *testing.T) {
	args := []string{"size", "-q", "batch", "--sizes", "16..64", "--amdahl", "0,32h"}
	r := runWith(serve(t, 200, cannedSize()), args...)
	if squeeze(r.stdout) != squeeze(cannedSizeText) || r.code != exitDone || r.stderr != "" {
		t.Errorf("exit %d, %s\n%s\nwant\n%s", r.code, r.stderr, r.stdout, cannedSizeText)
	}
	if raw := runWith(serve(t, 200, cannedSize()), append(args, "--json")...); raw.code != exitDone ||
		!strings.HasPrefix(raw.stdout, `{"objective":"mean"`) {
		t.Errorf("exit %d: %s", raw.code, raw.stdout)
	}
	stale := cannedSize()
	stale.Stale = true
	if r := runWith(serve(t, 200, stale), args...); r.code != exitStale || r.stdout == "" {
		t.Errorf("stale: exit %d, %s", r.code, r.stdout)
	}
	never := wire.Problem{Type: wire.ProblemNoForecast, Title: "No forecast possible", Status: 503,
		Detail: "nothing read", Reason: "nothing_read"}
	if r := runWith(serve(t, 503, never), args...); r.code != exitNoForecast ||
		!strings.Contains(r.stderr, "nothing read") {
		t.Errorf("no forecast: exit %d, %s", r.code, r.stderr)
	}
	bad := wire.Problem{Title: "Unprocessable Entity", Status: 422, Detail: "runtime.table: it has 1 sizes"}
	if r := runWith(serve(t, 422, bad), args...); r.code != exitUsage || !strings.Contains(r.stderr, "runtime.table") {
		t.Errorf("refused: exit %d, %s", r.code, r.stderr)
	}
}

// squeeze replaces each run of spaces by one space, because the widths of columns may change.
func squeeze(text string) string { return regexp.MustCompile(` +`).ReplaceAllString(text, " ") }

// TestSizeQuestion proves which request each set of flags becomes.
func TestSizeQuestion(t *testing.T) {
	var asked wire.SizeRequest
	server := httptest.NewServer(withoutHealth(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = wire.SizeRequest{}
		if err := json.Unmarshal(body, &asked); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		content, _ := json.Marshal(cannedSize())
		_, _ = w.Write(content)
	}))
	defer server.Close()
	ask := func(args ...string) wire.SizeRequest {
		t.Helper()
		if r := runWith(server.URL, append([]string{"size"}, args...)...); r.code != exitDone {
			t.Errorf("%q: exit %d, %s", args, r.code, r.stderr)
		}
		return asked
	}
	q := ask("-q", "short,other:long", "--cluster", "main", "--sizes", "1,2,4..64,100-102", "--runtime",
		"1:10h,2:2:30:00,4:90m", "-t", "1.5x", "-n", "8", "--level", ".9", "-u", "me")
	if !slices.Equal(q.Sizes, []int{1, 2, 4, 8, 16, 32, 64, 100, 101, 102}) {
		t.Errorf("sizes %v", q.Sizes)
	}
	if !slices.Equal(q.Places, []wire.Place{{Cluster: "main", Queue: "short"}, {Cluster: "other", Queue: "long"}}) {
		t.Errorf("places %+v", q.Places)
	}
	if !slices.Equal(q.Runtime.Table,
		[]wire.RuntimePoint{{Procs: 1, Seconds: 36_000}, {Procs: 2, Seconds: 9000}, {Procs: 4, Seconds: 5400}}) {
		t.Errorf("runtimes %+v", q.Runtime.Table)
	}
	if q.TimeLimitFactor != 1.5 || q.TimeLimit != "" || q.Objective.Level != .9 || q.User != "me" || q.Request == nil ||
		q.Request.Procs != 8 || q.Request.Queue != "short" {
		t.Errorf("question %+v", q)
	}
	q = ask("-q", "a", "--min", "2", "--max", "9", "--downey", "60, 0.5, 100h", "--deadline", "5h", "-t", "2:00:00")
	if d := q.Runtime.Downey; d == nil || *d != (wire.RuntimeDowney{A: 60, Sigma: .5, T1Seconds: 360_000}) ||
		q.Min != 2 || q.Max != 9 || q.TimeLimit != "2:00:00" || q.Objective.Deadline != "5h" {
		t.Errorf("question %+v", q)
	}
	q = ask("--job", "4711", "--sizes", "8..24", "--history", "me:solver", "--done", "0", "--overhead", "30s",
		"--least-gain", "0.2")
	if r := q.Running; r == nil || r.JobID != "4711" || r.Done == nil || *r.Done != 0 || r.OverheadSeconds != 30 ||
		*q.LeastGain != .2 || !slices.Equal(q.Sizes, []int{8, 16, 24}) {
		t.Errorf("question %+v", q)
	}
	if h := q.Runtime.History; h == nil || h.User != "me" || h.Name != "solver" {
		t.Errorf("history %+v", h)
	}
}

// TestSizeUsage proves that an impossible request is refused, with the name of its flag, before anything is sent to the
// daemon.
func TestSizeUsage(t *testing.T) {
	for want, args := range map[string][]string{
		"--runtime, --amdahl":     {"-q", "a", "--sizes", "1"},
		"give one of":             {"-q", "a", "--amdahl", "0,1h", "--history", "a:b"},
		"--sizes":                 {"-q", "a", "--amdahl", "0,1h", "--sizes", "4..2"},
		"more than 1024":          {"-q", "a", "--amdahl", "0,1h", "--sizes", "1-2000"},
		"--queue":                 {"-q", "a,,b", "--amdahl", "0,1h"},
		"--amdahl":                {"-q", "a", "--amdahl", "0.1"},
		"--downey":                {"-q", "a", "--downey", "a,b,c"},
		"--history":               {"-q", "a", "--history", "solver"},
		"--runtime: ":             {"-q", "a", "--runtime", "10h"},
		"--runtime, 2 processors": {"-q", "a", "--runtime", "2:soon"},
		"--time":                  {"-q", "a", "--amdahl", "0,1h", "-t", "twox"},
		"--remaining":             {"-q", "a", "--amdahl", "0,1h", "--remaining", "1h"},
		"--procs":                 {"-q", "a", "--amdahl", "0,1h", "--holds", "4", "-n", "4"},
		"--timeout":               {"-q", "a", "--amdahl", "0,1h", "--timeout", "0"},
	} {
		if r := runWith("http://127.0.0.1:1", append([]string{"size"}, args...)...); r.code != exitUsage ||
			!strings.Contains(r.stderr, want) {
			t.Errorf("%q: exit %d, %s; want %q", args, r.code, r.stderr, want)
		}
	}
}

// TestSizeWatch proves that the command prints each event at once, as a sentence or as a line of JSON. If the daemon
// refuses the request later, the exit code is that of the refusal.
func TestSizeWatch(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		connections := 0
		server := httptest.NewServer(withoutHealth(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v1/watch" || r.URL.Query().Get("request") == "" {
				t.Errorf("asked %s", r.URL)
			}
			if connections++; connections > 1 {
				w.Header().Set("Content-Type", "application/problem+json")
				w.WriteHeader(http.StatusUnprocessableEntity)
				_, _ = io.WriteString(w, `{"title":"Unprocessable Entity","detail":"sizes: none is left"}`)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "retry: 1\n\nid: a\nevent: size\ndata: "+
				"{\"advice\":{\"procs\":16,\"since\":\"2026-03-02T13:00:00Z\",\"reason\":\"ask for "+
				"16\"},\"stale\":true,\"age_seconds\":700}\n\n"+
				"event: problem\ndata: {\"detail\":\"the job has ended\"}\n\n")
		}))
		args := []string{"size", "-q", "batch", "--sizes", "16", "--amdahl", "0,1h", "--watch"}
		want := "03-02 13:00:00  ask for 16\n                STALE: the newest record is 11 min 40 s old\nNo advice  " +
			"     the job has ended\n"
		if asJSON {
			args = append(args, "--json")
			want = `{"advice":{"procs":16,"since":"2026-03-02T13:00:00Z","reason":"ask for ` +
				`16"},"stale":true,"age_seconds":700}` + "\n" + `{"detail":"the job has ended"}` + "\n"
		}
		r := runWith(server.URL, args...)
		server.Close()
		if r.code != exitUsage || !strings.HasPrefix(r.stdout, want) {
			t.Errorf("exit %d, %s\n%s\nwant\n%s", r.code, r.stderr, r.stdout, want)
		}
	}
}

// FuzzSizes proves that no text gives impossible sizes, or too many.
func FuzzSizes(f *testing.F) {
	for _, seed := range []string{
		"1,2,4..64", "4-9", "1..9223372036854775807", "9223372036854775806-9223372036854775807", "-1", "..", "1,,2",
		"0..4", " 3 ",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := sizes("sizes", text)
		if err != nil {
			return
		}
		if len(list) > mostSizes || text != "" && len(list) == 0 {
			t.Errorf("%q: %d sizes", text, len(list))
		}
		for _, n := range list {
			if n < 1 {
				t.Errorf("%q: size %d", text, n)
			}
		}
	})
}
