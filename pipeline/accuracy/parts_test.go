package accuracy

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/predictor/coverage"
)

// started returns the row of a job that started, with its wait and its blocked time in seconds, and with quantiles of
// the whole wait and of its two parts.
func started(wait, blocked float64, whole, blockedForecast, eligible []float64) *modelstore.Row {
	return &modelstore.Row{Outcome: modelstore.Started, WaitSeconds: wait, Levels: []float64{.5, .9}, Quantiles: whole,
		Parts: &modelstore.Parts{BlockedSeconds: blocked, Blocked: blockedForecast, Eligible: eligible}}
}

// TestPartsByHand checks losses and coverage of the whole wait and of its parts against values worked out by hand.
// Three of the jobs are scored.
func TestPartsByHand(t *testing.T) {
	s := NewScore(2)
	// Of 100 s, 60 s are blocked. The eligible part is 40 s, exactly the median.
	s.Add(started(100, 60, []float64{100, 200}, []float64{59.2, 150}, []float64{40, 50}))
	// The forecast had no blocked time, and there was none. The eligible wait is the whole one.
	s.Add(started(10, 0, []float64{20, 40}, nil, nil))
	// The forecast had no blocked time, but the whole wait was blocked.
	s.Add(started(300, 300, []float64{20, waittime.Never}, nil, nil))
	// Three rows count in none of the parts: a job that was cancelled, one without a forecast, and one of an older
	// program.
	left := started(500, 500, []float64{1, 2}, nil, nil)
	left.Outcome = modelstore.Cancelled
	s.Add(left)
	s.Add(started(500, 500, nil, nil, nil))
	old := started(500, 500, []float64{1, 2}, nil, nil)
	old.Parts = nil
	s.Add(old)

	ln := func(seconds float64) float64 { return math.Log(seconds + 60) }
	for _, c := range []struct {
		name    string
		got     *PartScore
		nonzero int64
		seconds float64
		loss    float64 // loss of the median: half the distance
		covered coverage.Interval
		high    coverage.Interval
	}{
		{"whole", &s.Parts.Whole, 3, 410, (ln(20) - ln(10) + ln(300) - ln(20)) / 2, // 100 is the median itself
			coverage.Interval{Low: 1. / 3, High: 2. / 3}, coverage.Interval{Low: 1, High: 1}},
		{"blocked", &s.Parts.Blocked, 2, 360, (ln(60) - ln(59.2) + ln(300) - ln(0)) / 2, // 60 <= ceil(59.2), and 0 <= 0
			coverage.Interval{Low: 0, High: 2. / 3}, coverage.Interval{Low: 1. / 3, High: 2. / 3}},
		{"eligible", &s.Parts.Eligible, 2, 50, (ln(20) - ln(10) + ln(20) - ln(0)) / 2,
			coverage.Interval{Low: 2. / 3, High: 1}, coverage.Interval{Low: 1, High: 1}},
	} {
		if c.got.N != 3 || c.got.Nonzero != c.nonzero {
			t.Errorf("%s: %d jobs, %d with such a part; want 3 and %d", c.name, c.got.N, c.got.Nonzero, c.nonzero)
		}
		if c.got.Seconds != c.seconds {
			t.Errorf("%s: %v s, want %v", c.name, c.got.Seconds, c.seconds)
		}
		if math.Abs(c.got.LogPinball[0]-c.loss) > 1e-12 {
			t.Errorf("%s: loss of the median %v, want %v", c.name, c.got.LogPinball[0], c.loss)
		}
		if got := c.got.Coverage(0); got != c.covered {
			t.Errorf("%s: the median covers %v, want %v", c.name, got, c.covered)
		}
		if got := c.got.Coverage(1); got != c.high {
			t.Errorf("%s: the .9 quantile covers %v, want %v", c.name, got, c.high)
		}
	}
	// The score s also counts the row of the older program, which has no parts.
	if s.N != 4 || s.Left != 1 || s.Unforecast != 1 {
		t.Errorf("whole waits: %+v", s)
	}
	if d := NewParts(2).Blocked.Coverage(0); d != (coverage.Interval{Low: 0, High: 1}) {
		t.Errorf("no jobs cover %v", d)
	}
}

// TestReasonCounts proves that jobs are counted by their predicted cause and by the cause of their settled reason. Jobs
// without a predicted cause or without a settled reason are not counted.
func TestReasonCounts(t *testing.T) {
	s := NewScore(2)
	for _, c := range [][2]string{
		{"limit", "QOSMaxJobsPerUserLimit"}, {"limit", "AssocGrpCpuLimit"}, {"priority", "Resources"},
		{"priority", "Priority"}, {"resources", "Dependency"}, {"unavailable", "PartitionDown"},
		{"priority", ""}, {"", "Priority"}, {"priority", "SomethingNew"}, {"nonsense", "Priority"},
	} {
		row := started(1, 0, []float64{1, 2}, nil, nil)
		row.Parts.Predicted, row.Parts.Settled = c[0], c[1]
		s.Add(row)
	}
	want := ReasonCounts{
		{0, 0, 0, 1, 0}, // resources
		{1, 1, 0, 0, 0}, // priority
		{0, 0, 2, 0, 0}, // limit
		{},
		{0, 0, 0, 0, 1},
	}
	if d := cmp.Diff(want, s.Parts.Reasons); d != "" {
		t.Errorf("counts by predicted and settled cause (-want +got):\n%s", d)
	}
	if jobs, agreed := s.Parts.Reasons.Agreed(); jobs != 6 || agreed != 4 {
		t.Errorf("%d of %d agree, want 4 of 6", agreed, jobs)
	}
}

// TestPartsMerge proves that the merged scores of two groups equal the scores of all their rows, and that copies are
// independent.
func TestPartsMerge(t *testing.T) {
	rows := []*modelstore.Row{
		started(100, 60, []float64{100, 200}, []float64{59.2, 150}, []float64{40, 50}),
		started(10, 0, []float64{20, 40}, nil, nil), started(300, 300, []float64{20, 40}, nil, nil),
	}
	rows[1].Parts.Predicted, rows[1].Parts.Settled = "limit", "Resources"
	all, one, other, none := NewScore(2), NewScore(2), NewScore(2), NewScore(2)
	for i, r := range rows {
		all.Add(r)
		[]*Score{one, other}[i%2].Add(r)
	}
	before := one.Clone()
	sum := Sum([]*Score{none, one, other})
	approx := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-12 })
	if d := cmp.Diff(all.Parts, sum.Parts, approx); d != "" {
		t.Errorf("all (-) and their sum (+): %s", d)
	}
	sum.Add(rows[0])
	one.Add(rows[1])
	if d := cmp.Diff(NewScore(2).Parts, none.Parts); d != "" {
		t.Errorf("an empty score changed: %s", d)
	}
	again := NewScore(2)
	again.Add(rows[0])
	again.Add(rows[2])
	if d := cmp.Diff(again.Parts, before.Parts, approx); d != "" {
		t.Errorf("a copy changed with what it is a copy of: %s", d)
	}
}

// TestPartsSaved proves that saved scores are restored and that damaged ones are refused. Scores that an older program
// saved have no parts; later rows are added to empty parts.
func TestPartsSaved(t *testing.T) {
	row := started(100, 60, nil, nil, nil)
	row.Queue, row.Procs, row.Levels = "batch", 1, waittime.Levels()
	row.Submit, row.Start = time.Unix(1e9, 0), time.Unix(1e9+100, 0)
	row.Quantiles = waittime.Levels()
	key := Key{Queue: "batch", Size: "1"}
	r := NewRecord()
	r.Add(row)
	data, err := json.Marshal(&r)
	if err != nil {
		t.Fatal(err)
	}
	load := func(data []byte) (Record, error) {
		var saved Record
		if err := json.Unmarshal(data, &saved); err != nil {
			t.Fatal(err)
		}
		return saved.Restored()
	}
	got, err := load(data)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(r.Scores, got.Scores); d != "" {
		t.Errorf("saved (-) and restored (+): %s", d)
	}
	r.Scores[key].Parts.Blocked.UpTo = nil
	if data, err = json.Marshal(&r); err != nil {
		t.Fatal(err)
	}
	if _, err := load(data); err == nil {
		t.Error("scores without their counts were restored")
	}
	r.Scores[key].Parts = nil
	if data, err = json.Marshal(&r); err != nil {
		t.Fatal(err)
	}
	if got, err = load(data); err != nil {
		t.Fatal(err)
	}
	got.Add(row)
	if s := got.Scores[key]; s.N != 2 || s.Parts.Whole.N != 1 {
		t.Errorf("%d whole waits and %d with parts, want 2 and 1", s.N, s.Parts.Whole.N)
	}
}

// TestPredictedCause proves which predicted cause a row gets, depending on the cause from the engine and on the other
// data of the forecast.
func TestPredictedCause(t *testing.T) {
	soon, late := []float64{0, 0, 7, 9, 99, 999}, []float64{20, 20, 20, 60, 60, 60}
	last := &Answer{Procs: 1, Quantiles: late, Cause: job.LimitReached}
	unknown := []string{"1"}
	for _, c := range []struct {
		name  string
		f     Forecast
		cause job.Cause // cause of the wait of the first task
		first []float64
		want  string
	}{
		{"as the engine has it", Forecast{}, job.Resources, late, "resources"},
		{"no forecast", Forecast{OnHold: true, KeptBeside: true}, job.NoCause, nil, ""},
		{"behind jobs that became known", Forecast{BehindUnknown: unknown}, job.Resources, late, "resources"},
		{"which have what a limit allows", Forecast{BehindUnknown: unknown, KeptBeside: true}, job.Resources, late,
			"limit"},
		{"and others are ahead", Forecast{BehindUnknown: unknown, KeptBeside: true}, job.Priority, late, "priority"},
		{"the queue is down", Forecast{BehindUnknown: unknown, KeptBeside: true}, job.Unavailable, late, "unavailable"},
		{"submitted on hold", Forecast{OnHold: true, KeptBeside: true}, job.LimitReached, late, "hold"},
		{"more tasks than may run", Forecast{Throttled: true}, job.Resources, soon, "limit"},
		{"and the first waits, too", Forecast{Throttled: true}, job.Resources, late, "resources"},
		{"whose last is kept by the throttle", Forecast{Throttled: true, Last: last}, job.Priority, late, "priority"},
		{"an array that starts at once", Forecast{Throttled: true, Last: last}, job.Priority, soon, "limit"},
		{"an array that the engine has no forecast of", Forecast{Last: &Answer{}}, job.Priority, late, ""},
	} {
		c.f.Answers = []Answer{{Procs: 1, Quantiles: c.first, Cause: c.cause}}
		c.f.Job, c.f.Closed = &cluster.Job{Submit: second(0), Attributes: job.Attributes{Procs: 1}}, second(10)
		row := c.f.Row("c", waittime.Levels())
		if got := row.Parts.Predicted; got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
