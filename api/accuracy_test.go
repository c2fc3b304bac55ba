package api_test

import (
	"fmt"
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/waitcast/waitcast/api"
	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline/accuracy"
)

// TestAccuracyOfParts proves that the parts of waits are scored separately, for each group, and that the predicted
// causes are compared with the scheduler's reasons. Rows of earlier versions count in none of these scores.
func TestAccuracyOfParts(t *testing.T) {
	f := lively(t)
	submit := f.pipeline.View("main").At.Add(-1000 * time.Second)
	six := func(q float64) []float64 { return []float64{q, q, q, q, q, q} }
	row := func(queue string, wait float64, parts *modelstore.Parts) {
		f.rows = append(f.rows, modelstore.Row{
			Queue: queue, Procs: 1, Outcome: modelstore.Started, WaitSeconds: wait, Levels: waittime.Levels(),
			Quantiles: six(100), Submit: submit, Start: submit.Add(time.Duration(wait) * time.Second), Parts: parts,
		})
	}
	f.rows = nil
	row("work", 90, nil)
	row("work", 90, &modelstore.Parts{BlockedSeconds: 60, Blocked: six(70), Eligible: six(29), Predicted: "limit",
		Settled: "QOSMaxJobsPerUserLimit"})
	row("work", 200, &modelstore.Parts{Predicted: "priority", Settled: "Resources"})
	row("declared", 90, &modelstore.Parts{Predicted: "priority"})
	var got wire.Accuracy
	f.get("/v1/accuracy", &got)
	byQueue := map[string]wire.AccuracyGroup{}
	for _, g := range got.Groups {
		if g.SizeClass == "" {
			byQueue[g.Queue] = g
		}
	}
	work, all := byQueue["work"], byQueue[""]
	if work.Methods[0].N != 3 || work.Parts.Whole.N != 2 || all.Parts.Whole.N != 3 {
		t.Errorf("%d jobs, %d with parts, in both queues %d; want 3, 2 and 3", work.Methods[0].N, work.Parts.Whole.N,
			all.Parts.Whole.N)
	}
	for name, c := range map[string]struct {
		part     wire.PartAccuracy
		nonzero  int64
		coverage [2]float64
		loss     float64
	}{ // computed by hand; the loss is half the distance on the logarithmic scale
		"whole":    {work.Parts.Whole, 2, [2]float64{.5, .5}, (math.Log(160./150) + math.Log(260./160)) / 4},
		"blocked":  {work.Parts.Blocked, 1, [2]float64{.5, 1}, math.Log(130./120) / 4},
		"eligible": {work.Parts.Eligible, 2, [2]float64{0, 0}, (math.Log(90./89) + math.Log(260./160)) / 4},
	} {
		if c.part.Nonzero != c.nonzero || c.part.Coverage["0.5"] != c.coverage ||
			math.Abs(c.part.LogPinball["0.5"]-c.loss) > 1e-12 {
			t.Errorf("%s: %+v, want %d with such a part, coverage %v and loss %v", name, c.part, c.nonzero, c.coverage,
				c.loss)
		}
	}
	if r := work.Reasons; r.Jobs != 2 || r.Agreed != 1 || r.Share != .5 || r.Counts["priority"]["resources"] != 1 ||
		r.Counts["limit"]["limit"] != 1 || len(r.Counts) != 2 {
		t.Errorf("reasons %+v", r)
	}
	if declared := byQueue["declared"]; declared.Reasons != nil || declared.Parts.Blocked.Nonzero != 0 {
		t.Errorf("a queue without settled reasons has %+v, %+v", declared.Reasons, declared.Parts)
	}
}

// TestAccuracy compares figures with values that were worked out by hand: groups, live and replayed forecasts, the
// shares on both sides of a quantile, losses, and other methods, which are scored only on their own jobs.
func TestAccuracy(t *testing.T) {
	f := lively(t)
	submit := f.pipeline.View("main").At.Add(-1000 * time.Second)
	row := func(queue string, procs int, wait, quantile float64, replayed bool, peers ...modelstore.Peer) {
		r := modelstore.Row{
			Queue: queue, Procs: procs, Outcome: modelstore.Started, WaitSeconds: wait, Replayed: replayed,
			Levels: waittime.Levels(), Peers: peers, Submit: submit,
			Start: submit.Add(time.Duration(wait) * time.Second),
		}
		for range r.Levels {
			r.Quantiles = append(r.Quantiles, quantile)
		}
		f.rows = append(f.rows, r)
	}
	six := func(q float64) []float64 { return []float64{q, q, q, q, q, q} }
	f.rows = nil
	row("work", 4, 60, 60, false, modelstore.Peer{Method: "qbets", Quantiles: six(180)}) // the wait equals the quantile
	// The wait is within a second of the quantile.
	row("work", 5, 60, 59.5, false)
	row("work", 4, 60, 180, true)
	row("other", 1, 60, 61, false)
	f.rows = append(f.rows,
		modelstore.Row{Queue: "work", Procs: 4, Outcome: modelstore.Started, Start: submit}, // the job has no forecast
		modelstore.Row{Queue: "work", Procs: 4, Outcome: modelstore.Cancelled, WaitSeconds: 100, Submit: submit,
			Levels: waittime.Levels(), Quantiles: []float64{1, 2, 3, 100, 101, 1002}})
	var got wire.Accuracy
	f.get("/v1/accuracy", &got)
	var names []string
	for _, g := range got.Groups {
		names = append(names, fmt.Sprintf("%s/%s/%s/%d", g.Made, g.Queue, g.SizeClass, g.Methods[0].N))
	}
	want := "[live///3 replayed///1 live/other//1 live/other/1/1 live/work//2 live/work/2-8/2 replayed/work//1 " +
		"replayed/work/2-8/1]"
	if fmt.Sprint(names) != want {
		t.Fatalf("groups %v\nwant %s", names, want)
	}
	work := got.Groups[5]
	if work.Unforecast != 1 || work.Left != 1 || work.Cancelled != 1 || work.KnownMisses["0.5"] != 1 ||
		work.KnownMisses["0.75"] != 0 ||
		work.WaitingPast["0.5"] != 0 {
		t.Errorf("counts %+v", work)
	}
	// The wait of 60 s counts as up to the quantiles 60 and 59.5, and not as below them, because "below" rounds
	// quantiles down to whole seconds and "up to" rounds them up. The third job was cancelled at 100 s: so it is a miss
	// for the quantile 3 s, and censored for 101 s. For 1002 s it is undecided, because that time has not passed yet.
	for level, want := range map[string]wire.Outcomes{
		"0.5":  {Decided: 3, UpTo: 2, Missed: 1},
		"0.9":  {Decided: 3, UpTo: 2, LeftUndecided: 1, Censored: 1},
		"0.95": {Decided: 2, UpTo: 2, Early: 1},
	} {
		if got := work.Methods[0].Outcomes[level]; got != want {
			t.Errorf("level %s: %+v, want %+v", level, got, want)
		}
	}
	if c := work.Methods[0].Coverage["0.9"]; c != [2]float64{0, 1} {
		t.Errorf("coverage %v, want all waits up to the quantile and none below", c)
	}
	if c := work.Methods[0].Coverage["0.5"]; math.Abs(c[1]-2./3) > 1e-12 || c != work.Methods[0].Unweighted["0.5"] {
		t.Errorf("coverage of .5 is %v, want 2 of 3, the cancelled job having missed it", c)
	}
	ours, qbets := work.Methods[0], work.Methods[1]
	if ours.WithinFactor2 != 1 || qbets.Method != "qbets" || qbets.N != 1 || qbets.WithinFactor2 != 1 ||
		len(work.Methods) != 2 {
		t.Errorf("methods %+v", work.Methods)
	}
	for what, pair := range map[string][2]float64{
		"qbets .95": {qbets.LogPinball["0.95"], .05 * math.Log(2)}, "ours beside it": {qbets.Waitcast["0.95"], 0},
		"ours .5": {ours.LogPinball["0.5"], .5 * (math.Log(120) - math.Log(119.5)) / 2},
	} {
		if math.Abs(pair[0]-pair[1]) > 1e-9 {
			t.Errorf("%s: loss %v, want %v", what, pair[0], pair[1])
		}
	}
	var paged []string
	for offset, pages := 0, 0; ; pages++ {
		var page wire.Accuracy
		f.get(fmt.Sprintf("/v1/accuracy?limit=3&offset=%d", offset), &page)
		if page.Total != len(names) || len(page.Groups) > 3 || pages > 3 {
			t.Fatalf("page %d: %d groups of %d, want at most 3 of %d", pages, len(page.Groups), page.Total, len(names))
		}
		for _, g := range page.Groups {
			paged = append(paged, fmt.Sprintf("%s/%s/%s/%d", g.Made, g.Queue, g.SizeClass, g.Methods[0].N))
		}
		if page.NextOffset == nil {
			break
		}
		offset = *page.NextOffset
	}
	if fmt.Sprint(paged) != want {
		t.Errorf("pages have %v\nwant %s", paged, want)
	}
	var beyond wire.Accuracy
	if f.get("/v1/accuracy?offset=1000", &beyond); len(beyond.Groups) != 0 || beyond.NextOffset != nil ||
		beyond.Total != len(names) {
		t.Errorf("beyond the last page: %+v", beyond)
	}
	f.get("/v1/accuracy?size_class=1&made=live", &got)
	if len(got.Groups) != 1 || got.Groups[0].Queue != "other" {
		t.Errorf("of one size, live: %+v", got.Groups)
	}
}

// TestAccuracyQuery proves how the bounds of time in a query are parsed, and which queries are refused.
func TestAccuracyQuery(t *testing.T) {
	f := lively(t)
	newest := f.pipeline.View("main").At
	var got wire.Accuracy
	query := func(queue string, since, until time.Time) api.AccuracyQuery {
		return api.AccuracyQuery{Cluster: "main", Queue: queue, Bounds: accuracy.Bounds{
			Since: since, Until: until, AsOf: newest, Seq: f.pipeline.View("main").Seq,
		}}
	}
	day := func(d int) time.Time { return time.Date(2026, 3, d, 0, 0, 0, 0, time.UTC) }
	for text, want := range map[string]api.AccuracyQuery{
		"":                                   query("", newest.Add(-30*24*time.Hour), time.Time{}),
		"?since=1d12h&queue=work":            query("work", newest.Add(-36*time.Hour), time.Time{}),
		"?since=2026-03-01&until=2026-03-03": query("", day(1), day(3)),
		"?since=2026-03-01T13:00:00%2B01:00": query("", day(1).Add(12*time.Hour), time.Time{}),
	} {
		if f.get("/v1/accuracy"+text, &got); f.asked != want {
			t.Errorf("%q asks for %+v, want %+v", text, f.asked, want)
		}
	}
	for query, status := range map[string]int{
		"?since=soon": http.StatusUnprocessableEntity, "?since=-1d": http.StatusUnprocessableEntity,
		"?until=never": http.StatusUnprocessableEntity,
		"?limit=0":     http.StatusUnprocessableEntity, "?limit=10001": http.StatusUnprocessableEntity,
		"?offset=-1": http.StatusUnprocessableEntity,
		"?made=up":   http.StatusUnprocessableEntity, "?size_class=3": http.StatusUnprocessableEntity,
		"?queue=nope": http.StatusNotFound, "?cluster=moon": http.StatusNotFound,
	} {
		if p := f.problem("/v1/accuracy" + query); p.Status != status {
			t.Errorf("%s: %+v, want status %d", query, p, status)
		}
	}
}
