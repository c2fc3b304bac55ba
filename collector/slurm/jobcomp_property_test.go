package slurm_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/slurm"
	"github.com/waitcast/waitcast/job"
)

// TestJobcompAnyName proves that the name or directory of a job may contain keys of the record, blanks and line ends:
// the other fields are still read correctly. The documented exceptions are names with a line that looks like the
// beginning or end of a record.
func TestJobcompAnyName(t *testing.T) {
	loc := berlin(t)
	pieces := rapid.SliceOfN(rapid.SampledFrom([]string{
		"a", " ", "\t", "|", "=", "\nz", " JobState=FAILED", " Partition=p", " TimeLimit=1", " StartTime=x",
		" WorkDir=/x", " ReservationName=",
		" Tres=cpu=9", " Account=root", " ExitCode=1:1", " DerivedExitCode=1:1 ", "JobId=5", " UserId=eve(0)",
		" GroupId=g(1)", " Name=n", " ArrayJobId=1 ArrayTaskId=2", " SubmitTime=2020-01-01T00:00:00",
	}), 0, 12)
	blanks := regexp.MustCompile(`[ \t]+\n`)
	forged := regexp.MustCompile(`(?m)^JobId=\d+ UserId=|DerivedExitCode=1:1 +ExitCode=1:1\s*$`)
	whole := regexp.MustCompile(` JobState=\S+ Partition=\S+ TimeLimit=\S+ StartTime=\S+ EndTime=`)
	rapid.Check(t, func(t *rapid.T) {
		name, dir := strings.Join(pieces.Draw(t, "name"), ""), "/"+strings.Join(pieces.Draw(t, "dir"), "")
		line := ran().with(func(r *record) { r.name, r.dir = name, dir })
		if forged.MatchString(name) || forged.MatchString(dir) || whole.MatchString(dir) {
			t.Skip("a forged record")
		}
		p := slurm.Jobcomp().New(collector.Options{Cluster: "alpha", Location: loc})
		var got []job.Event
		for text := range strings.SplitSeq(line, "\n") {
			if err := p.Parse([]byte(text), func(ev job.Event) { got = append(got, ev) }); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
		}
		if len(got) != 1 {
			t.Fatalf("%q: %d events", line, len(got))
		}
		ev := got[0]
		if ev.Kind != job.End || ev.ID != "7" || ev.User != "ann" || ev.Account != "physics" || ev.Queue != "short" ||
			ev.Procs != 8 ||
			!ev.Time.Equal(at(360)) || !ev.Times.Start.Equal(at(60)) || !ev.Times.Submit.Equal(at(0)) {
			t.Fatalf("%q: got %+v", line, ev)
		}
		if want := blanks.ReplaceAllString(name, "\n"); ev.Name != want {
			t.Fatalf("%q: name %q, want %q", line, ev.Name, want)
		}
	})
}
