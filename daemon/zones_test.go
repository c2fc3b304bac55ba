package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waitcast/waitcast/pipeline/livemodels"
	"github.com/waitcast/waitcast/pipeline/readmodel"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/pbs"
	"github.com/waitcast/waitcast/collector/slurm"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/collector/tail"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/modelstore/sqlite"
	"github.com/waitcast/waitcast/pipeline"
)

// dialect is a format together with one of the ways in which it writes times.
type dialect struct {
	name, format string
	// header is the beginning of the file.
	header string
	// at returns the line that a scheduler writes for an event of a job, "" if it writes none. kind is Submit, Start or
	// End. All instants of the job are in the zone of the scheduler.
	at func(kind job.Kind, j *zoned) string
}

// zoned is a job with its instants in a zone.
type zoned struct {
	id                 int
	submit, start, end time.Time
}

func (j *zoned) in(loc *time.Location) *zoned {
	return &zoned{j.id, j.submit.In(loc), j.start.In(loc), j.end.In(loc)}
}

func (j *zoned) shifted(by time.Duration) *zoned {
	return &zoned{j.id, j.submit.Add(by), j.start.Add(by), j.end.Add(by)}
}

func (j *zoned) instant(kind job.Kind) time.Time {
	return map[job.Kind]time.Time{job.Submit: j.submit, job.Start: j.start, job.End: j.end}[kind]
}

// dialects returns all ways of writing times in all formats that are read from files.
func dialects() []dialect {
	all := []dialect{
		{"pbs", "pbs", "", pbsLine},
		{"jobcomp", slurm.JobcompName, "", jobcompLine},
		{"sacct", slurm.SacctName, strings.ReplaceAll(slurm.SacctColumns, ",", "|") + "\n", sacctLine},
		{"swf", "swf", "; UnixStartTime: 1700000000\n; MaxProcs: 64\n", swfLine},
		{"sge-accounting", "sge-accounting", "", sgeAccounting},
		{"sge-reporting", "sge-reporting", "", sgeReporting},
		{"lsf-events", "lsf-events", "", lsfEvents},
		{"lsf-acct", "lsf-acct", "", lsfAcct},
	}
	for _, way := range []struct{ name, layout string }{
		{"iso8601", "[2006-01-02T15:04:05] "}, {"iso8601_ms", "[2006-01-02T15:04:05.000] "},
		{"rfc5424", "[2006-01-02T15:04:05-07:00] "},
		{"short", "[Jan _2 15:04:05] "}, {"thread_id", "[Jan _2 15:04:05.000000  4711 sched        0x7f2b4c0fd700] "},
		{"syslog", "Jan _2 15:04:05 head slurmctld[4711]: "}, {"journalctl short-iso",
			"2006-01-02T15:04:05-0700 head slurmctld[4711]: "},
	} {
		all = append(all, dialect{"slurm-log " + way.name, slurm.LogName, "",
			slurmLine(strings.ReplaceAll(way.layout, "4711", "\x00"))})
	}
	return all
}

func slurmLine(layout string) func(job.Kind, *zoned) string {
	return func(kind job.Kind, j *zoned) string {
		stamp := strings.ReplaceAll(j.instant(kind).Format(layout), "\x00", "4711")
		switch kind {
		case job.Submit:
			return fmt.Sprintf("%s_slurm_rpc_submit_batch_job: JobId=%d InitPrio=1000 usec=300\n", stamp, j.id)
		case job.Start:
			return fmt.Sprintf("%ssched: Allocate JobId=%d NodeList=n1 #CPUs=1 Partition=q\n", stamp, j.id)
		}
		return fmt.Sprintf("%s_job_complete: JobId=%d done\n", stamp, j.id)
	}
}

func pbsLine(kind job.Kind, j *zoned) string {
	r := pbs.Record{
		ID: fmt.Sprint(j.id, ".s"), User: "u", Queue: "q", Created: j.submit, Queued: j.submit, Eligible: j.submit,
		Start: j.start, End: j.end, Procs: 1, Nodes: 1,
	}
	switch kind {
	case job.Submit: // Torque has only the local time
		return j.submit.Format("01/02/2006 15:04:05") + fmt.Sprintf(";Q;%d.s;queue=q\n", j.id)
	case job.Start:
		return string(pbs.AppendStarted(nil, r))
	}
	return string(pbs.AppendEnded(nil, r))
}

const isoLocal = "2006-01-02T15:04:05"

func jobcompLine(kind job.Kind, j *zoned) string {
	if kind != job.End {
		return ""
	}
	return fmt.Sprintf("JobId=%d UserId=u(1) GroupId=g(1) Name=x JobState=COMPLETED Partition=q TimeLimit=600 "+
		"StartTime=%s EndTime=%s NodeList=n1 NodeCnt=1 ProcCnt=1 "+
		"WorkDir=/ ReservationName= Tres=cpu=1 Account=a QOS=normal WcKey= Cluster=c SubmitTime=%s EligibleTime=%s "+
		"DerivedExitCode=0:0 ExitCode=0:0\n",
		j.id, j.start.Format(isoLocal), j.end.Format(isoLocal), j.submit.Format(isoLocal), j.submit.Format(isoLocal))
}

// sacctLine writes the line of the whole job at its submission, because rows are in that order.
func sacctLine(kind job.Kind, j *zoned) string {
	if kind != job.Submit {
		return ""
	}
	return fmt.Sprintf("%s|%d|%d|u|a|q|normal|COMPLETED|%s|%s|%s|600|1|1|1|1|5|n1|x\n", j.submit.Format(isoLocal), j.id,
		j.id, j.submit.Format(isoLocal), j.start.Format(isoLocal), j.end.Format(isoLocal))
}

func swfLine(kind job.Kind, j *zoned) string {
	if kind != job.Submit {
		return ""
	}
	return fmt.Sprintf("%d %d %d %d 1 -1 -1 1 36000 -1 1 1 1 -1 1 -1 -1 -1\n", j.id, j.submit.Unix()-1_700_000_000,
		int(j.start.Sub(j.submit).Seconds()), int(j.end.Sub(j.start).Seconds()))
}

func sgeRecord(j *zoned) string {
	return fmt.Sprintf("q:n1:staff:ann:cfd:%d:sge:0:%d:%d:%d:0:0:300:0.1:0.1:4560.000000:0:0:0:0:552:1:0:328.000000:"+
		"16:0:0:0:15:20:aero:defaultdepartment:NONE:1:0:0.2:0.000000:0.000038:-l h_rt=36000:"+
		"0.000000:NONE:3723264.000000:0:0\n", j.id, j.submit.Unix(), j.start.Unix(), j.end.Unix())
}

func sgeAccounting(kind job.Kind, j *zoned) string {
	if kind != job.End {
		return ""
	}
	return sgeRecord(j)
}

func sgeReporting(kind job.Kind, j *zoned) string {
	submit := j.submit.Unix()
	switch kind {
	case job.Submit:
		return fmt.Sprintf("%d:new_job:%d:%d:-1:NONE:cfd:ann:staff:aero:defaultdepartment:sge:1024\n", submit, submit,
			j.id)
	case job.Start:
		return fmt.Sprintf("%d:job_log:%[1]d:sent:%[2]d:0:NONE:t:master:localhost:0:1024:%[3]d:cfd:ann:staff:aero:"+
			"defaultdepartment:sge:sent to execd\n", j.start.Unix(), j.id, submit)
	}
	return fmt.Sprintf("%d:acct:%s", j.end.Unix(), sgeRecord(j))
}

const lsfUsage = "0.06 0.27 1480 0 -1 0 0 1477 0 0 0 0 -1 0 0 0 13 8 -1"

func lsfEvents(kind job.Kind, j *zoned) string {
	submit := j.submit.Unix()
	switch kind {
	case job.Submit:
		return fmt.Sprintf(`"JOB_NEW" "10.1" %d %[2]d 506 2 1 %[1]d 0 0 -65535 0 0 "ann" -1 -1 -1 -1 -1 -1 -1 -1 -1 `+
			`-1 -1 "" 116.10 18 "q" "" "login" "/home/ann" "" "" "" "" "/home/ann" "x" `+
			`0 "" "" "cfd" "run" 0 "" "aero" "" "" "" "" "X86_64" 1 5136 0 "" "" "" -1`+"\n", submit, j.id)
	case job.Start:
		return fmt.Sprintf(`"JOB_START" "10.1" %d %d 4 0 0 116.1 1 "n1" "" "" 0 "" 0 "" 0 0`+"\n", j.start.Unix(), j.id)
	}
	return fmt.Sprintf(`"JOB_STATUS" "10.1" %d %d 64 0 0 0.3 %[1]d 1 %[3]s 0 0 0 0`+"\n", j.end.Unix(), j.id, lsfUsage)
}

func lsfAcct(kind job.Kind, j *zoned) string {
	if kind != job.End {
		return ""
	}
	return fmt.Sprintf(`"JOB_FINISH" "10.1" %d %d 506 2 1 %d 0 0 %d "ann" "q" "" "" "" "login" "/home/ann" "" "" "" `+
		`"x" 0 1 "n1" 64 116.1 "cfd" "run" %s "" "aero" 0 1 "" "" 0 `+
		`2048 0 "" "" "" "" 0 "" 0 "" -1 "/ann" "" "" "" -1 "" "" 5136 "" 0 "" "" 1 1032 "0" 1 n1 1 2 3 4 5 3600 `+
		`64 2048 "select[x]"`+"\n",
		j.end.Unix(), j.id, j.submit.Unix(), j.start.Unix(), lsfUsage)
}

// happening is an event of a job at an instant.
type happening struct {
	at   time.Time
	kind job.Kind
	job  *zoned
}

func happenings(jobs []zoned) []happening {
	var out []happening
	for i := range jobs {
		for _, kind := range []job.Kind{job.Submit, job.Start, job.End} {
			out = append(out, happening{jobs[i].instant(kind), kind, &jobs[i]})
		}
	}
	slices.SortStableFunc(out, func(a, b happening) int {
		return cmp.Or(a.at.Compare(b.at),
			cmp.Compare(a.job.id, b.job.id))
	})
	return out
}

// followed is a log that is written and followed on the test's clock.
type followed struct {
	t     *testing.T
	src   source.Config
	store modelstore.Store
	clock atomic.Int64 // in Unix nanoseconds
	asked atomic.Int64 // number of times that the reader checked it
	// lines is the number of lines that the reader has passed on to be stored. Lines are counted again after a start if
	// the checkpoint waits for later submissions.
	lines atomic.Int64
	ended atomic.Bool // the end of the log was reached since the start
	wrote int64
	view  *readmodel.View
	stop  func()
}

func newFollowed(t *testing.T, d *dialect, loc *time.Location, offset *time.Duration, begin time.Time) *followed {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	f := &followed{t: t, store: store}
	f.clock.Store(begin.UnixNano())
	f.src = source.Config{
		Name: "c/log", Format: formats(f.now)[d.format], ClockOffset: offset,
		Options: collector.Options{Cluster: "c", Location: loc, MaxProcs: 64},
		Files:   tail.Config{Source: "c/log", Path: filepath.Join(t.TempDir(), "log"), Poll: 2 * time.Millisecond},
	}
	f.write(d.header)
	return f
}

func (f *followed) now() time.Time { return time.Unix(0, f.clock.Load()).UTC() }

func (f *followed) write(text string) {
	f.t.Helper()
	log, err := os.OpenFile(f.src.Files.Path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		f.t.Fatal(err)
	}
	if _, err = log.WriteString(text); err != nil {
		f.t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		f.t.Fatal(err)
	}
	f.wrote += int64(strings.Count(text, "\n"))
}

func (f *followed) until(what string, done func() bool) {
	f.t.Helper()
	deadline := time.NewTimer(5 * time.Minute)
	defer deadline.Stop()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-deadline.C:
			f.t.Fatalf("%s: %d of %d lines", what, f.lines.Load(), f.wrote)
		}
	}
}

// advance sets the clock and waits until the reader has checked the log after that.
func (f *followed) advance(at time.Time) {
	f.t.Helper()
	f.clock.Store(at.UnixNano())
	asked := f.asked.Load()
	f.until("the end of the log", func() bool { return f.asked.Load() > asked+1 })
}

func (f *followed) read() {
	f.t.Helper()
	f.until("the log", func() bool { return f.lines.Load() >= f.wrote })
}

// start follows the log from its checkpoint on until stop is called.
func (f *followed) start() {
	f.t.Helper()
	ctx, cancel := context.WithCancel(f.t.Context())
	must := func(err error) {
		if err != nil {
			f.t.Fatal(err)
		}
	}
	p, err := pipeline.New(pipeline.Config{
		Clusters: []pipeline.ClusterConfig{{Name: "c", Procs: 64}},
		Models:   livemodels.Config{WindowJobs: 100, WindowAge: 24 * time.Hour, MinSamples: 10, Forget: .001},
	}, f.store, f.now, zap.NewNop(), pipeline.NewMetrics(prometheus.NewRegistry()))
	must(err)
	must(p.Restore(ctx, "one"))
	saved, err := f.store.Checkpoints(ctx)
	must(err)
	r, err := source.Open(f.src, saved[f.src.Name], func() time.Time {
		defer f.asked.Add(1)
		return f.now()
	}, tail.Options{})
	must(err)
	p.AddSource(f.src)
	f.ended.Store(false)
	deliveries := make(chan *source.Delivery)
	var both sync.WaitGroup
	both.Go(func() {
		defer close(deliveries)
		for {
			d, err := r.Next(ctx)
			if err != nil {
				if !errors.Is(err, context.Canceled) {
					f.t.Error(err)
				}
				return
			}
			deliveries <- d
			f.lines.Add(int64(d.Lines))
			f.ended.Store(f.ended.Load() || d.CaughtUp)
		}
	})
	both.Go(func() {
		if err := p.Run(context.Background(), deliveries); err != nil {
			f.t.Error(err)
		}
	})
	f.stop = func() {
		cancel()
		both.Wait()
		f.view = p.View("c")
		_ = r.Close()
	}
	f.advance(f.now())
}

func (f *followed) journal() []job.Event {
	f.t.Helper()
	var out []job.Event
	if err := f.store.Replay(f.t.Context(), 0, func(e modelstore.Entry) error {
		out = append(out,
			e.Event)
		return nil
	}); err != nil {
		f.t.Fatal(err)
	}
	return out
}

// manner is the way in which a log is followed.
type manner string

const (
	undisturbed  manner = "undisturbed"
	restarted    manner = "restarted before each line, which is written meanwhile"
	alternating  manner = "restarted before every third line"
	atOnce       manner = "all of it read at once, later"
	shortDelay          = 2 * time.Second
	settlingTime        = 3 * time.Hour
)

// follow writes the events of jobs as they happen, on a clock that is ahead of the daemon's clock by ahead, and returns
// the log when it has been read.
func follow(t *testing.T, d *dialect, how manner, loc *time.Location, offset *time.Duration, ahead time.Duration,
	jobs []zoned) *followed {
	t.Helper()
	all := happenings(jobs)
	f := newFollowed(t, d, loc, offset, all[0].at.Add(-time.Minute))
	if how != atOnce {
		f.start()
		f.read()
	}
	for i, h := range all {
		text := d.at(h.kind, h.job.shifted(ahead).in(loc))
		if text == "" {
			continue
		}
		down := how == restarted || how == alternating && i%3 == 0
		switch {
		case how == atOnce:
		case down:
			f.stop()
			f.clock.Store(h.at.UnixNano())
		default:
			f.advance(h.at)
		}
		f.write(text)
		f.clock.Store(h.at.Add(shortDelay).UnixNano())
		if down {
			f.start()
		}
		if how != atOnce {
			f.read()
		}
	}
	if how != atOnce {
		f.stop()
	}
	f.clock.Store(f.now().Add(settlingTime).UnixNano())
	f.start() // events that were set aside are now used
	f.until("the end of the log", f.ended.Load)
	f.stop()
	return f
}

// jobsAround returns jobs of many lengths, submitted every few minutes from 80 minutes before an instant to 80 minutes
// after it.
func jobsAround(change time.Time) []zoned {
	var out []zoned
	for i, at := 0, change.Add(-80*time.Minute); at.Before(change.Add(80 * time.Minute)); i, at = i+1,
		at.Add(7*time.Minute+17*time.Second) {
		start := at.Add(time.Duration(30+i%5*100) * time.Second)
		out = append(out, zoned{i + 1, at, start, start.Add([]time.Duration{time.Minute, 25 * time.Minute,
			50 * time.Minute,
			130 * time.Minute}[i%4])})
	}
	return out
}

// TestClocksChange follows logs of every format over both clock changes of a year, in zones that change by an hour and
// by half an hour. It proves that every job is kept, no event is set aside, and the times are right, whether the daemon
// follows undisturbed, is restarted again and again, or reads everything later.
//
// The formats with local times are those whose parsers are collector.Dated. The others (Grid Engine's accounting and
// reporting, LSF's events and acct, SWF) count seconds since 1970 or since the beginning of the log. For those the test
// proves that the zone makes no difference. Lines of slurmctld.log with an offset from UTC are read with that offset.
func TestClocksChange(t *testing.T) {
	if testing.Short() {
		t.Skip("a daemon for each format and zone: not with -short")
	}
	for _, c := range []struct {
		zone   string
		change time.Time
	}{
		{"Europe/Berlin", time.Date(2026, 10, 25, 1, 0, 0, 0, time.UTC)},
		{"Europe/Berlin", time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC)},
		{"Australia/Lord_Howe", time.Date(2026, 4, 4, 15, 0, 0, 0, time.UTC)},
	} {
		loc, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		jobs := jobsAround(c.change)
		for _, d := range dialects() {
			for _, how := range []manner{undisturbed, restarted, alternating, atOnce} {
				format := formats(time.Now)[d.format]
				if format.Order == collector.BySubmit && how != atOnce {
					continue // a format that reports whole jobs at their submissions is written later
				}
				_, local := format.New(collector.Options{}).(collector.Dated)
				// The same parser reads all of these dialects.
				once := strings.HasPrefix(d.name, slurm.LogName) && d.name != "slurm-log iso8601"
				if (c.zone != "Europe/Berlin" || how == restarted) && (once || !local) {
					continue
				}
				t.Run(fmt.Sprint(c.change.Format("2006-01-02"), " ", d.name, " ", how), func(t *testing.T) {
					t.Parallel()
					f := follow(t, &d, how, loc, nil, 0, jobs)
					f.checkLives(&d, jobs)
				})
			}
		}
	}
}

// wholeJobs returns the formats in which one line has several instants in local time. The value is the kind of the one
// instant that is certain, because of the order of the lines or of the clock.
func wholeJobs() map[string]job.Kind {
	return map[string]job.Kind{slurm.JobcompName: job.End, slurm.SacctName: job.Submit}
}

// checkCounts checks that every job was submitted and has ended. With a format in order of submission, events are held
// back until a later submission, so it only checks that all jobs but one were submitted.
func (f *followed) checkCounts(jobs []zoned) {
	f.t.Helper()
	v := f.view
	if bySubmit := f.src.Format.Order == collector.BySubmit; !bySubmit &&
		(v.Counts.Ended != int64(len(jobs)) || len(v.Queued)+len(v.Running) > 0) ||
		bySubmit && v.Counts.Submitted < int64(len(jobs)-1) {
		f.t.Errorf("of %d jobs %d were submitted and %d ended, %d wait, %d run", len(jobs), v.Counts.Submitted,
			v.Counts.Ended, len(v.Queued), len(v.Running))
	}
}

// checkLives compares the journal with the jobs.
func (f *followed) checkLives(d *dialect, jobs []zoned) {
	f.t.Helper()
	if s := f.view.Sources[0]; s.SetAside != 0 || s.ClockOffset != 0 {
		f.t.Errorf("%d events are set aside, and the clock is said to be %s ahead", s.SetAside, s.ClockOffset)
	}
	bad, err := f.store.BadLines(f.t.Context(), 0)
	if err != nil || len(bad) > 0 {
		f.t.Errorf("%d bad lines, %v, the first: %+v", len(bad), err, bad[:min(1, len(bad))])
	}
	f.checkCounts(jobs)
	last := time.Time{}
	for _, ev := range f.journal() {
		j := jobs[atoi(f.t, strings.TrimSuffix(ev.ID, ".s"))-1]
		want := j.instant(ev.Kind)
		if certain := wholeJobs()[d.format]; certain != 0 && ev.Kind != certain || want.IsZero() {
			continue // a record with two instants that clocks show twice can mean several lives
		}
		if got := ev.Time.Truncate(time.Second); !got.Equal(want) {
			f.t.Fatalf("%v of job %s at %s is read as %s", ev.Kind, ev.ID, want, got)
		}
		if live := d.at(job.Submit, &jobs[0]) != ""; live && ev.Time.Before(last) {
			f.t.Errorf("%v of job %s at %s comes after %s", ev.Kind, ev.ID, ev.Time, last)
		}
		last = ev.Time
	}
}

func atoi(t *testing.T, text string) (n int) {
	t.Helper()
	if _, err := fmt.Sscan(text, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestShiftedLogs follows logs of every format whose clock is an hour ahead or behind. It proves that the offset is
// measured, every job is kept, and the picture is up to date. For formats of whole jobs in order of submission the
// offset is configured instead of measured.
func TestShiftedLogs(t *testing.T) {
	if testing.Short() {
		t.Skip("a daemon for each format and zone: not with -short")
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	jobs := jobsAround(time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC))
	for _, shift := range []time.Duration{time.Hour, -time.Hour} {
		for _, d := range dialects() {
			t.Run(fmt.Sprint(d.name, " ", shift), func(t *testing.T) {
				t.Parallel()
				var configured *time.Duration
				measured, how := shift, undisturbed
				if formats(time.Now)[d.format].Order == collector.BySubmit {
					configured, measured, how = &shift, 0, atOnce
				}
				f := follow(t, &d, how, berlin, configured, shift, jobs)
				s, v := f.view.Sources[0], f.view
				if (s.ClockOffset-measured).Abs() > 5*time.Second || s.SetAside != 0 {
					t.Errorf("measured %s and %d set aside, want %s and 0", s.ClockOffset, s.SetAside, measured)
				}
				f.checkCounts(jobs)
				all := happenings(jobs)
				if configured != nil { // ends wait for later submissions
					all = slices.DeleteFunc(all, func(h happening) bool { return h.kind != job.Submit })
				}
				tolerance := 5 * time.Second
				if configured != nil {
					tolerance = 10 * time.Minute
				}
				if last := all[len(all)-1].at; v.At.Sub(last).Abs() > tolerance {
					t.Errorf("as of %s, want %s", v.At, last)
				}
			})
		}
	}
}
