package lsf_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/lsf"
	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/job"
)

func readLog(t *testing.T, format collector.Format, file string) (events []job.Event, bad []error) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p := format.New(collector.Options{Cluster: "c"})
	for line := range bytes.Lines(text) {
		err := p.Parse(line, func(ev job.Event) { events = append(events, ev) })
		var refused *collector.LineError
		if errors.As(err, &refused) {
			bad = append(bad, err)
		} else if err != nil {
			t.Fatal(err)
		}
	}
	return events, bad
}

func limitsOf(events []job.Event) string {
	var out strings.Builder
	for _, ev := range events {
		if ev.Kind != job.End && strings.Contains(ev.ID, "[") {
			continue // of a killed array: the script has one line for all
		}
		seconds := int(ev.TimeLimit.Seconds())
		if seconds == 0 {
			seconds = -1
		}
		number, _, _ := strings.Cut(ev.ID, "[")
		fmt.Fprintln(&out, number, seconds)
	}
	return out.String()
}

// TestRunLimits reads JOB_FINISH records as LSF 5.1 to 10.1 write them.
func TestRunLimits(t *testing.T) {
	for file, want := range map[string]string{
		"testdata/runlimit.acct": "1001 43200\n1002 -1\n1003 7200\n1004 -1\n",
		"testdata/versions.acct": "2001 -1\n2002 -1\n2003 -1\n2004 14400\n2005 259200\n2006 -1\n2007 -1\n2008 5400\n" +
			"2009 -1\n",
	} {
		events, bad := readLog(t, lsf.Acct(), file)
		if diff := cmp.Diff(want, limitsOf(events)); diff != "" || len(bad) > 0 {
			t.Errorf("%s: %v (-want +got):\n%s", file, bad, diff)
		}
	}
}

// TestRunLimitsScript compares the limits with those of a script that finds them in another way.
func TestRunLimitsScript(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("missing: python3")
	}
	files := []string{"testdata/runlimit.acct", "testdata/versions.acct", "testdata/acct.log"}
	t.Run("ours", func(t *testing.T) { testScript(t, python, files...) })
	t.Run("public", func(t *testing.T) { testScript(t, python, refdata.Shared(t, "logs/lsb.acct")) })
}

func testScript(t *testing.T, python string, files ...string) {
	t.Helper()
	for _, file := range files {
		out, err := exec.CommandContext(t.Context(), python, "testdata/limits.py", file).CombinedOutput()
		if err != nil {
			t.Fatalf("limits.py %s: %v: %s", file, err, out)
		}
		events, _ := readLog(t, lsf.Acct(), file)
		if diff := cmp.Diff(string(out), limitsOf(events)); diff != "" || len(out) == 0 {
			t.Errorf("%s (-script +got):\n%s", filepath.Base(file), diff)
		}
	}
}

func summary(events []job.Event) []string {
	var got []string
	for _, ev := range events {
		times := []int64{ev.Time.Unix() - 1720000000}
		if !ev.Times.Start.IsZero() {
			times = append(times, ev.Times.Start.Unix()-1720000000)
		}
		got = append(got, fmt.Sprintf("%s %s %d procs %d", ev.ID, ev.Kind, times, ev.Procs))
	}
	return got
}

// TestArrayKill reads records that end several elements of an array which never started.
func TestArrayKill(t *testing.T) {
	want := []string{"42[1] end [140 10] procs 1"}
	for i := 11; i <= 50; i++ {
		want = append(want, fmt.Sprintf("42[%d] cancel [150] procs 1", i))
	}
	events, bad := readLog(t, lsf.Acct(), "testdata/arraykill.acct")
	if diff := cmp.Diff(want, summary(events)); diff != "" || len(bad) > 0 {
		t.Errorf("%v (-want +got):\n%s", bad, diff)
	}
	for _, ev := range events {
		if ev.Kind == job.Cancel && (ev.Times.Submit.Unix() != 1720000000 || ev.User != "bob" || ev.Queue != "normal") {
			t.Errorf("%+v", ev)
		}
	}
	want = []string{"77[3] cancel [120] procs 4", "77[5] cancel [120] procs 4", "77[7] cancel [120] procs 4",
		"77[9] cancel [120] procs 4", "77[20] cancel [120] procs 4", "77[21] cancel [120] procs 4",
		"78 cancel [130] procs 1", "79 cancel [140] procs 1"}
	events, bad = readLog(t, lsf.Acct(), "testdata/arraykill2.acct")
	if diff := cmp.Diff(want, summary(events)); diff != "" || len(bad) > 0 {
		t.Errorf("%v (-want +got):\n%s", bad, diff)
	}
}

// TestStream reads the records that only lsb.stream has.
func TestStream(t *testing.T) {
	events, bad := readLog(t, lsf.Events(), "testdata/stream.log")
	if diff := cmp.Diff([]string{"501 submit [0] procs 1", "501 start [50 50] procs 0", "501 end [109 50] procs 1",
		"502 submit [200] procs 1", "502 end [253 222] procs 1"}, summary(events)); diff != "" || len(bad) > 0 {
		t.Errorf("%v (-want +got):\n%s", bad, diff)
	}
	events, bad = readLog(t, lsf.Events(), "testdata/stream2.log")
	if diff := cmp.Diff([]string{"601 start [450 450] procs 8", "601 end [900 450] procs 8",
		"42[3] end [910 500] procs 1",
		"602 cancel [920] procs 2", "603 end [930 600] procs 2"}, summary(events)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(bad) != 1 || !strings.Contains(bad[0].Error(), "line break") { // the second half of the last record
		t.Errorf("bad lines: %v", bad)
	}
	ended := events[1]
	if ended.Nodes != 2 || ended.TimeLimit.Seconds() != 3600 || ended.User != "bob" || ended.Queue != "low" ||
		ended.Account != "p1" || ended.Name != `a "b"` || ended.Times.Submit.Unix() != 1720000300 {
		t.Errorf("%+v", ended)
	}
}
