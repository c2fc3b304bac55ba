package slurm_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/slurm"
	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/job"
)

// These are the rows of one job in the columns that Open XDMoD's guides recommend (open.xdmod.org,
// resource-manager-slurm): those of version 10 and later, of 9.5, and of 8.
const (
	xdmod10 = "7|7|alpha|short|normal|physics|phys|100|ann|1001|2026-11-20T08:00:00|2026-11-20T08:00:10|" +
		"2026-11-20T08:01:00|2026-11-20T08:06:00|00:05:00|0:0|COMPLETED|2|8|6|4Gn|cpu=6,mem=4G,node=1|" +
		"billing=8,cpu=8,gres/gpu=2,mem=8G,node=2|01:30:00|n[03-04]|run.sh"
	xdmod95 = "7|7|alpha|short|physics|phys|100|ann|1001|2026-11-20T08:00:00|2026-11-20T08:00:10|" +
		"2026-11-20T08:01:00|2026-11-20T08:06:00|00:05:00|0:0|COMPLETED|2|8|6|4Gn|cpu=6,mem=4G,node=1|" +
		"billing=8,cpu=8,gres/gpu=2,mem=8G,node=2|01:30:00|n[03-04]|run.sh"
	xdmod8 = "7|7|alpha|short|physics|phys|100|ann|1001|2026-11-20T08:00:00|2026-11-20T08:00:10|" +
		"2026-11-20T08:01:00|2026-11-20T08:06:00|00:05:00|0:0|COMPLETED|2|8|6|4Gn|gpu:2|cpu=6,mem=4G,node=1|" +
		"01:30:00|n[03-04]|run.sh"
)

// parseSacct reads lines with a new parser. The test fails at a bad line.
func parseSacct(t *testing.T, o collector.Options, lines ...string) (events []job.Event) {
	t.Helper()
	p := slurm.Sacct().New(o)
	for i, line := range lines {
		if err := p.Parse([]byte(line), func(ev job.Event) { events = append(events, ev) }); err != nil {
			t.Fatalf("line %d, %s: %v", i+1, line, err)
		}
	}
	return events
}

// TestSacctWellKnownForms proves that dumps in Open XDMoD's forms are recognized without a header, whatever the
// configured time zone is: the guides ask for UTC. A name with separators changes nothing, and one form may follow
// another.
func TestSacctWellKnownForms(t *testing.T) {
	const gib = 1 << 30
	options := collector.Options{Cluster: "alpha", Location: berlin(t)}
	before := job.Times{Submit: at(0), Eligible: at(10)}
	begun, over := before, before
	begun.Start, over.Start, over.End = at(60), at(60), at(360)
	life := func(asked, given job.Attributes) []job.Event {
		return []job.Event{event(job.Submit, "7", at(0), asked, before), event(job.Start, "7", at(60), given, begun),
			event(job.End, "7", at(360), given, over)}
	}
	asked := job.Attributes{Queue: "short", User: "ann", Account: "physics", QOS: "normal", Name: "run.sh", Procs: 6,
		TimeLimit: 90 * time.Minute, Nodes: 2, Memory: 4 * gib}
	given := asked
	given.Procs, given.Memory, given.GPUs = 8, 8*gib, 2
	askedOld, givenOld := asked, given
	askedOld.QOS, givenOld.QOS = "", ""
	askedOldest, givenOldest := askedOld, givenOld
	givenOldest.Memory, givenOldest.GPUs = 4*gib, 0
	if diff := cmp.Diff(life(asked, given), parseSacct(t, options, xdmod10)); diff != "" {
		t.Errorf("form of Open XDMoD 10 (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(life(askedOld, givenOld), parseSacct(t, options, xdmod95)); diff != "" {
		t.Errorf("form of Open XDMoD 9.5 (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(life(askedOldest, givenOldest), parseSacct(t, options, xdmod8)); diff != "" {
		t.Errorf("form of Open XDMoD 8 (-want +got):\n%s", diff)
	}
	const ours = "2026-11-20T09:00:00|7|7|" + who + "COMPLETED|" + lived + sized
	named := strings.Replace(xdmod10, "run.sh", "a|b|c", 1)
	mixed := parseSacct(t, options, ours, named, xdmod95, ours)
	if len(mixed) != 12 || mixed[3].Name != "a|b|c" || !mixed[3].Time.Equal(at(0)) || !mixed[9].Time.Equal(at(0)) ||
		mixed[11].Name != "run.sh" {
		t.Errorf("forms one after the other: %+v", mixed)
	}
}

// TestSacctToldColumns proves that a dump without a header is read by the columns in the configuration, and that
// unusable column names are reported instead of giving wrong jobs.
func TestSacctToldColumns(t *testing.T) {
	const row = "COMPLETED|7|4|2026-11-20T08:00:00|2026-11-20T08:01:00|2026-11-20T08:06:00|x"
	options := collector.Options{Location: time.UTC, Columns: "State,JobID,NCPUS,Submit, Start,End,JobName%80"}
	got := parseSacct(t, options, row, "PENDING|8|2|2026-11-20T08:00:00|Unknown|Unknown|a|b")
	if len(got) != 4 || got[0].Procs != 4 || !got[2].Time.Equal(at(360)) || got[3].Name != "a|b" || got[3].ID != "8" {
		t.Errorf("columns told: %+v", got)
	}
	options.Columns = "State,JobID,NCPUS,Start,End"
	none := func(ev job.Event) { t.Errorf("an event of columns of no use: %+v", ev) }
	err := slurm.Sacct().New(options).Parse([]byte(row), none)
	if err == nil || !strings.Contains(err.Error(), "no column Submit") {
		t.Errorf("columns without Submit: %v", err)
	}
	options.Columns = ""
	err = slurm.Sacct().New(options).Parse([]byte("x|y|z"), none)
	if err == nil || !strings.Contains(err.Error(), "--columns") {
		t.Errorf("unknown columns: %v; want it to name --columns", err)
	}
}

// TestSacctCutOff proves that a row without its end is reported at the end of a dump.
func TestSacctCutOff(t *testing.T) {
	p := slurm.Sacct().New(collector.Options{Location: time.UTC}).(collector.Flusher)
	none := func(job.Event) { t.Error("an event of half a row") }
	if err := p.Parse([]byte("2026-11-20T09:00:00|7|7|ann|phys"), none); err != nil {
		t.Fatal(err)
	}
	if err := p.Flush(); err == nil || !strings.Contains(err.Error(), "no end") {
		t.Errorf("half a row at the end: %v", err)
	}
	if err := p.Flush(); err != nil {
		t.Errorf("flushed again: %v", err)
	}
}

// TestSacctOfSeveralClusters proves that only the rows of the named cluster are read. If no cluster is named, a
// recorded log with several clusters is refused from the second cluster on, in columns as in JSON.
func TestSacctOfSeveralClusters(t *testing.T) {
	const header = "Cluster|JobID|State|Start|End|NCPUS|Submit"
	row := func(cluster string) string { return cluster + "|7|COMPLETED|1795161660|1795161960|4|1795161600" }
	read := func(format collector.Format, o collector.Options, lines ...string) (got string) {
		p := format.New(o)
		for _, line := range lines {
			n := 0
			switch err := p.Parse([]byte(line), func(job.Event) { n++ }); {
			case err != nil && strings.Contains(err.Error(), "--cluster"):
				got += " refused"
			case err != nil:
				t.Errorf("%s: %v", line, err)
			default:
				got += fmt.Sprintf(" %d", n)
			}
		}
		return got
	}
	other := edited(accounted, `"cluster":"alpha"`, `"cluster":"beta"`)
	for _, c := range []struct {
		options collector.Options
		want    string
	}{
		{collector.Options{}, " 3 3 3"}, // a followed log is read as before
		{collector.Options{Recorded: true}, " 3 refused 3"},
		{collector.Options{Recorded: true, Only: "beta"}, " 0 3 0"},
	} {
		if got := read(slurm.Sacct(), c.options, header, row("alpha"), row("beta"), row("alpha")); got != " 0"+c.want {
			t.Errorf("%+v: events%s, want%s", c.options, got, c.want)
		}
		if got := read(slurm.SacctJSON(), c.options, accounted, other, accounted); got != c.want {
			t.Errorf("%+v in JSON: events%s, want%s", c.options, got, c.want)
		}
	}
}

// TestSacctDuplicates proves that the rows of a requeued job become attempts of one job. In sacct -D these rows have
// the same number. Each row has its own submission time, which Slurm sets at the requeue.
func TestSacctDuplicates(t *testing.T) {
	const first = "2026-11-20T08:00:00|7|7|" + who +
		"REQUEUED|2026-11-20T08:00:00|2026-11-20T08:01:00|2026-11-20T08:06:00|" + sized
	const second = "2026-11-20T08:06:00|7|7|" + who +
		"COMPLETED|2026-11-20T08:08:00|2026-11-20T08:10:00|2026-11-20T08:20:00|" + sized
	var got []string
	for _, ev := range parseSacct(t, collector.Options{Location: time.UTC}, first, second) {
		got = append(got, ev.Kind.String()+" "+ev.Time.Format("15:04"))
	}
	want := []string{"submit 08:00", "start 08:01", "requeue 08:06", "submit 08:06", "start 08:10", "end 08:20"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSacctOfOtherSites parses real dumps of other sites and compares their jobs with the rows, simply split at the
// separators.
func TestSacctOfOtherSites(t *testing.T) {
	for _, c := range []struct {
		file string
		rows int
		jobs int // in the picture: an array in one row counts as many jobs as its list has
	}{
		{"logs/site-a.sacct", 4285, 4285},
		{"logs/sacct-arrays", 6, 1 + 3 + 2 + 4 + 4 + 9},
		{"logs/sacct-utf8", 1, 1},
	} {
		text, err := os.ReadFile(refdata.Shared(t, c.file))
		if err != nil {
			t.Fatal(err)
		}
		p := slurm.Sacct().New(collector.Options{Location: berlin(t)})
		rows, jobs := 0, 0
		for line := range bytes.Lines(text) {
			rows++
			fields := strings.Split(strings.TrimSuffix(string(line), "\n"), "|")
			err := p.Parse(line, func(ev job.Event) {
				if ev.Kind != job.End && ev.Kind != job.Cancel {
					return
				}
				jobs++
				end := ev.Time.Format("2006-01-02T15:04:05")
				if end != fields[13] || ev.Queue != fields[3] || ev.User != fields[8] || ev.Name != fields[25] {
					t.Errorf("%s:%d: %+v of %q", c.file, rows, ev, line)
				}
			})
			if err != nil {
				t.Errorf("%s:%d: %v", c.file, rows, err)
			}
		}
		if rows != c.rows || jobs != c.jobs {
			t.Errorf("%s: %d jobs of %d rows, want %d of %d", c.file, jobs, rows, c.jobs, c.rows)
		}
	}
}
