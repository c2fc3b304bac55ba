package main

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/cmd/waitcast/console"
)

var question = []string{"wait", "-q", "short", "-n", "16", "-t", "2h30m"}

// cannedText is the text for canned, written by hand.
const cannedText = `Median wait     35 min, start Mon 2026-03-02 13:35
Half the cases  20 min to 1 h 10 min
8 of 10 cases   5 min to 3 h
19 of 20 cases  at most 5 h 20 min

Starts within   1 min    10 min   1 h      4 h      1 d
                <1 %     20 %     60 %     92 %     >99 %

Why             12 jobs with 96 processors wait ahead in the queue; 40
                processors must become free before this job can start.
As of           2026-03-02 13:00:00 +00:00, 3 s ago
Method          waitcast
Asked           queue short of cluster main, 16 processors, nodes: 2, time limit
                2 h 30 min
`

func TestExit0AnswerForPeople(t *testing.T) {
	r := runWith(serve(t, 200, canned()), question...)
	if r.code != 0 || r.stderr != "" {
		t.Errorf("code %d, stderr %q", r.code, r.stderr)
	}
	if d := cmp.Diff(cannedText, r.stdout); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestExit0JSON proves that --json prints the daemon's answer unchanged, even with members that this command does not
// know.
func TestExit0JSON(t *testing.T) {
	r := runWith(serve(t, 200, map[string]any{"queue": "short", "new_member": 1}), append(question, "--json")...)
	if r.code != 0 || r.stdout != `{"new_member":1,"queue":"short"}`+"\n" || r.stderr != "" {
		t.Errorf("%+v", r)
	}
}

// TestFlagsBecomeTheQuery proves that every flag becomes a parameter of the query.
func TestFlagsBecomeTheQuery(t *testing.T) {
	asked := make(chan string, 1)
	server := httptest.NewServer(withoutHealth(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.String()
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte("{}"))
	}))
	defer server.Close()
	r := runWith("http://127.0.0.1:1", "wait", "--url", server.URL, "--queue", "q", "--procs", "8", "--time", "1-12:00",
		"--nodes", "2", "--account", "a", "--qos", "high", "--user", "u", "--cluster", "c", "--by", "2h")
	if r.code != 0 {
		t.Fatalf("%+v", r)
	}
	want := "/v1/wait?account=a&by=2h&cluster=c&nodes=2&procs=8&qos=high&queue=q&time_limit=129600&user=u"
	if got := <-asked; got != want {
		t.Errorf("asked %s\nwant  %s", got, want)
	}
}

// closedPort returns an address at which no server listens.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // closing is the point
	return "http://" + l.Addr().String()
}

func expect(t *testing.T, r result, code int, stderr ...string) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code %d, want %d; stderr:\n%s", r.code, code, r.stderr)
	}
	for _, part := range stderr {
		if !strings.Contains(r.stderr, part) {
			t.Errorf("stderr lacks %q:\n%s", part, r.stderr)
		}
	}
}

func TestExit1UnreachableSaysWhereAndHow(t *testing.T) {
	url := closedPort(t)
	r := runWith(url, question...)
	expect(t, r, 1, "connection refused", "Looked at "+url+", as WAITCAST_URL says", "--url", "WAITCAST_URL")
	if r.stdout != "" {
		t.Errorf("stdout %q", r.stdout)
	}
	expect(t, runWith("http://other", append(question, "--url", url)...), 1, "Looked at "+url+", as --url says")
}

func TestExit1Timeout(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(withoutHealth(func(http.ResponseWriter, *http.Request) { <-release }))
	defer server.Close()
	defer close(release)
	expect(t, runWith(server.URL, append(question, "--timeout", "20ms")...), 1,
		"none within 20ms (--timeout)", server.URL)
}

func TestExit1OtherAnswers(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	expect(t, runWith(server.URL, question...), 1, "not one of a waitcast daemon", "Looked at "+server.URL)
	url := serve(t, 503, wire.Problem{Title: "Not ready", Detail: "the logs are still being read", Status: 503})
	expect(t, runWith(url, question...), 1, "refused: Not ready: the logs are still being read (status 503)")
}

// TestExit3WhileTheStateIsRestored proves that a question to a daemon that restores its state ends with code 3, and
// that the message has the daemon's words.
func TestExit3WhileTheStateIsRestored(t *testing.T) {
	const words = "state_restoring: waitcastd was upgraded to version 0.2.0: the state is rebuilt from the journal: " +
		"34 % done, about 3 min left"
	url := serve(t, 503, wire.Problem{Type: wire.ProblemNoForecast, Title: "No forecast possible", Status: 503,
		Detail: words, Reason: "state_restoring", Hint: "ask again later"})
	expect(t, runWith(url, question...), 3, "no forecast possible: "+words, "What would help: ask again later")
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestExit1WhenTheAnswerCannotBePrinted(t *testing.T) {
	url := serve(t, 200, canned())
	var stderr strings.Builder
	for _, args := range [][]string{question, append(question, "--json"), {"version"}} {
		code := run(args, brokenPipe{}, &stderr, func(name string) string {
			return map[string]string{"WAITCAST_URL": url}[name]
		})
		if code != 1 || !strings.Contains(stderr.String(), "broken pipe") {
			t.Errorf("%v: code %d, stderr %q", args, code, stderr.String())
		}
	}
}

func TestExit2WrongUsage(t *testing.T) {
	url := serve(t, 200, canned())
	for part, args := range map[string]string{
		`unknown command "wat"`:            "wat",
		"unknown flag: --no":               "wait --no",
		`-q (queue)`:                       "wait -n 1 -t 1h",
		`-n (procs)`:                       "wait -q a -t 1h",
		`-t (time)`:                        "wait -q a -n 1",
		"--procs must be 1":                "wait -q a -n 0 -t 1h",
		"--queue is empty":                 "wait --queue= -n 1 -t 1h",
		"--nodes cannot be negative":       "wait -q a -n 1 -t 1h -N -2",
		"--time must be more than 0":       "wait -q a -n 1 -t 0",
		"--timeout must be more than 0":    "wait -q a -n 1 -t 1h --timeout 0",
		`duration "soon"`:                  "wait -q a -n 1 -t soon",
		`open extra`:                       "wait extra -q a -n 1 -t 1h",
		"--url says":                       "wait -q a -n 1 -t 1h --url ftp://a",
		`do not fit; write waitcast ver`:   "version x",
		`an argument is missing; write wa`: "backtest",
	} {
		r := runWith(url, strings.Fields(args)...)
		expect(t, r, 2, part, "--help'")
		if r.stdout != "" {
			t.Errorf("%s: stdout %q", args, r.stdout)
		}
	}
	expect(t, runWith(serve(t, 422, wire.Problem{Title: "Unprocessable", Detail: "procs is too large"}), question...),
		2, "procs is too large")
}

var noForecast = wire.Problem{
	Type: wire.ProblemNoForecast, Title: "No forecast", Status: 409, Detail: "the queue has 3 finished jobs",
	Reason: "not_fitted", Hint: "wait until 30 jobs have ended",
}

func TestExit3NoForecastSaysWhyAndWhatHelps(t *testing.T) {
	url := serve(t, 409, noForecast)
	r := runWith(url, question...)
	expect(t, r, 3, "no forecast possible: the queue has 3 finished jobs",
		"What would help: wait until 30 jobs have ended")
	if r.stdout != "" {
		t.Errorf("stdout %q", r.stdout)
	}
	r = runWith(url, append(question, "--json")...)
	expect(t, r, 3, "no forecast possible")
	var p wire.Problem
	if err := json.Unmarshal([]byte(r.stdout), &p); err != nil || !cmp.Equal(p, noForecast) {
		t.Errorf("--json must print the problem: %q, %v", r.stdout, err)
	}
}

func TestExit4StaleAnswersAndWarns(t *testing.T) {
	w := canned()
	w.Stale, w.AgeSeconds = true, 7500
	url := serve(t, 200, w)
	r := runWith(url, question...)
	expect(t, r, 4, "stale", "2 h 05 min old")
	if !strings.HasPrefix(r.stdout, "Median wait     35 min") {
		t.Errorf("the answer is missing: %q", r.stdout)
	}
	r = runWith(url, append(question, "--json")...)
	expect(t, r, 4, "stale")
	if !strings.Contains(r.stdout, `"stale":true`) {
		t.Errorf("stdout %q", r.stdout)
	}
}

// TestProcess proves that the shell gets the exit codes, by running the real main in a separate process.
func TestProcess(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for want, url := range map[int]string{0: serve(t, 200, canned()), 1: closedPort(t), 3: serve(t, 409, noForecast)} {
		command := exec.CommandContext(t.Context(), self, question...)
		command.Env = append(os.Environ(), asMain+"=1", "WAITCAST_URL="+url)
		out, err := command.CombinedOutput()
		if got := command.ProcessState.ExitCode(); got != want || len(out) == 0 {
			t.Errorf("exit code %d, want %d (%v):\n%s", got, want, err, out)
		}
	}
}

func TestVersion(t *testing.T) {
	if r := runWith("", "version"); r.code != 0 || !strings.HasPrefix(r.stdout, "waitcast ") ||
		!strings.Contains(r.stdout, ", go1.") {
		t.Errorf("%+v", r)
	}
	var v version
	r := runWith("", "version", "--json")
	if err := json.Unmarshal([]byte(r.stdout), &v); err != nil || v.Version == "" || v.Go == "" {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestNotCounted proves that the answer names the parts of the request that did not influence the forecast.
func TestNotCounted(t *testing.T) {
	w := canned()
	const label = "Not counted"
	if text := string(waitText(&w, time.UTC)); strings.Contains(text, label) {
		t.Errorf("without such parts:\n%s", text)
	}
	w.NotConsidered = []string{"gpus", "memory", "limits"}
	text := strings.Join(strings.Fields(string(waitText(&w, time.UTC))), " ")
	want := label + " GPUs, memory, limits of the QOS or account: without influence on this forecast"
	if !strings.Contains(text, want) {
		t.Error(text)
	}
}

// TestNoEndInSight proves that a quantile that is never reached is expressed in words, never as a number.
func TestNoEndInSight(t *testing.T) {
	w := canned()
	w.WaitSeconds.P75, w.WaitSeconds.P90, w.WaitSeconds.P95 = nil, nil, nil
	text := string(waitText(&w, time.UTC))
	for _, part := range []string{
		"20 min to no end in sight", "19 of 20 cases  no end in sight", "do not free enough",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("lacks %q:\n%s", part, text)
		}
	}
	w.WaitSeconds, w.Start = wire.Quantiles{}, wire.Instants{}
	if text = string(waitText(&w, time.UTC)); !strings.HasPrefix(text,
		"Median wait     no end in sight\nHalf the cases  no end in sight\n") {
		t.Error(text)
	}
}

// TestTextFitsTheTerminal proves that for any answer of the daemon the text fits in 80 columns and cannot control the
// terminal.
func TestTextFitsTheTerminal(t *testing.T) {
	seconds := rapid.Ptr(rapid.Float64(), true)
	rapid.Check(t, func(t *rapid.T) {
		w := canned()
		w.Reason = rapid.String().Draw(t, "reason")
		w.Queue = rapid.StringN(0, 200, -1).Draw(t, "queue")
		w.Method = rapid.StringN(0, 200, -1).Draw(t, "method")
		w.WaitSeconds = wire.Quantiles{P10: seconds.Draw(t, "p10"), P50: seconds.Draw(t, "p50"),
			P90: seconds.Draw(t, "p90")}
		w.AgeSeconds = rapid.Float64().Draw(t, "age")
		text := waitText(&w, time.UTC)
		for row := range strings.Lines(string(text)) {
			row = strings.TrimSuffix(row, "\n")
			if n := len([]rune(row)); n > console.Columns {
				t.Fatalf("%d columns: %q", n, row)
			}
			if row != console.Printable(row) {
				t.Fatalf("control characters: %q", row)
			}
		}
	})
}

func TestPercent(t *testing.T) {
	for p, want := range map[float64]string{
		0: "0 %", 0.001: "<1 %", 0.01: "1 %", 0.5: "50 %", 0.99: "99 %", 0.995: ">99 %", 1: "100 %",
	} {
		if got := percent(p); got != want {
			t.Errorf("percent(%v) = %q, want %q", p, got, want)
		}
	}
}
