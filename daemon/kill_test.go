package daemon_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/waitcast/waitcast/internal/polling"
	"github.com/waitcast/waitcast/internal/snapshottest"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
)

// seedEnv overrides the seed of the kill tests, to repeat a run that failed.
const seedEnv = "WAITCAST_KILL_SEED"

// TestKill proves that a daemon that is killed (SIGKILL) at random instants, while another process writes and rotates
// its log, ends with the same journal, ledger, quarantine and state as an undisturbed one.
func TestKill(t *testing.T) {
	notUnderRace(t) // a process that is killed reports no races
	t.Parallel()
	p := &plan{Path: filepath.Join(t.TempDir(), "accounting"), RotateEvery: 2 * kills()} // some hundred files
	killTest(t, p, kills(), false)
}

// TestKillDated proves the same as TestKill for a folder of date-named files.
func TestKillDated(t *testing.T) {
	notUnderRace(t) // a process that is killed reports no races
	t.Parallel()
	p := &plan{Path: filepath.Join(t.TempDir(), "accounting"), Dated: true}
	if err := os.Mkdir(p.Path, 0o700); err != nil {
		t.Fatal(err)
	}
	killTest(t, p, fewKills(), false)
}

// TestKillWhileSourcesChange proves the same as TestKill for a daemon whose source is reconfigured again and again.
func TestKillWhileSourcesChange(t *testing.T) {
	notUnderRace(t) // a process that is killed reports no races
	t.Parallel()
	killTest(t, &plan{Path: filepath.Join(t.TempDir(), "accounting"), RotateEvery: 2 * fewKills()}, fewKills(), true)
}

func kills() int {
	if os.Getenv("WAITCAST_LONG") != "" {
		return 200
	}
	return 12
}

// fewKills returns the number of kills in a test that is a variant of TestKill. TestKill covers all instants of a
// daemon's life; with WAITCAST_LONG every test does.
func fewKills() int {
	if os.Getenv("WAITCAST_LONG") != "" {
		return kills()
	}
	return 5
}

// killTest kills a daemon the given number of times. With reloads, its source is also reconfigured.
func killTest(t *testing.T, p *plan, lives int, reloads bool) {
	seed := killSeed(t)
	p.Seed, p.Jobs = seed, 150+65*lives
	extra := "store: {snapshot_events: 150, snapshot_interval: 1s}\n"

	disturbed := siteOn(t, p.Path, extra)
	k := &killer{
		t: t, site: disturbed, rng: rand.New(rand.NewPCG(seed, 5)), writer: startWriter(t, p), lives: lives,
		reloads: reloads,
	}
	for range lives {
		k.life()
	}
	k.writer.grant(1 << 30)
	k.last()
	if got, want := finalLog(t, p), text(workload(t, p.Seed, p.Jobs)); got != want {
		t.Fatalf("the writer wrote %d bytes, want %d", len(got), len(want))
	}

	calm := siteOn(t, p.Path, extra)
	d := calm.start(t)
	d.caughtUp()
	d.stop()
	got, want := disturbed.kept(t), calm.kept(t)
	compare(t, &got, &want)
	k.account(&want)
}

// writerProcess is another process that writes the log.
type writerProcess struct {
	t     *testing.T
	in    io.WriteCloser
	out   *bufio.Scanner
	lines int
}

func startWriter(t *testing.T, p *plan) *writerProcess {
	t.Helper()
	arg, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	cmd := play("writer", string(arg))
	cmd.Stderr = os.Stderr
	w := &writerProcess{t: t}
	if w.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	w.out = bufio.NewScanner(out)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = w.in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("writer: %v", err)
		}
	})
	return w
}

// grant lets the writer make n steps and waits until they are done. It makes fewer if the workload ends.
func (w *writerProcess) grant(n int) {
	w.t.Helper()
	for ; n > 0; n -= 1000 {
		if _, err := fmt.Fprintln(w.in, min(n, 1000)); err != nil {
			w.t.Fatal(err)
		}
		if !w.out.Scan() {
			w.t.Fatal("the writer process is gone")
		}
		var err error
		if w.lines, err = strconv.Atoi(w.out.Text()); err != nil {
			w.t.Fatal(err)
		}
		if w.lines == 0 {
			return
		}
	}
}

func play(role, arg string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"="+role, roleArg+"="+arg)
	return cmd
}

// killer starts daemons and kills them.
type killer struct {
	t      *testing.T
	site   *site
	rng    *rand.Rand
	writer interface{ grant(steps int) }
	lives  int  // number of daemons that are killed
	leased bool // after a kill, the database stays leased to the killed daemon for a while
	// reloads is true if the configuration of the source is changed from time to time. reloaded is the number of these
	// changes.
	reloads  bool
	reloaded int

	served, replayed int
	restored         []int64 // events in the journal at each start
	window           time.Duration
}

// shortest is the minimum of killer.window. The window is the maximum time from the moment at which a daemon serves to
// its kill.
const shortest = 200 * time.Millisecond

// reckon increases the time until daemons are killed if they make no progress, as on a slow machine, and otherwise
// reduces it again.
func (k *killer) reckon() {
	n := len(k.restored)
	if n > 1 && k.restored[n-1] == k.restored[n-2] {
		k.window = min(2*k.window, 4*time.Second)
		return
	}
	k.window = max(k.window/2, shortest)
}

// daemonProcess is a daemon in another process.
type daemonProcess struct {
	cmd    *exec.Cmd
	url    chan string // receives the URL once it serves; closed when it has ended
	stderr bytes.Buffer
}

// spawn starts a daemon. It records what the daemon logs at its start.
func (k *killer) spawn() *daemonProcess {
	k.t.Helper()
	p := &daemonProcess{cmd: play("daemon", k.site.config), url: make(chan string, 1)}
	out, err := p.cmd.StderrPipe()
	if err != nil {
		k.t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	go func() {
		defer close(p.url)
		lines := bufio.NewScanner(io.TeeReader(out, &p.stderr))
		for lines.Scan() {
			var said struct {
				Msg              string
				URL              string
				Replayed, Events int64
			}
			if json.Unmarshal(lines.Bytes(), &said) != nil {
				continue
			}
			switch said.Msg {
			case "restored":
				k.restored = append(k.restored, said.Events)
				if said.Replayed > 0 {
					k.replayed++
				}
			case "serving":
				k.served++
				p.url <- said.URL
			}
		}
	}()
	return p
}

// life runs one daemon: it is started while the writer writes, and killed at a random instant.
func (k *killer) life() {
	k.t.Helper()
	k.reckon()
	p := k.spawn()
	var instant <-chan time.Time
	if k.rng.IntN(4) == 0 { // kill the daemon while it starts
		instant = time.After(time.Duration(k.rng.Int64N(int64(150 * time.Millisecond))))
	}
	steps := 25 + k.rng.IntN(15) // steps that remain are written while no daemon runs
	keep := k.rng.IntN(10)       // number of steps that are kept for the time after the kill
	url := p.url
	pace := time.NewTicker(3 * time.Millisecond)
	defer pace.Stop()
	for alive := true; alive; {
		select {
		case <-instant:
			alive = false
		case _, ok := <-url:
			if !ok {
				k.t.Fatalf("a daemon ended by itself: %s", p.stderr.String())
			}
			url = nil
			if k.reloads { // reload in every life that serves, even a short one
				k.reload(p)
			}
			if instant == nil {
				instant = time.After(time.Duration(k.rng.Int64N(int64(k.window))))
			}
		case <-pace.C:
			if steps > keep {
				k.writer.grant(1)
				steps--
			}
			if k.reloads && url == nil && k.rng.IntN(5) == 0 {
				k.reload(p)
			}
		}
	}
	if steps > 0 && k.rng.IntN(4) > 0 { // kill while the daemon processes a new line, which takes half a millisecond
		k.writer.grant(1)
		steps--
		<-time.After(time.Duration(k.rng.Int64N(int64(1500 * time.Microsecond))))
	}
	if err := p.cmd.Process.Kill(); err != nil {
		k.t.Fatal(err)
	}
	drain(p.url)
	_ = p.cmd.Wait() // "signal: killed"
	if steps > 0 {
		k.writer.grant(steps)
	}
}

// reload changes the poll interval of the source, which a serving daemon applies.
func (k *killer) reload(p *daemonProcess) {
	k.t.Helper()
	polls := [2]string{"poll: 20ms", "poll: 30ms"}
	k.site.edit(k.t, polls[k.reloaded%2], polls[1-k.reloaded%2])
	k.reloaded++
	if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		k.t.Fatal(err)
	}
}

func drain(c <-chan string) {
	for range c {
	}
}

// last runs the last daemon, which catches up and is stopped in order.
func (k *killer) last() {
	k.t.Helper()
	p := k.spawn()
	url, ok := <-p.url
	if !ok {
		k.t.Fatalf("the last daemon ended by itself: %s", p.stderr.String())
	}
	if k.leased { // until the lease ends, the daemon only serves
		eventually(k.t, "the log is read", func() bool {
			return strings.Contains(fetch(url+"/metrics"),
				`waitcast_source_caught_up{cluster="main",source="main/accounting"} 1`)
		})
	}
	if !becomesReady(url) {
		k.t.Errorf("not ready after %s: %s\n%s", patience, fetch(url+"/readyz"), fetch(url+"/metrics"))
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		k.t.Fatal(err)
	}
	drain(p.url)
	if err := p.cmd.Wait(); err != nil {
		k.t.Fatalf("an orderly stop failed: %v\n%s", err, p.stderr.String())
	}
}

// becomesReady waits until a daemon has read everything. Some random logs lack the ends of jobs, which are then
// overdue.
func becomesReady(url string) bool {
	return polling.Until(patience, func() bool {
		conditions := strings.Split(strings.TrimSpace(fetch(url+"/readyz")), "\n")
		return conditions[0] == "ready" || conditions[0] == "degraded" && len(conditions) == 2 &&
			strings.HasPrefix(strings.TrimSpace(conditions[1]), "jobs_overdue:")
	})
}

// fetch returns a body, or the error.
func fetch(url string) string {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(url)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	return string(body)
}

// account checks that the kills occurred while the daemon worked.
func (k *killer) account(want *kept) {
	k.t.Helper()
	distinct := slices.Compact(slices.Clone(k.restored))
	k.t.Logf("%d kills, %d reloads: %d kills after serving, %d starts replayed a part of the journal, "+
		"%d different ends of the journal; %d entries, %d rows, %d bad lines",
		k.lives, k.reloaded, k.served-1, k.replayed, len(distinct), len(want.Entries), len(want.Rows), len(want.Bad))
	if !slices.IsSorted(k.restored) {
		k.t.Errorf("the journal lost entries between two lives: %v", k.restored)
	}
	if k.lives >= 30 && (len(distinct) < k.lives/4 || k.replayed == 0) {
		k.t.Errorf("the kills did not meet the daemon at work: journal ends %v, %d replays", k.restored, k.replayed)
	}
}

// compare compares all data that outlive the process, except data that depend on when a record was read.
func compare(t *testing.T, got, want *kept) {
	t.Helper()
	if len(want.Entries) == 0 || len(want.Rows) == 0 || len(want.Bad) == 0 || want.Snapshot == nil {
		t.Fatalf("the undisturbed daemon kept %d entries, %d rows and %d bad lines", len(want.Entries), len(want.Rows),
			len(want.Bad))
	}
	check(t, "journal", got.Entries, want.Entries, cmpopts.IgnoreFields(job.Event{}, "Live"))
	check(t, "ledger", got.Rows, want.Rows, cmpopts.IgnoreFields(modelstore.Row{}, "Replayed", "Served"),
		cmpopts.EquateNaNs())
	check(t, "quarantine", got.Bad, want.Bad, cmpopts.IgnoreFields(modelstore.BadLine{}, "At", "Path"))
	compareState(t, got, want)
}

// compareState compares the last snapshots.
func compareState(t *testing.T, got, want *kept) {
	t.Helper()
	if got.Snapshot == nil {
		t.Fatal("no snapshot after an orderly stop")
	}
	if got.Snapshot.Seq != want.Snapshot.Seq {
		t.Errorf("last snapshot after event %d, want %d", got.Snapshot.Seq, want.Snapshot.Seq)
	}
	for name, data := range want.Snapshot.Parts {
		if name == "main/models" || name == "main/engine" || name == "main/queues" {
			if !bytes.Equal(got.Snapshot.Parts[name], data) {
				t.Errorf("%s differs", name)
			}
			continue
		}
		check(t, name, decode(t, got.Snapshot.Parts[name]), decode(t, data))
	}
}

// check reports the first differences, up to a maximum length.
func check(t *testing.T, what string, got, want any, opts ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, opts...); diff != "" {
		if len(diff) > 3000 {
			diff = diff[:3000] + "\n..."
		}
		t.Errorf("%s differs (-undisturbed +killed):\n%s", what, diff)
	}
}

// decode reads a part of a snapshot without data that depends on when the daemon ran.
func decode(t *testing.T, data []byte) any {
	t.Helper()
	v, err := snapshottest.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
