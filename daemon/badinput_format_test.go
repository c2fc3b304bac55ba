package daemon_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/waitcast/waitcast/daemon"
)

// samples returns the paths of logs, by the name of their format, from the formats' own tests.
func samples() map[string]string {
	return map[string]string{
		"pbs": "pbs/testdata/openpbs.log", "swf": "swflog/testdata/small.swf",
		"slurm-jobcomp": "slurm/testdata/jobcomp.log", "slurm-log": "slurm/testdata/slurmctld.log",
		"slurm-sacct":    "slurm/testdata/sacct.psv",
		"sge-accounting": "sge/testdata/accounting.log", "sge-reporting": "sge/testdata/reporting.log",
		"lsf-events": "lsf/testdata/events.log", "lsf-acct": "lsf/testdata/acct.log",
	}
}

func sample(t *testing.T, format string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "collector", samples()[format]))
	must(t, err)
	return string(data)
}

// TestWrongFormatIsNamed proves for every pair of formats that if a log is configured with the wrong format, the error
// of a one-shot run names the true format.
func TestWrongFormatIsNamed(t *testing.T) {
	for configured := range samples() {
		for real := range samples() {
			// lsb.events also has the records of lsb.acct.
			if configured == real || configured == "lsf-events" && real == "lsf-acct" {
				continue
			}
			t.Run(configured+" reads "+real, func(t *testing.T) {
				s := newSite(t, "log", "")
				edit(t, s.config, "format: pbs", "format: "+configured)
				s.add(t, sample(t, real))
				_, err := daemon.OneShot(t.Context(), s.load(t), nil)
				if err == nil || !strings.Contains(err.Error(), "it looks like "+real+":") ||
					!strings.Contains(err.Error(), s.log) {
					t.Errorf("%v, want it to say that %s looks like %s", err, s.log, real)
				}
			})
		}
	}
}

// TestRightFormatIsNotDoubted proves that a log that is configured with its own format is never taken for one of
// another format.
func TestRightFormatIsNotDoubted(t *testing.T) {
	for format := range samples() {
		t.Run(format, func(t *testing.T) {
			core, logs := observer.New(zapcore.WarnLevel)
			s := newSite(t, "log", "")
			edit(t, s.config, "format: pbs", "format: "+format)
			s.add(t, sample(t, format))
			_, err := daemon.OneShot(t.Context(), s.load(t), zap.New(core))
			must(t, err)
			for _, entry := range logs.FilterMessage("problem with a log").All() {
				if !strings.Contains(fmt.Sprint(entry.ContextMap()), "the zone of the log is not UTC") { // that of pbs
					t.Errorf("a problem: %v", entry)
				}
			}
		})
	}
}

// TestWrongFormatLive proves that a daemon that follows a log of another format continues, is not ready, and reports
// the reason in /readyz, in the metrics and once in its log. When the right log is there, the daemon recovers.
func TestWrongFormatLive(t *testing.T) {
	s := newSite(t, "accounting", "")
	all := strings.SplitAfter(sample(t, "slurm-jobcomp"), "\n")
	s.add(t, strings.Join(all[:1], ""))
	d := s.start(t)
	problem := `waitcast_source_problem{cluster="main",source="main/accounting"}`
	d.wantMetric(problem, "1")
	for _, line := range all[1:] {
		s.add(t, line)
	}
	d.wantMetric(`waitcast_lines_total{cluster="main",source="main/accounting"}`, fmt.Sprint(len(all)-1))
	status, body := d.get("/readyz")
	if status != http.StatusServiceUnavailable || !strings.Contains(body, "it looks like slurm-jobcomp") ||
		!strings.Contains(body, s.log) {
		t.Errorf("readyz: %d %s", status, body)
	}
	d.wantMetric(`waitcast_tail_problems_total{reason="wrong_format",source="main/accounting"}`, "1")
	d.wantLog("problem with a log", s.log, "it looks like slurm-jobcomp",
		"set the source's format to slurm-jobcomp")
	if n := d.logs.FilterMessage("problem with a log").Len(); n != 1 {
		t.Errorf("said %d times, want once: %v", n, d.logs.All())
	}
	if status, _ := d.get("/healthz"); status != http.StatusOK {
		t.Errorf("healthz: %d", status)
	}
	s.add(t, life{"1.t", 4, 0, 1, 5}.q())
	d.wantMetric(problem, "0")
	d.caughtUp()
}

// TestFormatOfNobody proves that a log that no format can read is reported as such.
func TestFormatOfNobody(t *testing.T) {
	s := newSite(t, "accounting", "")
	s.add(t, strings.Repeat("Nov 20 08:33:28 host sshd[1]: a line of another program\n", 150))
	d := s.start(t)
	d.wantMetric(`waitcast_source_problem{cluster="main",source="main/accounting"}`, "1")
	d.wantLog("wrong_format", s.log, "none of the last 100 lines is a record of format pbs", "is it the right file?")
}

// TestMissingIsSaidOnce proves that a missing log is reported in a single message.
func TestMissingIsSaidOnce(t *testing.T) {
	s := newSite(t, "accounting", "")
	d := s.start(t)
	d.wantLog("missing", s.log)
	d.wantMetric(`waitcast_source_problem{cluster="main",source="main/accounting"}`, "1")
	n := 0
	for _, e := range d.logs.All() {
		if strings.Contains(fmt.Sprint(e.Message, e.ContextMap()), s.log) {
			n++
		}
	}
	if n != 1 {
		t.Errorf("said %d times: %v", n, d.logs.All())
	}
}

// TestOneShotTellsOfSnapshots proves that --one-shot reports the sources that it leaves out, and that a configuration
// without any log is an error.
func TestOneShotTellsOfSnapshots(t *testing.T) {
	s := newSite(t, "accounting", "")
	s.add(t, life{"1.t", 4, 0, 1, 5}.q())
	edit(t, s.config, "sources: [", "sources: [{name: asked, format: slurm-squeue}, ")
	core, logs := observer.New(zapcore.WarnLevel)
	reports, err := daemon.OneShot(t.Context(), s.load(t), zap.New(core))
	must(t, err)
	said := logs.FilterField(zap.String("source", "main/asked")).All()
	if len(said) != 1 || !strings.Contains(said[0].Message, "left out") || reports[0].Jobs != 1 {
		t.Errorf("%v and %d jobs, want the source main/asked named once and 1 job", logs.All(), reports[0].Jobs)
	}
	cfg := s.load(t)
	cfg.Clusters[0].Sources = cfg.Clusters[0].Sources[:1]
	if _, err := daemon.OneShot(t.Context(), cfg, nil); err == nil || !strings.Contains(err.Error(), "main/asked") {
		t.Errorf("no log at all: %v, want an error that names main/asked", err)
	}
}

// TestFutureIsSaidOnce covers every format with local times. It proves that records with times in the future are set
// aside, and that this is reported once, with the key to correct. (A wrong time zone causes such times.) The records
// are used when later lines show the offset. Records that deviate from the offset stay set aside.
func TestFutureIsSaidOnce(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for format, line := range map[string]func(w io.Writer, id int, at time.Time){
		"pbs": func(w io.Writer, id int, at time.Time) {
			fmt.Fprintf(w, "%s;Q;%d.test;queue=batch\n", at.Format("01/02/2006 15:04:05"), id)
		},
		"slurm-jobcomp": func(w io.Writer, id int, at time.Time) {
			fmt.Fprintf(w, "JobId=%d UserId=ann(1) GroupId=u(1) Name=n JobState=COMPLETED Partition=p TimeLimit=9 "+
				"StartTime=%[2]s EndTime=%[2]s "+
				"NodeList=n1 NodeCnt=1 ProcCnt=1 WorkDir=/ ReservationName= Tres=cpu=1 Account= QOS= WcKey= Cluster=c "+
				"SubmitTime=%[2]s "+
				"EligibleTime=%[2]s DerivedExitCode=0:0 ExitCode=0:0\n", id, at.Format("2006-01-02T15:04:05"))
		},
		"slurm-log": func(w io.Writer, id int, at time.Time) {
			fmt.Fprintf(w, "[%s] _slurm_rpc_submit_batch_job: JobId=%d InitPrio=1 usec=1\n",
				at.Format("2006-01-02T15:04:05.000"), id)
		},
	} {
		t.Run(format, func(t *testing.T) {
			s := newSite(t, "accounting", "")
			edit(t, s.config, "format: pbs", "format: "+format)
			edit(t, s.config, "time_zone: UTC", "time_zone: America/Los_Angeles") // the log's host is in UTC: 8 hours
			var b strings.Builder
			for i := range 20 {
				line(&b, i+1, now.Add(time.Duration(i-20)*time.Second))
			}
			s.add(t, b.String())
			d := s.startAt(t, func() time.Time { return now })
			d.wantMetric(`waitcast_lines_total{cluster="main",source="main/accounting"}`, "20")
			d.caughtUp()
			d.wantLog("future", s.log, "is the cluster's time_zone right, which is America/Los_Angeles",
				"later than now, by 7h59m40s")
			d.wantMetric(`waitcast_tail_problems_total{reason="future",source="main/accounting"}`, "1")
			if n := d.logs.FilterMessage("problem with a log").Len(); n != 1 {
				t.Errorf("said %d times: %v", n, d.logs.All())
			}
			setAside := `waitcast_source_set_aside_events{cluster="main",source="main/accounting"}`
			d.wantMetric(setAside, "20")
			d.wantMetric(badLines("future"), "20")
			b.Reset()
			for i := range 12 {
				line(&b, i+30, now)
			}
			s.add(t, b.String())
			d.wantMetric(setAside, "0")
			d.wantMetric(`waitcast_source_clock_offset_seconds{cluster="main",source="main/accounting"}`, "28800")
			if v := d.Views()[0]; v.Counts.Submitted != 32 || !v.At.Equal(now) {
				t.Errorf("%d jobs as of %s, want 32 as of %s", v.Counts.Submitted, v.At, now)
			}
			b.Reset()
			line(&b, 99, now.Add(20*time.Hour))
			s.add(t, b.String())
			d.wantMetric(setAside, "1")
		})
	}
}

// TestOddFieldIsReported proves that a record is used even if an unnecessary field is invalid. The field is reported
// with its place and counted, but the line is not a bad line.
func TestOddFieldIsReported(t *testing.T) {
	s := newSite(t, "accounting", "")
	s.add(t, "04/27/2020 23:59:13;E;7;user=x queue=q ctime=1587912647 start=1588046353 end=1588146353 "+
		"exec_host=n1/0-27 Resource_List.nodect=1:ppn=24:gpu=4\n")
	d := s.start(t)
	defer d.stop()
	d.caughtUp()
	d.wantLog("odd_field", s.log+":1", "Resource_List.nodect", "1:ppn=24:gpu=4")
	d.wantMetric(`waitcast_tail_problems_total{reason="odd_field",source="main/accounting"}`, "1")
	d.wantMetric(events("applied"), "1")
	d.wantMetric(badLines("field"), "0")
}
