package check_test

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/waitcast/waitcast/collector/pbs"
	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/daemon"
	"github.com/waitcast/waitcast/daemon/check"
)

// site is a folder with logs and a configuration.
type site struct {
	*testing.T
	dir string
	now time.Time
}

func newSite(t *testing.T) *site {
	t.Helper()
	return &site{t, t.TempDir(), time.Now().Truncate(time.Second)}
}

func (s *site) path(name string) string { return filepath.Join(s.dir, name) }

// write makes a file with the given modification time.
func (s *site) write(name, text string, at time.Time) {
	s.Helper()
	path := s.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
	if err := os.Chtimes(path, at, at); err != nil {
		s.Fatal(err)
	}
}

// load reads a configuration of clusters.
func (s *site) load(clusters string) *config.Config {
	s.Helper()
	s.write("waitcastd.yaml", "listen: 127.0.0.1:0\ndata_dir: "+s.path("state")+"\nclusters:\n"+
		strings.ReplaceAll(clusters, "DIR", s.dir), s.now)
	cfg, err := config.Load(s.path("waitcastd.yaml"), nil)
	if err != nil {
		s.Fatal(err)
	}
	return cfg
}

func (s *site) run(clusters string) *check.Report {
	s.Helper()
	return check.Run(s.Context(), s.load(clusters), check.Options{Records: 20_000, Limit: time.Minute})
}

// jobs returns a PBS log of n jobs of the users u0, u1 and u2. One job ended per minute, the last one at the given
// instant, in local times of a zone.
func jobs(n int, last time.Time, zone *time.Location) string {
	var log []byte
	for i := range n {
		end := last.Add(time.Duration(i+1-n) * time.Minute).In(zone)
		submit, start := end.Add(-3*time.Minute), end.Add(-2*time.Minute)
		rec := pbs.Record{
			ID: fmt.Sprintf("%d.server", 1000+i), User: fmt.Sprintf("u%d", i%3), Queue: []string{"short", "long"}[i%2],
			Created: submit, Queued: submit, Eligible: submit, Procs: 1 << (i % 4), Nodes: 1, TimeLimit: time.Hour,
			Start: start, End: end,
		}
		log = pbs.AppendEnded(log, rec)
	}
	return string(log)
}

// jobcomp returns a log of Slurm with a job that ended at an instant, in the local time of the instant's zone.
func jobcomp(end time.Time) string {
	at := func(d time.Duration) string { return end.Add(-d).Format("2006-01-02T15:04:05") }
	return "JobId=2 UserId=alice(1001) GroupId=users(100) Name=a JobState=COMPLETED Partition=short TimeLimit=1 " +
		"StartTime=" + at(time.Minute) + " EndTime=" + at(0) +
		" NodeList=n03 NodeCnt=1 ProcCnt=1 WorkDir=/tmp ReservationName= Tres=cpu=1,mem=1000M,node=1,billing=1 " +
		"Account=physics QOS=normal WcKey= Cluster=test SubmitTime=" + at(time.Hour) +
		" EligibleTime=" + at(time.Hour) + " DerivedExitCode=0:0 ExitCode=0:0 \n"
}

const pbsCluster = `
  - name: main
    time_zone: UTC
    sources: [{format: pbs, path: DIR/log}]
`

// want checks that the report has a finding with this id and status whose text or hint contains every one of the words.
func want(t *testing.T, r *check.Report, id string, status check.Status, words ...string) {
	t.Helper()
	for _, f := range r.Findings {
		text := f.Text + " -> " + f.Hint
		if f.ID == id && f.Status == status &&
			!slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }) {
			return
		}
	}
	t.Errorf("no finding %s, %s with %q among\n%s", id, status, words, render(t, r))
}

func render(t *testing.T, r *check.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.Print(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestWell proves that a good log passes all checks, and that the trial counts its contents.
func TestWell(t *testing.T) {
	s := newSite(t)
	s.write("log", jobs(40, s.now.Add(-time.Minute), time.UTC)+"04/01/2026 10:00:00;E;bad\n", s.now.Add(-time.Minute))
	r := s.run(pbsCluster)
	for _, id := range []string{
		"config.valid", "cluster.time_zone", "log.readable", "log.files", "log.format", "log.time", "store.folder",
		"store.database", "listen.free",
	} {
		want(t, r, id, check.OK)
	}
	if !r.OK() || len(r.Sources) != 1 || len(r.Clusters) != 1 {
		t.Fatalf("%s", render(t, r))
	}
	got := r.Sources[0]
	if got.Lines != 41 || got.Jobs != 40 || got.BadLines != 1 || got.Users != 3 ||
		!slices.Equal(got.Queues, []string{"long", "short"}) || !got.Whole {
		t.Errorf("%+v", got)
	}
	if got.Sizes.Min != 1 || got.Sizes.Max != 8 || got.Tells["time_limit"] != 1 || got.Tells["user"] != 1 ||
		got.Tells["priority"] != 0 {
		t.Errorf("sizes %+v, tells %v", got.Sizes, got.Tells)
	}
	if !got.Newest.Equal(s.now.Add(-time.Minute)) || !got.Oldest.Before(got.Newest.Add(-38*time.Minute)) {
		t.Errorf("from %v to %v", got.Oldest, got.Newest)
	}
}

// TestSharedLog proves that a log that two clusters read is a finding.
func TestSharedLog(t *testing.T) {
	s := newSite(t)
	s.write("log", jobs(4, s.now.Add(-time.Minute), time.UTC), s.now.Add(-time.Minute))
	r := s.run(pbsCluster + strings.ReplaceAll(pbsCluster, "main", "other"))
	want(t, r, "cluster.shared", check.Warning, "read by cluster main too")
}

// TestTimeZone proves that a log whose times do not fit the time at which it was written gives a finding with the
// offset that would fit. A log that fits, or is only old, gives none.
func TestTimeZone(t *testing.T) {
	berlin := time.FixedZone("", 2*3600)
	for name, c := range map[string]struct {
		record, written time.Duration // how long before now the record's time is, and how long ago it was written
		zone            *time.Location
		status          check.Status
		words           string
	}{
		"fits":          {time.Minute, time.Minute, time.UTC, check.OK, ""},
		"ahead by two":  {time.Minute, time.Minute, berlin, check.Failed, "UTC+02:00"},
		"behind by two": {time.Minute, time.Minute, time.FixedZone("", -2*3600), check.Warning, "UTC-02:00"},
		"half an hour":  {time.Minute, time.Minute, time.FixedZone("", 5*3600+1800), check.Failed, "UTC+05:30"},
		"ahead and old": {100 * time.Hour, 100 * time.Hour, berlin, check.Warning, "UTC+02:00"},
		"old":           {100 * time.Hour, 100 * time.Hour, time.UTC, check.Warning, "ago"},
		"in the future": {-40 * time.Minute, 0, time.UTC, check.Failed, "in the future"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.write("log", jobcomp(s.now.Add(-c.record).In(c.zone)), s.now.Add(-c.written))
			want(t, s.run(strings.ReplaceAll(pbsCluster, "pbs", "slurm-jobcomp")), "log.time", c.status, c.words)
		})
	}
}

// TestClockOffset proves that a log whose newest record is more than 5 minutes from the time at which it was written
// gives a finding with the clock_offset that would correct it. With that setting there is no finding. The test also
// proves which logs do not show a difference between clocks.
func TestClockOffset(t *testing.T) {
	const cluster = "\n  - name: main\n    time_zone: UTC\n    sources: [{format: slurm-jobcomp, path: DIR/log, " +
		"clock_offset: OFFSET}]\n"
	for name, c := range map[string]struct {
		off        time.Duration // the newest record's time minus the time of writing
		end        string        // the last line of the log
		configured string
		status     check.Status
		words      []string
	}{
		"ahead by 7 minutes": {7 * time.Minute, "", "auto", check.Failed,
			[]string{"clock_offset of the source to 7m0s", "time_zone"}},
		"ahead by an hour": {time.Hour, "", "auto", check.Failed,
			[]string{"clock_offset of the source to 1h0m0s", "time_zone", "UTC+01:00"}},
		"behind by 40 minutes": {-40 * time.Minute, "", "auto", check.Warning,
			[]string{"clock_offset of the source to -40m0s", "earlier"}},
		"corrected and ahead":  {7 * time.Minute, "", "7m0s", check.OK, nil},
		"corrected and behind": {-40 * time.Minute, "", "-40m0s", check.OK, nil},
		"corrected too far": {7 * time.Minute, "", "1h", check.Warning,
			[]string{"clock_offset of the source to 7m0s"}},
		"ahead by 4 minutes":   {4 * time.Minute, "", "auto", check.OK, nil},
		"other lines follow":   {-40 * time.Minute, "not a record\n", "auto", check.OK, nil},
		"one record 20 h away": {20 * time.Hour, "", "auto", check.Failed, []string{"in the future"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.write("log", jobcomp(s.now.Add(c.off).UTC())+c.end, s.now)
			r := s.run(strings.ReplaceAll(cluster, "OFFSET", c.configured))
			want(t, r, "log.time", c.status, c.words...)
			if len(c.words) < 2 && c.status == check.Failed && strings.Contains(render(t, r), "clock_offset") {
				t.Errorf("one record is taken for a clock:\n%s", render(t, r))
			}
		})
	}
}

// TestFiles proves that missing, unreadable and unknown files are reported with advice.
func TestFiles(t *testing.T) {
	s := newSite(t)
	now := s.now
	s.write("sge",
		"# a comment\n"+
			strings.Repeat(
				"short:host:group:user:name:17:sge:0:1700000000:1700000010:1700000020:0:0:10:1:1:0:0:0:0:0:0:0:0:0:0:"+
					"0:0:0:NONE:defaultdepartment:mpi:4:0:1:0:0:NONE:0:NONE:0:0\n", 20), now)
	s.write("rotated/log", jobs(3, now, time.UTC), now)
	s.write("rotated/log.1", jobs(3, now.Add(-time.Hour), time.UTC), now.Add(-time.Hour))
	s.write("rotated/log_20260101", "x", now)
	s.write("rotated/other", "x", now)
	s.write("empty", "", now)
	s.write("folder/20260302", jobs(3, now, time.UTC), now)
	s.write("folder/20260302.orig", "x", now)
	if err := os.MkdirAll(s.path("nothing"), 0o755); err != nil {
		t.Fatal(err)
	}
	source := func(rest string) string {
		return "\n  - name: main\n    time_zone: UTC\n    sources: [{" + rest + "}]\n"
	}
	for name, c := range map[string]struct {
		source string
		id     string
		status check.Status
		words  []string
	}{
		"missing file":   {"format: pbs, path: DIR/no", "log.there", check.Warning, []string{"no such file", "path"}},
		"missing folder": {"format: pbs, path: DIR/no/no", "log.there", check.Failed, []string{"no such file"}},
		"wrong format": {"format: pbs, path: DIR/sge", "log.format", check.Failed,
			[]string{"sge-accounting", "set the source's format"}},
		"garbage": {"format: pbs, path: DIR/rotated/other", "log.format", check.Warning, []string{"right file"}},
		"empty":   {"format: pbs, path: DIR/empty", "log.format", check.Warning, []string{"no line yet"}},
		"rotated": {"format: pbs, path: DIR/rotated/log", "log.files", check.Warning,
			[]string{"2 files", "log_20260101", "rotated"}},
		"all rotated": {"format: pbs, path: DIR/rotated/log, rotated: [log.*, log_*]", "log.files", check.OK,
			[]string{"3 files"}},
		"folder": {"format: pbs, path: DIR/folder, pattern: '????????'", "log.files", check.OK,
			[]string{"1 file", "20260302.orig"}},
		"no match": {"format: pbs, path: DIR/folder, pattern: '*.log'", "log.files", check.Failed,
			[]string{"pattern"}},
		"empty folder": {"format: pbs, path: DIR/nothing", "log.files", check.Warning, []string{"is empty"}},
	} {
		t.Run(name, func(t *testing.T) {
			inner := &site{t, s.dir, s.now}
			want(t, inner.run(source(c.source)), c.id, c.status, c.words...)
		})
	}
}

// TestNewestPart proves that only the newest lines of a large log are read, across files and from compressed ones, and
// that the report shows this.
func TestNewestPart(t *testing.T) {
	s := newSite(t)
	all := strings.SplitAfter(strings.TrimSuffix(jobs(300, s.now, time.UTC), "\n"), "\n")
	all[299] += "\n"
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write([]byte(strings.Join(all[:100], ""))); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	s.write("log.2.gz", zipped.String(), s.now.Add(-2*time.Hour))
	s.write("log.1", strings.Join(all[100:200], ""), s.now.Add(-time.Hour))
	s.write("log", strings.Join(all[200:], ""), s.now)
	cfg := s.load(pbsCluster)
	// At least 1000 lines are read, so only a larger log is read in part.
	got := check.Run(t.Context(), cfg, check.Options{Records: 1})
	if n := got.Sources[0]; n.Jobs != 300 || !n.Whole || len(n.Files) != 3 {
		t.Errorf("all: %d jobs, whole %v, %d files", n.Jobs, n.Whole, len(n.Files))
	}
	long := jobs(5000, s.now, time.UTC)
	s.write("log", long, s.now)
	got = check.Run(t.Context(), cfg, check.Options{Records: 2000})
	if n := got.Sources[0]; n.Lines != 2000 || n.Jobs != 2000 || n.Whole || !n.Newest.Equal(s.now) ||
		!n.Oldest.Equal(s.now.Add(-1999*time.Minute)) {
		t.Errorf("the newest 2000 of 5000: %d lines, %d jobs, whole %v, %v to %v", n.Lines, n.Jobs, n.Whole,
			n.Oldest, n.Newest)
	}
}

// TestExamplesAreMasked proves that no report, for people or for programs, contains a letter or a digit of an
// unreadable line.
func TestExamplesAreMasked(t *testing.T) {
	s := newSite(t)
	s.write("log", jobs(20, s.now, time.UTC)+
		strings.Repeat("03/02/2026 00:00:00;E;77.server;user=qqmary end=\x1b[31mqqsoon ünï\n", 5), s.now)
	r := s.run(pbsCluster)
	if b := r.Sources[0].Bad; len(b) != 1 || b[0].Lines != 5 || len(b[0].Examples) != 3 ||
		b[0].Examples[0].Line != 21 ||
		!strings.HasPrefix(b[0].Examples[0].Shape, "99/99/9999 99:99:99;a;99.aaaaaa;aaaa=aaaaaa") {
		t.Errorf("%+v", b)
	}
	if text := render(t, r); strings.Contains(text, "qq") || strings.Contains(text, "\x1b") ||
		!strings.Contains(text, "log:21") {
		t.Errorf("%q", text)
	}
}

// TestLongLine proves that a line longer than the daemon accepts is one bad line, and that reading continues after it.
func TestLongLine(t *testing.T) {
	s := newSite(t)
	log := jobs(40, s.now, time.UTC)
	first, rest, _ := strings.Cut(log, "\n")
	s.write("log", first+"\n"+strings.Repeat("x", 3<<20)+"\n"+rest, s.now)
	got := s.run(pbsCluster).Sources[0]
	if got.Lines != 41 || got.Jobs != 40 || len(got.Bad) != 1 || got.Bad[0].Reason != "long_line" ||
		got.Bad[0].Examples[0].Line != 2 || len(got.Bad[0].Examples[0].Shape) > 200 {
		t.Errorf("%d lines, %d jobs, %+v", got.Lines, got.Jobs, got.Bad)
	}
}

// TestNewLog proves that a log that has only the lines of a start is not taken for a wrong file, but a text that is no
// log is.
func TestNewLog(t *testing.T) {
	s := newSite(t)
	at := s.now.UTC().Format("[2006-01-02T15:04:05.000] ")
	s.write("log", at+"slurmctld version 22.05.8 started on cluster test\n"+
		at+"No memory enforcing mechanism configured.\n"+at+"Running as primary controller\n", s.now)
	cluster := strings.ReplaceAll(pbsCluster, "pbs", "slurm-log")
	r := s.run(cluster)
	want(t, r, "log.format", check.OK, "the first 3 lines are of format slurm-log, none about a job")
	want(t, r, "log.lines", check.Warning, "3 lines, none about a job", "nothing to do", "SlurmctldDebug")
	if text := render(t, r); strings.Contains(text, "right file") {
		t.Errorf("a new log is suspected:\n%s", text)
	}
	s.write("log", "this is no log\n", s.now)
	want(t, s.run(cluster), "log.format", check.Warning, "is it the right file?")
}

// TestQueuesAndProcs proves that there are findings about configured queues without a job, jobs in queues that are not
// configured, and jobs larger than the machine.
func TestQueuesAndProcs(t *testing.T) {
	s := newSite(t)
	s.write("log", jobs(40, s.now, time.UTC), s.now)
	r := s.run("\n  - name: main\n    time_zone: UTC\n    queues: [{name: short}, {name: shrot}]\n    sources: " +
		"[{format: pbs, path: DIR/log}]\n")
	want(t, r, "cluster.queues", check.Warning, "shrot")
	c := r.Clusters[0]
	if !slices.Equal(c.Unseen, []string{"shrot"}) || !slices.Equal(c.Unconfigured, []string{"long"}) ||
		c.WithoutLimit != 0 || c.Largest != 8 {
		t.Errorf("%+v", c)
	}
	var missing []string
	for _, m := range c.Missing {
		missing = append(missing, m.Attribute)
	}
	if !slices.Contains(missing, "priority") || slices.Contains(missing, "user") ||
		slices.Contains(missing, "time_limit") {
		t.Errorf("missing %v", missing)
	}
}

// TestScheduler proves that a scheduler is polled once, and that the report has the duration and the result. A
// scheduler that fails or is slow gives a finding.
func TestScheduler(t *testing.T) {
	s := newSite(t)
	facts, err := filepath.Abs("../../collector/slurm/testdata/facts/22.05")
	if err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\necho x >> " + s.path("calls") + "\ncase \"$*\" in sinfo*) cat F/sinfo.txt;; *config*) cat " +
		"F/config.txt;; *partition*) cat F/partition.txt;; *reservation*) cat F/reservation.txt;; esac\n"
	s.write("facts", strings.ReplaceAll(script, "F/", facts+"/"), s.now)
	now := s.now.Unix()
	row := func(id, state, start, end string) string {
		fields := []string{id, id, state, "short", "mary", "physics", "normal", "4", "1", "1:00:00",
			fmt.Sprint(now - 600), fmt.Sprint(now - 600), start, end, "None", "100", "OK",
			"cpu=4,mem=4G,node=1,billing=4", "N/A", "N/A", "N/A", "1", "(null)", "0"}
		return strings.Join(fields, "\x1f") + "\x1f"
	}
	s.write("answer", row("1", "RUNNING", fmt.Sprint(now-300), "N/A")+"\n"+row("2", "PENDING", "N/A", "N/A")+"\n"+
		row("3", "PENDING", "N/A", "N/A")+"\n"+row("4", "COMPLETED", fmt.Sprint(now-300), fmt.Sprint(now-200))+"\n",
		s.now)
	s.write("squeue", "#!/bin/sh\ncat "+s.path("answer")+"\n", s.now)
	for _, name := range []string{"facts", "squeue"} {
		if err := os.Chmod(s.path(name), 0o700); err != nil { //nolint:gosec // a program must be executable
			t.Fatal(err)
		}
	}
	r := s.run("\n  - name: main\n    sources:\n      - {format: slurm-squeue, command: [DIR/squeue]}\n      - " +
		"{format: slurm-facts, command: [DIR/facts]}\n")
	want(t, r, "scheduler.answers", check.OK, "squeue answered in", "1 job running, 2 jobs waiting or held")
	want(t, r, "scheduler.answers", check.OK, "Slurm's commands answered in", "processors", "partitions")
	if len(r.Sources) != 2 || r.Sources[0].Running != 1 || r.Sources[0].Waiting != 2 || r.Sources[1].Nodes == 0 {
		t.Errorf("%+v", r.Sources)
	}
	if calls, err := os.ReadFile(s.path("calls")); err != nil || len(calls) > 2*9 {
		t.Errorf("%d calls of commands, want each of at most 9 once: %v", len(calls)/2, err)
	}
	r = s.run("\n  - name: main\n    sources: [{format: slurm-squeue, command: [DIR/no]}]\n")
	want(t, r, "scheduler.answers", check.Failed, "cannot be run", "command")
	if r.OK() {
		t.Error("a scheduler that cannot be asked is well")
	}
	r = s.run("\n  - name: main\n    sources: [{format: slurm-squeue, socket: DIR/no.sock}]\n")
	want(t, r, "scheduler.answers", check.Failed, "slurmrestd")
}

// TestBesideARunningDaemon proves that the check recognizes a running daemon by its database and its address, and does
// not disturb it. Another program at the address gives a different finding.
func TestBesideARunningDaemon(t *testing.T) {
	s := newSite(t)
	s.write("log", jobs(40, s.now, time.UTC), s.now)
	cfg := s.load(pbsCluster)
	d := daemon.New(cfg, daemon.Options{})
	if err := d.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Stop(); err != nil {
			t.Error(err)
		}
	}()
	cfg.Listen = d.Addr().String()
	r := check.Run(t.Context(), cfg, check.Options{})
	want(t, r, "store.database", check.OK, "a running daemon has it open", fmt.Sprint(os.Getpid()))
	want(t, r, "listen.free", check.OK, "a running waitcastd")
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	cfg.Listen = strings.TrimPrefix(other.URL, "http://")
	want(t, check.Run(t.Context(), cfg, check.Options{}), "listen.free", check.Failed, "not by a waitcastd")
	closed := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	})
	// These daemons require credentials.
	for _, start := range []func(http.Handler) *httptest.Server{httptest.NewServer, httptest.NewTLSServer} {
		guarded := start(closed)
		_, cfg.Listen, _ = strings.Cut(guarded.URL, "://")
		want(t, check.Run(t.Context(), cfg, check.Options{}), "listen.free", check.OK, "a running waitcastd")
		guarded.Close()
	}
	cfg.Listen = "192.0.2.1:9" // TEST-NET-1 of RFC 5737, which no host uses
	want(t, check.Run(t.Context(), cfg, check.Options{}), "listen.free", check.Failed, "choose another address")
}

// TestUnusable proves that every error in a configuration gives a finding.
func TestUnusable(t *testing.T) {
	s := newSite(t)
	s.write("bad.yaml", "listen: here\nclusters: [{name: main, sources: [{format: pbz, path: x}]}]\nnonsense: 1\n",
		s.now)
	_, err := config.Load(s.path("bad.yaml"), nil)
	r := check.Unusable(err, check.Options{})
	if r.Failures != 3 || r.OK() {
		t.Errorf("%d failures, want the address, the format and the key:\n%s", r.Failures, render(t, r))
	}
	want(t, r, "config.valid", check.Failed, "bad.yaml:1", "listen")
}

// TestURL proves that a daemon that listens on all interfaces is called on loopback.
func TestURL(t *testing.T) {
	for listen, want := range map[string]string{
		"127.0.0.1:9817": "http://127.0.0.1:9817", ":9817": "http://127.0.0.1:9817", "0.0.0.0:1": "http://127.0.0.1:1",
		"[::]:1": "http://[::1]:1", "head:1": "http://head:1",
	} {
		if got := check.URL(listen); got != want {
			t.Errorf("%s: %s, want %s", listen, got, want)
		}
	}
}

// TestStoreFolder proves that an impossible path of the database gives a finding.
func TestStoreFolder(t *testing.T) {
	s := newSite(t)
	s.write("file", "", s.now)
	s.write("log", jobs(3, s.now, time.UTC), s.now)
	cfg := s.load(pbsCluster)
	cfg.Store.Path = s.path("file/waitcast.db")
	want(t, check.Run(t.Context(), cfg, check.Options{}), "store.folder", check.Failed, "not a folder")
}

// TestListener proves that the check leaves the address free.
func TestListener(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s := newSite(t)
	cfg := s.load(pbsCluster)
	cfg.Listen = address
	want(t, check.Run(t.Context(), cfg, check.Options{}), "listen.free", check.OK)
	if l, err = (&net.ListenConfig{}).Listen(t.Context(), "tcp", address); err != nil {
		t.Fatalf("after the check: %v", err)
	}
	_ = l.Close()
	if _, err := os.Stat(cfg.DataDir); err == nil {
		t.Error("the check made the data folder")
	}
}

// TestAs proves that there are findings about files that the service's user cannot read or write, even if the user who
// runs the check can.
func TestAs(t *testing.T) {
	if _, err := user.Lookup("nobody"); err != nil {
		t.Skip("the user nobody is missing")
	}
	s := newSite(t)
	s.write("log", jobs(40, s.now, time.UTC), s.now) // mode 0600
	s.write("state/waitcast.db", "", s.now)
	cfg := s.load(pbsCluster)
	r := check.Run(t.Context(), cfg, check.Options{As: "nobody"})
	want(t, r, "config.readable", check.Failed, "waitcastd.yaml", "chgrp nobody")
	want(t, r, "log.readable", check.Failed, "for nobody", "may not be entered", "setfacl -m u:nobody:x ")
	want(t, r, "store.folder", check.Failed, "for nobody", "chown nobody")
	cfg.Store.Path = s.dir + "/none/yet/waitcast.db" // nothing is to be granted in the folders above a missing folder
	want(t, check.Run(t.Context(), cfg, check.Options{As: "nobody"}), "store.folder", check.Failed,
		"install -d -m 0750 -o nobody "+s.dir+"/none/yet")
	want(t, r, "store.database", check.Failed, "for nobody")
	if len(r.Sources) != 1 || r.Sources[0].Jobs != 40 {
		t.Errorf("the trial is that of the one who checks: %+v", r.Sources)
	}
	want(t, check.Run(t.Context(), cfg, check.Options{As: "nobody-of-that-name"}), "user.known", check.Failed,
		"unknown user")
}
