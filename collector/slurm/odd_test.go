package slurm_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/slurm"
	"github.com/waitcast/waitcast/job"
)

// parseText parses a whole log. Between lines it passes the newest submission to parsers of local times, as the readers
// of dumps do.
func parseText(t *testing.T, format collector.Format, zone, text string) (events []job.Event, bad []string) {
	t.Helper()
	loc, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	p := format.New(collector.Options{Location: loc})
	var newest time.Time
	take := func(err error) {
		var refused *collector.LineError
		if errors.As(err, &refused) {
			bad = append(bad, err.Error())
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for line := range strings.Lines(text) {
		if dated, ok := p.(collector.Dated); ok {
			dated.After(newest)
		}
		take(p.Parse([]byte(strings.TrimSuffix(line, "\n")), func(ev job.Event) {
			events = append(events, ev)
			if ev.Times.Submit.After(newest) {
				newest = ev.Times.Submit
			}
		}))
	}
	if flusher, ok := p.(collector.Flusher); ok {
		take(flusher.Flush())
	}
	return events, bad
}

func readOdd(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/odd/" + file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// ends returns the id, submission, start and end of each ended job.
func ends(events []job.Event) (out []string) {
	for _, ev := range events {
		if ev.Kind == job.End {
			out = append(out, fmt.Sprint(ev.ID, " ", ev.Times.Submit.Unix(), ev.Times.Start.Unix(),
				ev.Times.End.Unix()))
		}
	}
	return out
}

// TestRepeatedHour reads dumps with local times that occur twice, in the night in which clocks go back.
func TestRepeatedHour(t *testing.T) {
	const header = "JobIDRaw|State|Submit|Start|End|ElapsedRaw|NCPUS\n"
	row := func(id int, submit, start, end, elapsed string) string {
		return fmt.Sprintf("%d|COMPLETED|2024-10-27T%s|2024-10-27T%s|2024-10-27T%s|%s|4\n", id, submit, start, end,
			elapsed)
	}
	job1, job3 := "1 1729989600 1729990200 1729991400", "3 1729989900 1729990680 1729996200"
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"dump": {readOdd(t, "dump.psv"),
			[]string{job1, "2 1729990500 1729991100 1729994700", "3 1711846200 1711846500 1711847100"}},
		"silent":    {readOdd(t, "silent.psv"), []string{job1, job3}},
		"byte mark": {readOdd(t, "bom.psv"), []string{job1, job3}},
		// a row that ends after the hour comes first; the others decide by their Elapsed
		"later rows first": {header + row(1, "02:30:00", "02:35:00", "04:00:00", "5100") +
			row(2, "02:10:00", "02:20:00", "02:50:00", "5400") + row(3, "02:10:00", "02:20:00", "02:50:00", "1800") +
			row(4, "02:40:00", "02:20:00", "02:50:00", "1800"),
			[]string{"1 1729989000 1729992900 1729998000", "2 1729987800 1729988400 1729993800",
				"3 1729987800 1729988400 1729990200", "4 1729989600 1729992000 1729993800"}},
		// without Elapsed, times in order
		"no elapsed": {header + row(1, "01:50:00", "02:50:00", "02:10:00", "") +
			row(2, "02:55:00", "02:05:00", "03:05:00", ""),
			[]string{"1 1729986600 1729990200 1729991400", "2 1729990500 1729991100 1729994700"}},
		// suspended for half an hour
		"suspended": {header + row(1, "02:10:00", "02:15:00", "02:55:00", "600"),
			[]string{"1 1729987800 1729988100 1729990500"}},
		// the order of submissions decides where the row cannot
		"in order": {header + row(1, "02:50:00", "02:51:00", "02:52:00", "60") +
			row(2, "02:10:00", "02:11:00", "02:12:00", "60"),
			[]string{"1 1729990200 1729990260 1729990320", "2 1729991400 1729991460 1729991520"}},
	} {
		events, bad := parseText(t, slurm.Sacct(), "Europe/Berlin", c.text)
		if diff := cmp.Diff(c.want, ends(events)); diff != "" || len(bad) > 0 {
			t.Errorf("%s: %q (-want +got):\n%s", name, bad, diff)
		}
	}
}

// TestDelimiters reads dumps of sacct with another delimiter, in a header or in a well-known form without one.
func TestDelimiters(t *testing.T) {
	const names = "JobID|JobIDRaw|User|Partition|State|Submit|Eligible|Start|End|Elapsed|ReqCPUS|AllocCPUS|NNodes|" +
		"JobName"
	const row = "7|7|ann|p|COMPLETED|2024-07-03T12:00:00|2024-07-03T12:00:00|2024-07-03T12:01:00|2024-07-03T12:05:00|" +
		"00:04:00|4|4|1|a b"
	known := strings.Split(slurm.SacctColumns, ",")
	values := map[string]string{"Submit": "2024-07-03T12:00:00", "JobIDRaw": "7", "JobID": "7", "State": "COMPLETED",
		"Eligible": "2024-07-03T12:00:00", "Start": "2024-07-03T12:01:00", "End": "2024-07-03T12:05:00",
		"TimelimitRaw": "60", "ReqCPUS": "4", "AllocCPUS": "4", "ReqNodes": "1", "NNodes": "1", "Priority": "1",
		"JobName": "a b"}
	for i, name := range known {
		known[i] = values[name]
	}
	for _, d := range []string{"|", ";", ",", "\t", "^", "~", "@@", "<>", "::"} {
		text := strings.ReplaceAll(names+"\n"+row+"\n"+row+d+d+"c\n", "|", d)
		events, bad := parseText(t, slurm.Sacct(), "UTC", "\ufeff"+text)
		if len(events) != 6 || len(bad) > 0 || events[2].Name != "a b" || events[5].Name != "a b"+d+d+"c" ||
			events[2].Procs != 4 {
			t.Errorf("%q: %d events, %q: %+v", d, len(events), bad, events)
		}
		if len(d) > 1 {
			continue
		}
		events, bad = parseText(t, slurm.Sacct(), "UTC", strings.Join(known, d)+"\n")
		if len(events) != 3 || len(bad) > 0 || events[2].Name != "a b" || events[2].TimeLimit != time.Hour {
			t.Errorf("%q without a header: %d events, %q", d, len(events), bad)
		}
	}
	_, bad := parseText(t, slurm.Sacct(), "UTC", "JobID State Submit Start End NCPUS\n7 COMPLETED a b c 4\n")
	if len(bad) != 2 {
		t.Errorf("columns of blanks: %q", bad)
	}
}

// TestDelimiterInTexts reads job names and command lines that contain the delimiter.
func TestDelimiterInTexts(t *testing.T) {
	const times = "2024-07-03T12:00:00|2024-07-03T12:01:00|2024-07-03T12:05:00"
	for name, c := range map[string]struct{ header, row, jobName string }{
		"command in the middle": {"JobID|SubmitLine|State|Submit|Start|End|NCPUS",
			"7|sbatch --wrap=a|b|| c|COMPLETED|" + times + "|4", ""},
		"name and command": {"JobID|JobName|State|SubmitLine|Submit|Start|End|NCPUS",
			"7|x|y|COMPLETED|srun sh -c a|b|" + times + "|4", "x|y"},
		"name and command, adjacent": {"JobID|State|Submit|Start|End|NCPUS|JobName|SubmitLine",
			"7|COMPLETED|" + times + "|4|x|y|/usr/bin/sbatch a|b|c", "x|y"},
		"command before the name": {"JobID|SubmitLine|JobName|State|Submit|Start|End|NCPUS",
			"7|sbatch a|b|x|COMPLETED|" + times + "|4", "x"},
		"comment": {"JobID|Comment|State|JobName|Submit|Start|End|NCPUS",
			"7|one|two|FAILED|x|COMPLETED|" + times + "|4", "x|COMPLETED"},
		"wide columns": {"JobID%20|JobName%-80|State|Submit|Start|End|NCPUS", "7|x|COMPLETED|" + times + "|4", "x"},
	} {
		events, bad := parseText(t, slurm.Sacct(), "UTC", c.header+"\n"+c.row+"\n")
		if len(events) != 3 || len(bad) > 0 {
			t.Errorf("%s: %d events, %q", name, len(events), bad)
			continue
		}
		if ev := events[2]; ev.Kind != job.End || ev.Procs != 4 || ev.Time.Unix() != 1720008300 ||
			ev.Name != c.jobName {
			t.Errorf("%s: %+v", name, ev)
		}
	}
}

// TestOldJobcomp reads records of Slurm 16, which have no SubmitTime.
func TestOldJobcomp(t *testing.T) {
	events, bad := parseText(t, slurm.Jobcomp(), "UTC", readOdd(t, "jobcomp.log"))
	if len(events) > 0 || len(bad) != 2 {
		t.Fatalf("%v, %q", events, bad)
	}
	for i, err := range bad {
		if !strings.Contains(err, "SubmitTime") || !strings.Contains(err, "sacct") ||
			!strings.Contains(err, fmt.Sprint("JobId=", 223+i)) {
			t.Errorf("%s", err)
		}
	}
}

// TestAborted reads slurmctld's message about a job that it ends at its own start, because the nodes' sockets changed.
func TestAborted(t *testing.T) {
	events, bad := parseText(t, slurm.Log(nil), "UTC", readOdd(t, "slurmctld.log")+
		"[2024-07-03T12:05:00.000] error: Aborting JobId=9_4(12) due to use of unsupported GRES options\n"+
		"[2024-07-03T12:05:01.000] error: Aborting everything JobId=5\n")
	var got []string
	for _, ev := range events {
		if ev.Kind == job.End {
			got = append(got, ev.ID+" "+ev.Time.UTC().Format(time.TimeOnly))
		}
	}
	want := []string{"100 12:00:05", "102_4 12:02:00", "103 12:02:40", "4294901760 12:03:30", "1879048193 12:04:30",
		"9_4 12:05:00"}
	if diff := cmp.Diff(want, got); diff != "" || len(bad) != 1 || !strings.Contains(bad[0], "101_[1-3%2]") {
		t.Errorf("%q (-want +got):\n%s", bad, diff)
	}
}

// TestByteOrderMark reads each format's own test file with a byte order mark in front.
func TestByteOrderMark(t *testing.T) {
	for file, format := range map[string]collector.Format{
		"jobcomp.log": slurm.Jobcomp(), "slurmctld.log": slurm.Log(nil),
	} {
		text, err := os.ReadFile("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		plain, _ := parseText(t, format, "UTC", string(text))
		marked, _ := parseText(t, format, "UTC", string(bytes.Join([][]byte{[]byte("\ufeff"), text}, nil)))
		if diff := cmp.Diff(plain, marked); diff != "" || len(plain) == 0 {
			t.Errorf("%s: %d events (-plain +marked):\n%s", file, len(plain), diff)
		}
	}
}
