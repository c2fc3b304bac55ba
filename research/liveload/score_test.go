package liveload

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func at(seconds float64) time.Time {
	return time.Unix(1_700_000_000, 0).UTC().Add(time.Duration(seconds * float64(time.Second)))
}

// handMade returns five submissions for which the figures were worked out by hand; the last one has no answer. The
// levels are 0.1, 0.25, 0.5, 0.75, 0.9 and 0.95.
func handMade() []Case {
	nan, never := math.NaN(), math.Inf(1)
	return []Case{
		{Submit: at(0), Quantiles: []float64{0, 0, 0, 0, 0, 0}, Wait: 0, TestOnly: 4, Recent: nan, LogWait: 0.2},
		{Submit: at(10), Quantiles: []float64{1, 2, 10, 20, 40, 80}, Wait: 40, TestOnly: 100, Recent: 0, LogWait: 40.5},
		{Submit: at(20), Quantiles: []float64{5, 6, 7, 8, 9, 10}, Wait: 2, TestOnly: 8, Recent: 30, LogWait: nan},
		{Submit: at(30), Quantiles: []float64{5, 60, 70, 80, 90, never}, Wait: never, TestOnly: nan, Recent: 40},
		{Submit: at(40), Wait: 5, TestOnly: 1, Recent: 50}, // without an answer
	}
}

// TestJudge compares the figures of handMade with those worked out by hand. The errors of the medians are 0, 30, 5 and
// +Inf; the p90 are 0, 40, 9 and 90.
func TestJudge(t *testing.T) {
	got := Judge(handMade())
	log := func(x float64) float64 { return math.Log(x + 60) }
	year := 365. * 86400
	want := Figures{
		Jobs: 5, Answered: 4,
		Below: []float64{.25, .25, .25, .25, .25, .5}, // the third job, and at level .95 also the second
		UpTo:  []float64{.5, .5, .5, .5, .75, 1},      // also the first job; from .9 the second; at .95 the fourth
		Error: 17.5,                                   // the middle of 5 and 30
		// Three jobs have both answers and a start. The errors of test-only are 4, 100 and 8 s, those of waitcast 0, 30
		// and 5 s.
		Compared: 3, TestOnly: 8, ErrorThere: 5,
		Width: 24.5, RecentWidth: 30, RecentJobs: 3, RecentUpTo: 1. / 3,
		Loss50: .5 * (log(40) - log(10) + log(7) - log(2) + log(year) - log(70)) / 4,
		Loss95: .05 * (log(80) - log(40) + log(10) - log(2)) / 4,
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-12, 0)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestJudgeNothing proves that without submissions shares and errors are NaN.
func TestJudgeNothing(t *testing.T) {
	if f := Judge(nil); f.Jobs != 0 || !math.IsNaN(f.UpTo[0]) || !math.IsNaN(f.Error) {
		t.Errorf("of nothing: %+v", f)
	}
}

// TestDecidedAt checks the coverage over the decided p90 at several instants. The p90 of the first three jobs pass at
// seconds 0, 50 and 29 and cover the waits. The fourth job never starts. Its p90 passes at second 120, so from then on
// three of four waits are covered.
func TestDecidedAt(t *testing.T) {
	for _, c := range []struct {
		asOf, covered float64
		n             int
	}{{0, 1, 1}, {28.9, 1, 1}, {29, 1, 2}, {49.9, 1, 2}, {50, 1, 3}, {119.9, 1, 3}, {120, .75, 4}} {
		got, n := decidedAt(handMade(), .9, at(c.asOf))
		if n != c.n || got != c.covered {
			t.Errorf("as of %g s: %g of %d, want %g of %d", c.asOf, got, n, c.covered, c.n)
		}
	}
}

// TestRecentQuantile proves that of the jobs in a queue that have started at an instant only the newest fifty count,
// and that the result is the smallest of their waits that at least 9/10 of them do not exceed.
func TestRecentQuantile(t *testing.T) {
	var records []Record
	fates := map[string]Fate{}
	add := func(id, queue string, submit, start float64) {
		records = append(records, Record{ID: id, Job: Job{Queue: queue}})
		fates[id] = Fate{ID: id, Submit: at(submit), Start: at(start)}
	}
	add("other", "long", 0, 1000)
	for i := range 60 { // waits of 0 to 59 s, whose jobs start at seconds 1000 to 1059
		add(string(rune('A'+i)), "short", 1000, float64(1000+i))
	}
	for _, c := range []struct{ at, want float64 }{
		{999, math.NaN()},
		{1000, 0},
		{1009, 8},  // 9 of 10 waits are at most 8
		{1010, 9},  // 10 of 11 waits are at most 9; 9 of 11 would be less than 9/10
		{1049, 44}, // 45 of 50 waits are at most 44
		{1059, 54}, // the newest fifty waits are 10 to 59
		{9999, 54},
	} {
		got := recentQuantile(records, fates, "short", at(c.at))
		if got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("as of %g: %g, want %g", c.at, got, c.want)
		}
	}
}

// TestMedian proves that the median is the middle value, or the mean of the two middle ones.
func TestMedian(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		of   []float64
		want float64
	}{{[]float64{3}, 3}, {[]float64{4, 1, 2}, 2}, {[]float64{4, 1, 2, 3}, 2.5}, {[]float64{1, inf, inf}, inf},
		{[]float64{inf, inf}, inf}} {
		if got := median(c.of); got != c.want {
			t.Errorf("of %v: %g, want %g", c.of, got, c.want)
		}
	}
}

// TestCases proves that the wait of a job comes from sacct, that it is +Inf if the job never started, and that the
// answer of test-only is compared with the job's start.
func TestCases(t *testing.T) {
	records := []Record{
		{Job: Job{Number: 0, Queue: "short"}, ID: "1", TestOnly: TestOnly{Start: at(70)}, Answer: Answer{Asked: at(0),
			Wait: json.RawMessage(`{"queue":"short","wait_seconds":` +
				`{"p10":0,"p25":1,"p50":2.5,"p75":3,"p90":4,"p95":null}}`)}},
		{Job: Job{Number: 1, Queue: "short"}, Trouble: "refused"},
		{Job: Job{Number: 2, Queue: "short"}, ID: "2", TestOnly: TestOnly{Start: at(20)},
			Answer: Answer{Asked: at(12), Refusal: "422"}},
	}
	fates := map[string]Fate{
		"1": {ID: "1", Submit: at(0), Start: at(11), End: at(12)},
		"2": {ID: "2", Submit: at(12)},
	}
	got, err := cases(records, fates, map[string]float64{"1": 10.9})
	if err != nil {
		t.Fatal(err)
	}
	want := []Case{
		{Number: 0, Queue: "short", Submit: at(0), Quantiles: []float64{0, 1, 2.5, 3, 4, math.Inf(1)},
			Recent: math.NaN(), TestOnly: 59, Wait: 11, LogWait: 10.9},
		{Number: 2, Queue: "short", Submit: at(12), Recent: 11, TestOnly: math.NaN(), Wait: math.Inf(1),
			LogWait: math.NaN()},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	delete(fates, "2")
	if _, err := cases(records, fates, nil); err == nil {
		t.Error("a job of which nothing is known was no error")
	}
}

// TestReadSlurm proves that the output of Slurm's commands is parsed as their manuals describe it.
func TestReadSlurm(t *testing.T) {
	start, err := parseTestOnly("sbatch: Job 49 to start at 1795399502 using 6 processors on nodes n[14-16] in " +
		"partition short")
	if err != nil || start.Unix() != 1795399502 {
		t.Errorf("test-only: %v, %v", start, err)
	}
	if start, err = parseTestOnly("allocation failure: Requested node configuration is not available"); err == nil {
		t.Errorf("no start was read as %v", start)
	}
	fates, err := parseFates("2|100|101|112|COMPLETED\n4|102|Unknown|Unknown|PENDING\n6|103|None|104|CANCELLED by 0\n")
	want := []Fate{
		{ID: "2", Submit: time.Unix(100, 0).UTC(), Start: time.Unix(101, 0).UTC(), End: time.Unix(112, 0).UTC(),
			State: "COMPLETED"},
		{ID: "4", Submit: time.Unix(102, 0).UTC(), State: "PENDING"},
		{ID: "6", Submit: time.Unix(103, 0).UTC(), End: time.Unix(104, 0).UTC(), State: "CANCELLED by 0"},
	}
	if diff := cmp.Diff(want, fates); diff != "" || err != nil {
		t.Errorf("sacct: %v\n%s", err, diff)
	}
	for _, bad := range []string{"2|100", "2|x|101|112|COMPLETED", "2|Unknown|101|112|COMPLETED"} {
		if _, err := parseFates(bad); err == nil {
			t.Errorf("sacct: %q was no error", bad)
		}
	}
	waits, err := parseLog([]byte(`
[2026-11-23T02:04:49.611] _slurm_rpc_submit_batch_job: JobId=20 InitPrio=3062 usec=687
[2026-11-23T02:04:49.711] _slurm_rpc_submit_batch_job: JobId=21 InitPrio=3062 usec=687
[2026-11-23T02:04:49.861] sched/backfill: _start_job: Started JobId=20 in short on n[13-14]
[2026-11-23T02:05:50.711] sched: Allocate JobId=21 NodeList=n01 #CPUs=4 Partition=short
[2026-11-23T02:05:50.721] _job_complete: JobId=20 done
`))
	if diff := cmp.Diff(map[string]float64{"20": .25, "21": 61}, waits); diff != "" || err != nil {
		t.Errorf("slurmctld.log: %v\n%s", err, diff)
	}
}

// TestReportBounds proves that a target is compared with the figure over all seeds, except the target for the worst
// seed, which is compared with the figure of that seed.
func TestReportBounds(t *testing.T) {
	var seed []Case
	// The p50 covers half of the jobs, the p90 90 % and the p95 95 %. The error is 100 s for test-only and 5 s for the
	// median.
	for i := range 100 {
		q := []float64{0, 0, 10, 10, 10, 10}
		wait := []float64{5, 15}[i%2]
		q[3], q[4], q[5] = 20, 20, 20
		if i < 10 {
			q[4] = 1
		}
		if i < 5 {
			q[5] = 1
		}
		seed = append(seed, Case{Number: i, Queue: "short", Submit: at(float64(i)), Quantiles: q, Wait: wait,
			TestOnly: 100, Recent: 1, LogWait: wait})
	}
	var out bytes.Buffer
	report(&out, []*load{{dir: "x/seed-1", cases: seed, last: at(99), end: at(200)}})
	if text := out.String(); strings.Contains(text, "MISS") || strings.Count(text, "\nok ") != 6 {
		t.Errorf("all bounds hold, but:\n%s", text)
	}
	for i := range seed[:20] {
		seed[i].Quantiles[4] = 1
	}
	out.Reset()
	report(&out, []*load{{dir: "x/seed-1", cases: seed, last: at(99), end: at(200)}})
	if text := out.String(); strings.Count(text, "MISS") != 2 || strings.Count(text, "\nok ") != 4 {
		t.Errorf("p90 covers 0.8, pooled and of the only seed, but:\n%s", text)
	}
}
