package slurm_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/internal/testprogram"
)

var forecast = regexp.MustCompile(`^waitcast: this job would probably start (at once|in [\dhdmin ]+) \(90 %: (within ` +
	`[\dhdmin ]+|no end in sight)\)(; with .*)?\n$`)

// TestRealSlurmCLIFilter proves on a real Slurm that sbatch prints the forecast of a real daemon. If the daemon is
// stopped, hangs, answers byte by byte, sends too much or sends garbage, sbatch submits as without the plugin. The test
// also proves which request the plugin sends, and what it prints for an answer. BenchmarkRealSlurmDelay measures the
// delay.
func TestRealSlurmCLIFilter(t *testing.T) {
	c := newCluster(t)
	url, stop := c.startDaemon()
	// All other jobs wait behind this one.
	c.mustSubmit([]string{"WAITCAST_CLI_FILTER=off"}, "-p", "long", "-n12", "-t", "20:00:00")
	for _, queue := range []string{"short", "medium"} {
		c.mustSubmit([]string{"WAITCAST_CLI_FILTER=off"}, "-p", queue, "-n2", "-t", "5")
		eventually(t, "a forecast for "+queue, func() bool {
			return answers(url + "/v1/wait?procs=2&time_limit=300&queue=" + queue)
		})
	}
	eventually(t, "the rules of the queues", func() bool {
		return !answers(url + "/v1/wait?procs=2&time_limit=172800&queue=short")
	})
	t.Run("forecast", func(t *testing.T) { c.with(t).provesForecast(url) })
	t.Run("terminal", func(t *testing.T) { c.with(t).provesTerminal(url) })
	t.Run("by the command waitcast", func(t *testing.T) { c.with(t).provesWaitcast(url) })
	stop()
	t.Run("question", func(t *testing.T) { c.with(t).provesQuestion() })
	t.Run("words", func(t *testing.T) { c.with(t).provesWords() })
	t.Run("bad daemons", func(t *testing.T) { c.with(t).provesBadDaemons(url) })
}

// on returns the environment in which the plugin prints even if standard error is no terminal.
func on(url string) []string { return []string{"WAITCAST_URL=" + url, "WAITCAST_CLI_FILTER=on"} }

// wantWords checks what the plugin prints. It submits until the plugin prints something, up to 20 times: on a busy
// machine an answer may come too late, so that the plugin prints nothing.
func (c *cluster) wantWords(want *regexp.Regexp, env []string, args ...string) {
	c.t.Helper()
	var s said
	for range 20 {
		if s = c.mustSubmit(env, args...); s.complaint != "" {
			break
		}
	}
	if !want.MatchString(s.complaint) {
		c.t.Errorf("sbatch %q says %q, want %s", args, s.complaint, want)
	}
}

// provesForecast proves that the plugin prints the answer of a real daemon, in whichever way the job is submitted.
func (c *cluster) provesForecast(url string) {
	t := c.t
	c.wantWords(forecast, on(url), "-p", "short", "-n2", "-t", "5")
	c.wantWords(forecast, on(url), "-n2") // partition and time limit from slurm.conf
	c.wantWords(forecast, on(url+"/"), "-p", "short,medium", "-N2", "--ntasks-per-node=2", "-t", "5", "--mem=1")
	c.wantWords(forecast, on(strings.TrimPrefix(url, "http://")), "-p", "long", "-t", "1-00:00:00")
	c.wantWords(regexp.MustCompile(`^waitcast: the first task of this array would probably start `), on(url),
		"--array=1-3", "-t", "5")
	c.wantWords(regexp.MustCompile(`^waitcast: this job would not start: 400 processors asked for, `), on(url),
		"-n400", "-t", "5")
	c.wantWords(
		regexp.MustCompile(
			`^waitcast: this job would not start with a time limit of 2 d: queue short takes at most 10 min\n$`),
		on(url), "-p", "short", "-t", "2-0")
	for _, args := range [][]string{{"--hold"}, {"--begin=now+1hour"}, {"--dependency=singleton"}} {
		if s := c.mustSubmit(on(url), append(args, "-t", "5")...); s.complaint != "" {
			t.Errorf("sbatch %q says %q, want nothing", args, s.complaint)
		}
	}
	for _, args := range [][]string{{"--quiet"}, {"--test-only"}} {
		if s := c.submit(on(url), append(args, "-t", "5")...); s.err != nil ||
			strings.Contains(s.complaint, "waitcast") {
			t.Errorf("sbatch %q says %q, %v", args, s.complaint, s.err)
		}
	}
	for _, env := range [][]string{{"WAITCAST_URL=" + url}, {"WAITCAST_URL=" + url, "WAITCAST_CLI_FILTER=off"}} {
		if s := c.mustSubmit(env, "-t", "5"); s.complaint != "" {
			t.Errorf("without a terminal, %q: %q, want nothing", env, s.complaint)
		}
	}
	if s := c.command(c.plugin, on(url), "sbatch", "--output=/dev/null", "-t", "1", "-n1", ":", "-n1",
		"--wrap=true"); s.err != nil || strings.Count(s.complaint, "waitcast") > 1 {
		t.Errorf("heterogeneous job: %v, %q", s.err, s.complaint)
	}
}

// provesTerminal proves that by default the plugin prints only if standard error is a terminal.
func (c *cluster) provesTerminal(url string) {
	t := c.t
	if _, err := exec.LookPath("script"); err != nil {
		t.Skip("terminal: script (bsdutils) is missing")
	}
	var s said
	for range 20 {
		s = c.command(c.plugin, []string{"WAITCAST_URL=" + url}, "script", "-qec",
			"sbatch --output=/dev/null -t 5 --wrap true", "/dev/null")
		if strings.Contains(s.out, "waitcast: this job would probably start ") {
			return
		}
	}
	t.Errorf("on a terminal: %q, %q, %v", s.out, s.complaint, s.err)
}

// provesWaitcast proves that the plugin uses the command waitcast if curl is missing.
func (c *cluster) provesWaitcast(url string) {
	t := c.t
	bin := filepath.Dir(testprogram.Build(t, "../../cmd/waitcast"))
	for _, name := range []string{"timeout", "sh"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	c.wantWords(forecast, append(on(url), "PATH="+bin), "-p", "long", "-n2", "-t", "4:00:00", "--account=it's")
	// Another time limit gives another answer.
	c.wantWords(forecast, append(on(url), "PATH="+bin), "-p", "short", "-n2", "-t", "5")
}

// fake gives every request the same answer and records the newest request.
type fake struct {
	*httptest.Server
	answer string
	mu     sync.Mutex
	body   []byte
	auth   string
}

func newFake(t testing.TB, answer string) *fake {
	f := &fake{answer: answer}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	user, password, _ := r.BasicAuth()
	f.mu.Lock()
	f.body, f.auth = body, r.Method+" "+r.URL.Path+" "+user+" "+password
	f.mu.Unlock()
	_, _ = io.WriteString(w, f.answer)
}

const later = `{"candidates": [
	{"time_limit_seconds": 7200, "wait_seconds": {"p50": 180, "p90": 400}},
	{"time_limit_seconds": 28800, "wait_seconds": {"p50": 5000, "p90": null}},
	{"time_limit_seconds": 86400, "wait_seconds": {"p50": 5400.4, "p90": 100800}}
], "advice": ["\u00e4\"\\\n"], "left_out": [], "stale": false}`

// provesQuestion proves that the plugin's request has what sbatch was called with, and that no shell interprets an
// option.
func (c *cluster) provesQuestion() {
	t := c.t
	f := newFake(t, later)
	hostile := `it's "x" $(touch ` + c.plugin + `/pwned) ; touch ` + c.plugin + `/pwned \`
	withPassword := strings.Replace(f.URL, "http://", "http://me:p%40ss@", 1)
	c.wantWords(regexp.MustCompile(`^waitcast: `), append(on(withPassword), "USER="+hostile),
		"-p", "medium,long", "-n4", "-c2", "-N2-3", "-t", "1-00:00:00", "--mem=1", "--account="+hostile)
	f.mu.Lock()
	defer f.mu.Unlock()
	if want := "POST /v1/wait me p@ss"; f.auth != want {
		t.Errorf("asked %q, want %q", f.auth, want)
	}
	var got map[string]any
	if err := json.Unmarshal(f.body, &got); err != nil {
		t.Fatalf("%s: %v", f.body, err)
	}
	want := map[string]any{
		"places": []any{map[string]any{"queue": "medium,long"}}, "procs": []any{8.0},
		"nodes": 2.0, "memory": "2M", "time_limits": []any{"86400", "43200", "28800", "14400", "7200", "3600"},
		"account": hostile, "user": hostile,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("question (-want +got):\n%s", d)
	}
	if _, err := os.Stat(filepath.Join(c.plugin, "pwned")); err == nil {
		t.Error("an option was run by a shell")
	}
}

// provesWords proves what the plugin prints for each answer.
func (c *cluster) provesWords() {
	t := c.t
	for _, k := range []struct{ answer, want string }{
		{later, "waitcast: this job would probably start in 1 h 30 min (90 %: within 1 d 04 h); with a time limit of " +
			"2 h instead of 1 d: in 3 min\n"},
		{`{"candidates": [{"time_limit_seconds": 86400, "wait_seconds": {"p50": 5, "p90": null}}], "stale": true, ` +
			`"age_seconds": 7200}`,
			"waitcast: this job would probably start at once (90 %: no end in sight) (by data 2 h old)\n"},
		{`{"candidates": [{"time_limit_seconds": 86400, "wait_seconds": {"p50": null, "p90": null}}]}`,
			"waitcast: this job: no end of its wait is in sight\n"},
		{`{"type": "urn:waitcast:problem:no-forecast", "status": 422, "detail": "too\u001b[2J\nlarge"}`,
			"waitcast: this job would not start: too [2J large\n"},
	} {
		f := newFake(t, k.answer)
		c.wantWords(regexp.MustCompile("^"+regexp.QuoteMeta(k.want)+"$"), on(f.URL), "-p", "long", "-t", "1-0")
	}
	for _, answer := range []string{
		"", "<h1>no</h1>", "{", `{"candidates": 7}`, `{"candidates": []}`, `{"candidates": [{}]}`,
		"{" + strings.Repeat(`"a":[`, 1000), "[1]", `{"a": tru}`,
		`{"type": "urn:waitcast:problem:no-forecast", "status": 503, "detail": "later"}`,
	} {
		if s := c.mustSubmit(on(newFake(t, answer).URL), "-t", "5"); s.complaint != "" {
			t.Errorf("of %.40q it says %q, want nothing", answer, s.complaint)
		}
	}
	for _, url := range []string{
		"x\" y", "http://127.0.0.1:1/$(touch " + c.plugin + "/pwned)", "\n", "http://nowhere.invalid",
	} {
		if s := c.mustSubmit(on(url), "-t", "5"); s.complaint != "" {
			t.Errorf("with the address %q it says %q, want nothing", url, s.complaint)
		}
	}
}

// bad is a server that accepts connections and then misbehaves in a given way. It records how long its clients stay
// connected.
type bad struct {
	listener net.Listener
	mu       sync.Mutex
	came     int // the number of clients
	stays    []time.Duration
	wg       sync.WaitGroup
}

func newBad(t testing.TB, serve func(net.Conn)) *bad {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &bad{listener: l}
	b.wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			b.wg.Go(func() { b.host(conn, serve) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); b.wg.Wait() })
	return b
}

// host serves one client until the client has closed the connection.
func (b *bad) host(conn net.Conn, serve func(net.Conn)) {
	begun := time.Now()
	b.mu.Lock()
	b.came++
	b.mu.Unlock()
	b.wg.Go(func() { serve(conn) })
	_, _ = io.Copy(io.Discard, conn) // until the client has closed the connection
	b.mu.Lock()
	b.stays = append(b.stays, time.Since(begun))
	b.mu.Unlock()
	_ = conn.Close()
}

func (b *bad) url() string { return "http://" + b.listener.Addr().String() }

// untilGone writes a text again and again until the client closes the connection.
func untilGone(head, text string, pause time.Duration) func(net.Conn) {
	return func(conn net.Conn) {
		tick := time.NewTicker(pause)
		defer tick.Stop()
		_, err := io.WriteString(conn, head)
		for ; err == nil; <-tick.C {
			_, err = io.WriteString(conn, text)
		}
	}
}

// badDaemons returns the addresses of servers that never answer properly, each in its own way, and of a stopped one. It
// also returns the servers.
func badDaemons(t testing.TB, stopped string) (urls map[string]string, servers map[string]*bad) {
	t.Helper()
	const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{"
	servers = map[string]*bad{
		"hanging":   newBad(t, func(net.Conn) {}),
		"trickling": newBad(t, untilGone(head, " ", 10*time.Millisecond)),
		"flooding":  newBad(t, untilGone(head, strings.Repeat(" ", 1<<16), time.Microsecond)),
	}
	urls = map[string]string{"stopped": stopped}
	for name, s := range servers {
		urls[name] = s.url()
	}
	return urls, servers
}

// provesBadDaemons proves that sbatch submits without a message if a daemon does not answer. On a busy machine the
// plugin may give up before it has connected; then the test tries again.
func (c *cluster) provesBadDaemons(stopped string) {
	c.answersWithin(shipped)
	urls, servers := badDaemons(c.t, stopped)
	for name, url := range urls {
		ask := func() {
			if s := c.mustSubmit(on(url), "-t", "5"); s.complaint != "" {
				c.t.Errorf("%s: it prints %q, want nothing", name, s.complaint)
			}
		}
		ask()
		server := servers[name]
		if server == nil {
			continue
		}
		eventually(c.t, name+": a client came, and all have gone", func() bool {
			came, gone := server.clients()
			if came == 0 {
				ask()
			}
			return came > 0 && came == gone
		})
	}
}

// clients returns the number of clients that connected, and the number of those that have disconnected.
func (b *bad) clients() (came, gone int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.came, len(b.stays)
}

// BenchmarkRealSlurmDelay measures how much longer sbatch takes with the plugin than without it if the daemon does not
// answer. Submissions with and without alternate. It also measures how long a connection lasts. It reports the medians
// of many submissions. The limit is 200 ms (research/cmd/bench).
func BenchmarkRealSlurmDelay(b *testing.B) {
	c := newCluster(b)
	c.answersWithin(shipped)
	url, stop := c.startDaemon()
	stop()
	urls, servers := badDaemons(b, url)
	for name, url := range urls {
		b.Run(name, func(b *testing.B) {
			c := c.with(b)
			var with, without []time.Duration
			for range b.N {
				with = append(with, c.mustSubmit(on(url), "-t", "5").took)
				plain := c.command(c.plain, nil, "sbatch", "--output=/dev/null", "--chdir=/tmp",
					"--wrap=sleep 600", "-t", "5")
				without = append(without, plain.took)
			}
			b.ReportMetric(float64((median(with)-median(without)).Microseconds())/1e3, "delay-ms")
			if s := servers[name]; s != nil {
				s.mu.Lock()
				defer s.mu.Unlock()
				b.ReportMetric(float64(median(s.stays).Microseconds())/1e3, "connected-ms")
			}
		})
	}
}

func median(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}
