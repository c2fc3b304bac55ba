package sge_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/sge"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
)

// bench is a picture that is fed by listings and by a log.
type bench struct {
	t      *testing.T
	state  *cluster.State
	output string // of qstat -r
	calls  []string
	*sge.Listing
}

func newBench(t *testing.T, alone bool) *bench {
	b := &bench{t: t, state: cluster.New("alpha", 0)}
	b.Listing = sge.NewListing(sge.ListingConfig{
		Options: collector.Options{Cluster: "alpha", Location: time.UTC}, Alone: alone,
		Run: func(_ context.Context, args []string) ([]byte, error) {
			b.calls = append(b.calls, strings.Join(args, " "))
			if args[2] == "-j" { // every job was submitted at 11:19:20
				return []byte(detail(args[3])), nil
			}
			return []byte(b.output), nil
		},
		Picture: func() map[string]source.Live {
			live := map[string]source.Live{}
			for _, jobs := range [][]*cluster.Job{b.state.Running(), b.state.Queued()} {
				for _, j := range jobs {
					live[j.ID] = source.Live{Attributes: j.Reported(), Submit: j.Submit, Start: j.Start, Held: j.Held,
						Suspended: !j.Suspended.IsZero(), Split: j.Split}
				}
			}
			return live
		},
	})
	return b
}

func detail(numbers string) string {
	var out strings.Builder
	out.WriteString("<?xml version='1.0'?><detailed_job_info><djob_info>")
	for number := range strings.SplitSeq(numbers, ",") {
		fmt.Fprintf(&out, "<element><JB_job_number>%s</JB_job_number><JB_submission_time>%d</JB_submission_time>"+
			"</element>", number, clock("11:19:20").Unix())
	}
	return out.String() + "</djob_info></detailed_job_info>"
}

func clock(text string) time.Time {
	at, _ := time.Parse("2006-01-02 15:04:05", "2026-11-29 "+text) // a wrong text gives the zero time, which fails
	return at
}

// list takes a listing and returns the changes of the picture in short form.
func (b *bench) list(at string) string {
	b.t.Helper()
	a := b.Ask(b.t.Context(), clock(at))
	if a.Err != nil || len(a.Notes) > 0 {
		b.t.Fatalf("at %s: %v %v", at, a.Err, a.Notes)
	}
	return b.fold(a.Events...)
}

func (b *bench) fold(events ...job.Event) string {
	var out []string
	for _, ev := range events {
		b.state.Apply(ev, &cluster.Hooks{Changed: func(c cluster.Change) {
			text := fmt.Sprintf("%s-%v", c.Event.ID, c.Event.Kind)
			if c.Event.Derived {
				text += "*"
			}
			out = append(out, text)
		}})
	}
	return strings.Join(out, " ")
}

// row is a job of a listing.
func row(state, times, number, slots, more string) string {
	return fmt.Sprintf("<job_list><JB_job_number>%s</JB_job_number><JB_owner>ann</JB_owner><state>%s</state>%s"+
		"<slots>%s</slots>%s</job_list>", number, state, times, slots, more)
}

func since(at string) string { return "<JAT_start_time>2026-11-29T" + at + "</JAT_start_time>" }

func from(at string) string { return "<JB_submission_time>2026-11-29T" + at + "</JB_submission_time>" }

func listing(running, waiting string) string {
	return "<?xml version='1.0'?><job_info><queue_info>" + running + "</queue_info><job_info>" + waiting +
		"</job_info></job_info>"
}

// TestListing reads the output of a real Grid Engine 8.1.9: running and waiting jobs, a held one, one that depends on
// another, and an array of which one task runs.
func TestListing(t *testing.T) {
	b := newBench(t, true)
	content, err := os.ReadFile("testdata/qstat/listing.xml")
	if err != nil {
		t.Fatal(err)
	}
	b.output = string(content)
	want := "1-submit* 1-start 2-submit* 2-start 5.1-submit* 5.1-start 3-submit 4-submit 4-hold 5-submit " +
		"6-submit 6-hold"
	if got := b.list("11:19:45"); got != want {
		t.Errorf("changes\n%s, want\n%s", got, want)
	}
	if got := b.list("11:20:00"); got != "" {
		t.Errorf("told again: %s", got)
	}
	if want := []string{"qstat -xml -u * -r", "qstat -xml -j 1,2,5", "qstat -xml -u * -r"}; !cmp.Equal(b.calls, want) {
		t.Errorf("calls %q", b.calls)
	}
	got := map[string]job.Attributes{}
	for _, jobs := range [][]*cluster.Job{b.state.Running(), b.state.Queued()} {
		for _, j := range jobs {
			a := j.Reported()
			a.Name = ""
			got[j.ID] = a
		}
	}
	five := 5 * time.Minute
	if d := cmp.Diff(map[string]job.Attributes{
		"1":   {User: "ann", Queue: "short.q", Procs: 2, TimeLimit: five},
		"2":   {User: "ann", Queue: "short.q", Procs: 2, TimeLimit: five},
		"3":   {User: "ann", Queue: "short.q", Procs: 2, TimeLimit: five},
		"4":   {User: "ann", Queue: "long.q", Procs: 1, TimeLimit: time.Minute},
		"5":   {User: "ann", Procs: 1, TimeLimit: time.Minute, Tasks: 4},
		"5.1": {User: "ann", Queue: "medium.q", Procs: 1, TimeLimit: time.Minute},
		"6":   {User: "ann", Procs: 1, After: "4"},
	}, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// TestListingFollows checks, step by step, what becomes of a job in listings alone.
func TestListingFollows(t *testing.T) {
	b := newBench(t, true)
	waits, runs := row("qw", from("11:00:00"), "7", "2", ""), row("r", since("11:00:20"), "7", "2", "")
	held, stops := row("hqw", from("11:00:00"), "7", "2", ""), row("S", since("11:00:20"), "7", "2", "")
	for _, step := range []struct{ at, output, want string }{
		{"11:00:10", listing("", waits), "7-submit"},
		{"11:00:12", listing("", held), "7-hold"},
		{"11:00:15", listing("", waits), "7-release"},
		{"11:00:30", listing(runs, ""), "7-start"},
		{"11:00:45", listing(stops, ""), "7-suspend"},
		{"11:01:00", listing(runs, ""), "7-resume"},
		{"11:01:15", listing("", waits), ""},
		{"11:01:30", listing("", waits), "7-requeue"},
		{"11:01:45", listing(runs, ""), "7-start"},
		{"11:02:00", listing("", ""), ""},
		{"11:02:15", listing("", ""), "7-end"},
		{"11:02:30", listing("", ""), ""},
	} {
		b.output = step.output
		if got := b.list(step.at); got != step.want {
			t.Errorf("at %s: %q, want %q", step.at, got, step.want)
		}
	}
}

// TestListingBesideALog proves that changes of the last seconds are left to the log, and that the listing adds what the
// log lacks.
func TestListingBesideALog(t *testing.T) {
	b := newBench(t, false)
	b.output = listing("", row("qw", from("11:00:00"), "7", "2", "<hard_req_queue>a.q</hard_req_queue>"))
	if got := b.list("11:00:02"); got != "" {
		t.Errorf("a young job: %q", got)
	}
	b.fold(job.Event{Kind: job.Submit, Cluster: "alpha", ID: "7", Time: clock("11:00:00")})
	if got := b.list("11:00:17"); got != "7-update" {
		t.Errorf("a job without a size: %q", got)
	}
	if j := b.state.Queued()[0]; j.Procs != 2 || j.Queue != "a.q" {
		t.Errorf("the job is %+v", j.Attributes)
	}
}

// TestListingBad proves that an output that cannot be read changes nothing, and that names may have any bytes.
func TestListingBad(t *testing.T) {
	for _, output := range []string{
		"", "error: commlib error", "<job_info>", listing("", row("qw", "", "7", "1", "")),
		listing("", row("qw", from("11:00:00"), "x", "1", "")),
		listing("", row("qw", from("11:00:00"), "7", "1", "<tasks>3-1</tasks>")),
	} {
		b := newBench(t, true)
		b.output = output
		if a := b.Ask(t.Context(), clock("11:00:10")); a.Err == nil || len(a.Events) > 0 {
			t.Errorf("%q: %+v", output, a)
		}
	}
	b := newBench(t, true)
	b.output = listing("", row("qw", from("11:00:00"), "7", "1", "<full_job_name>\xff\x01 a&b %lt;</full_job_name>"+
		"<hard_req_queue>caf\xe9.q</hard_req_queue>"))
	if got := b.list("11:00:10"); got != "7-submit" {
		t.Errorf("an odd name: %q", got)
	}
	if j := b.state.Queued()[0]; j.Name != `\xff\x01 a&b %lt;` || j.Queue != `caf\xe9.q` {
		t.Errorf("names %q and %q", j.Name, j.Queue)
	}
	failing := sge.NewListing(sge.ListingConfig{Picture: func() map[string]source.Live { return nil },
		Run: func(context.Context, []string) ([]byte, error) { return nil, errors.New("no qmaster") }})
	if a := failing.Ask(t.Context(), clock("11:00:10")); a.Err == nil {
		t.Error("a failing qstat is no error")
	}
}
