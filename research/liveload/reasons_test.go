package liveload

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestWatcher proves that consecutive polls that find a job waiting for the same reason become one stretch, and that
// keep is called with the stretch once the reason changes or the job is gone.
func TestWatcher(t *testing.T) {
	var kept []Stretch
	w := &watcher{open: map[string]*Stretch{}, keep: func(s *Stretch) error { kept = append(kept, *s); return nil }}
	for i, found := range []map[string]string{
		{"1": "None"}, {"1": "Priority", "2": "BeginTime"}, {"1": "Priority", "2": "BeginTime"},
		{"2": "Resources"}, nil,
	} {
		if err := w.look(at(float64(i)), found); err != nil {
			t.Fatal(err)
		}
	}
	want := []Stretch{
		{ID: "1", Reason: "None", From: at(0), To: at(0), Polls: 1},
		{ID: "1", Reason: "Priority", From: at(1), To: at(2), Polls: 2},
		{ID: "2", Reason: "BeginTime", From: at(1), To: at(2), Polls: 2},
		{ID: "2", Reason: "Resources", From: at(3), To: at(3), Polls: 1},
	}
	byBegin := cmpopts.SortSlices(func(a, b Stretch) bool {
		return a.ID+a.From.String() < b.ID+b.From.String()
	})
	if diff := cmp.Diff(want, kept, byBegin); diff != "" || len(w.open) > 0 {
		t.Errorf("-want +got:\n%s%v", diff, w.open)
	}
}

// TestSettled proves that the settled reason of a job is the first reason other than None that at least four
// consecutive polls found, and that a job counts as blocked while polls found a limit or a hold.
func TestSettled(t *testing.T) {
	stretch := func(reason string, from, polls int) Stretch {
		return Stretch{Reason: reason, From: at(float64(from)), To: at(float64(from + polls - 1)), Polls: polls}
	}
	for _, c := range []struct {
		of      []Stretch
		want    string
		blocked float64
	}{
		{nil, "", 0},
		{[]Stretch{stretch("None", 0, 9), stretch("Priority", 9, 3)}, "", 0},
		{[]Stretch{stretch("Priority", 0, 3), stretch("QOSGrpCpuLimit", 3, 4), stretch("Resources", 7, 9)},
			"QOSGrpCpuLimit", 4},
		{[]Stretch{stretch("Resources", 0, 5), stretch("BeginTime", 5, 2), stretch("AssocGrpGRES", 7, 1)},
			"Resources", 3},
	} {
		if got := steadyReason(c.of); got != c.want || blockedSeconds(c.of) != c.blocked {
			t.Errorf("%v: settled %q, blocked %g s, want %q and %g s", c.of, got, blockedSeconds(c.of), c.want,
				c.blocked)
		}
	}
}

// TestUntilStart proves that the reasons for which a preempted job waits again do not count for its first wait.
func TestUntilStart(t *testing.T) {
	c := &Case{Submit: at(0), Wait: 10}
	of := []Stretch{{Reason: "BeginTime", From: at(20), Polls: 9}, {Reason: "Priority", From: at(2), Polls: 4}}
	if got := untilStart(of, c); len(got) != 1 || got[0].Reason != "Priority" {
		t.Errorf("%+v", got)
	}
}

// TestJoinedFates proves that the wait of a requeued job ends with its first start, and the wait of an array with the
// first start of one of its tasks.
func TestJoinedFates(t *testing.T) {
	fates, err := parseFates("5|100|130|140|PREEMPTED\n5|140|200|220|COMPLETED\n" +
		"7_1|100|160|170|COMPLETED\n7_0|100|150|180|COMPLETED\n7_2|100|Unknown|175|CANCELLED by 0\n")
	if err != nil {
		t.Fatal(err)
	}
	seconds := func(f Fate) [3]int64 { return [3]int64{f.Submit.Unix(), f.Start.Unix(), f.End.Unix()} }
	got := joined(fates)
	if len(got) != 2 || seconds(got["5"]) != [3]int64{100, 130, 220} || seconds(got["7"]) != [3]int64{100, 150, 180} {
		t.Errorf("%+v", got)
	}
}

// TestParseLogRequeue proves that the wait of a requeued job ends with its first start.
func TestParseLogRequeue(t *testing.T) {
	waits, err := parseLog([]byte(`
[2026-11-23T02:04:49.000] _slurm_rpc_submit_batch_job: JobId=20 InitPrio=3062 usec=687
[2026-11-23T02:04:50.500] sched: Allocate JobId=20 NodeList=n01 #CPUs=4 Partition=short
[2026-11-23T02:04:59.000] sched: Allocate JobId=20 NodeList=n01 #CPUs=4 Partition=short
`))
	if diff := cmp.Diff(map[string]float64{"20": 1.5}, waits); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

// TestJudgeCancelled proves how a job counts that was cancelled after 20 s: for quantiles of up to 20 s as a longer
// wait, and for larger quantiles not at all.
func TestJudgeCancelled(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	of := []Case{
		{Quantiles: []float64{5, 10, 20, 40, 80, 160}, Wait: 3, TestOnly: nan, Recent: nan},
		{Quantiles: []float64{5, 10, 20, 40, 80, 160}, Wait: inf, Left: 20, TestOnly: nan, Recent: nan},
	}
	f := Judge(of)
	want := []float64{.5, .5, .5, 1, 1, 1}
	if !cmp.Equal(f.UpTo, want) || f.Cancelled != 1 || f.Answered != 2 || f.Error != 17 {
		t.Errorf("%+v, want %v covered, one cancelled, and an error of 17 s", f, want)
	}
}

// bindingLoad returns a load of 100 jobs that meets every target. The p90 covers 90 % of all jobs, and 90 % of the 20
// jobs that a limit blocked. The median errors are 5 s for waitcast and 100 s for test-only. The reason was predicted
// for 45 of 50 jobs with a settled reason.
func bindingLoad() *load {
	l := &load{dir: "x/seed-1", last: at(99), end: at(200), binding: true}
	for i := range 100 {
		c := Case{Number: i, Queue: "short", Submit: at(float64(i)), Quantiles: []float64{0, 0, 10, 10, 20, 20},
			Wait: 15, TestOnly: 100, Recent: 1, LogWait: 15}
		if i%10 == 0 {
			c.Quantiles[4] = 1
		}
		switch {
		case i < 20:
			c.Kept = Kept{Predicted: "limit", Settled: "limit", Blocked: 15}
		case i < 50:
			c.Kept = Kept{Predicted: "priority", Settled: "priority"}
		}
		if i%10 == 1 {
			c.Kept.Predicted = ""
		}
		l.cases = append(l.cases, c)
	}
	return l
}

// TestBindingBounds proves that each target is compared with the right figure.
func TestBindingBounds(t *testing.T) {
	say := func(change func(i int, c *Case)) string {
		l := bindingLoad()
		for i := range l.cases {
			if change != nil {
				change(i, &l.cases[i])
			}
		}
		var out bytes.Buffer
		report(&out, []*load{l})
		return out.String()
	}
	good := say(nil)
	if strings.Contains(good, "MISS") || strings.Count(good, "\nok ") != 5 {
		t.Errorf("all bounds hold, but:\n%s", good)
	}
	var words strings.Builder // the output without the spaces that align columns
	for line := range strings.Lines(good) {
		fmt.Fprintln(&words, strings.Join(strings.Fields(line), " "))
	}
	table := "none 0 3 2 0 0\nresources 0 0 0 0 0\npriority 0 27 0 0 0\nlimit 0 0 18 0 0\n"
	if !strings.Contains(words.String(), table) {
		t.Errorf("the table of classes:\n%s", good)
	}
	for name, c := range map[string]struct {
		change func(i int, c *Case)
		misses int
	}{
		"test-only as good":    {func(_ int, c *Case) { c.TestOnly = 5 }, 2},
		"a third of test-only": {func(_ int, c *Case) { c.TestOnly = 15 }, 1},
		"blocked jobs too wide": {func(i int, c *Case) {
			if i < 20 {
				c.Quantiles[4] = 20
			}
		}, 1},
		"all too wide":                       {func(_ int, c *Case) { c.Quantiles[4] = 20 }, 2},
		"another class":                      {func(_ int, c *Case) { c.Kept.Predicted = "resources" }, 1},
		"only the answer's class is another": {func(_ int, c *Case) { c.Kept.Answered = "resources" }, 0},
	} {
		if text := say(c.change); strings.Count(text, "MISS") != c.misses {
			t.Errorf("%s: want %d misses\n%s", name, c.misses, text)
		}
	}
}
