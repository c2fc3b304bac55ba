package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/api/wire"
)

// cannedAccuracy returns the fixed answer of the fake server, with invented numbers.
func cannedAccuracy() wire.Accuracy {
	levels := func(v float64) map[string]float64 { return map[string]float64{"0.5": v, "0.95": v / 4} }
	return wire.Accuracy{
		Cluster: "main", Since: time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC),
		AsOf: time.Date(2026, 3, 2, 13, 0, 0, 0, time.UTC), Groups: []wire.AccuracyGroup{
			{Made: "live", Waiting: 33, WaitingPast: map[string]int64{"0.95": 7}, Methods: []wire.MethodAccuracy{
				{Method: "waitcast", N: 900,
					Coverage:   map[string][2]float64{"0.5": {.25, .625}, "0.95": {.9375, .96875}},
					Unweighted: map[string][2]float64{"0.95": {.9453125, .9765625}},
					Outcomes:   map[string]wire.Outcomes{"0.95": {Decided: 876, LeftUndecided: 41}},
					LogPinball: levels(.5), WithinFactor2: .75},
				{Method: "qbets", N: 800, Coverage: map[string][2]float64{"0.5": {.1, .2}}, LogPinball: levels(1),
					Waitcast: levels(.625), WithinFactor2: .25},
			}},
			{Made: "live", Queue: "batch", Methods: []wire.MethodAccuracy{{Method: "waitcast"}},
				Newest: map[string]wire.NewestCoverage{"0.9": {Decided: 997, Coverage: [2]float64{.875, .890625}},
					"0.95": {Decided: 951, LeftUndecided: 13, Coverage: [2]float64{.921875, .953125},
						Unweighted: [2]float64{.90625, .984375}}}},
			{Made: "replayed", Queue: "batch", SizeClass: "2-8", Methods: []wire.MethodAccuracy{{Method: "waitcast"}}},
		},
	}
}

// TestAccuracyShowsAll proves that the command shows every group and method, with separate scores for live and replayed
// forecasts, and that a missing score is shown without a number.
func TestAccuracyShowsAll(t *testing.T) {
	r := runWith(serve(t, 200, cannedAccuracy()), "accuracy")
	for _, want := range []string{
		"jobs since 2026-02-01 00:00", "as it happened", "after the fact", "0.250-0.625", "0.938-0.969",
		"0.500", "0.125", "0.75", "7 of 33 waiting", "876", "41", "0.945-0.977",
		"batch  951          -          0.875-0.891  0.922-0.953  0.906-0.984  13",
		"Of 876 submissions 97 % had started by their .95 quantile, which should be 95 %, and 62 % by their median.",
		"Of the 900 that started, 75 % waited", "the loss of qbets at .50 is 1.60 times that of waitcast",
		"qbets", "1.000 (ours 0.625)", "0.250 (ours 0.156)", "batch  2-8",
	} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if r.code != exitDone || r.stderr != "" || strings.Contains(r.stdout, "NaN") {
		t.Errorf("exit %d, %s\n%s", r.code, r.stderr, r.stdout)
	}
	raw := runWith(serve(t, 200, cannedAccuracy()), "accuracy", "--json")
	if raw.code != exitDone || !strings.HasPrefix(raw.stdout, `{"cluster":"main"`) ||
		strings.Count(raw.stdout, "\n") != 1 {
		t.Errorf("exit %d: %s", raw.code, raw.stdout)
	}
}

// TestAccuracyShowsParts proves that the command shows the parts of waits for groups with blocked jobs, and the causes
// once. If neither is known, there is no such table.
func TestAccuracyShowsParts(t *testing.T) {
	answer := cannedAccuracy()
	if text := string(accuracyText(&answer, time.UTC)); strings.Contains(text, "Parts of the waits") {
		t.Errorf("of no parts:\n%s", text)
	}
	part := func(nonzero int64, loss float64) wire.PartAccuracy {
		return wire.PartAccuracy{N: 80, Nonzero: nonzero, Coverage: map[string][2]float64{"0.5": {.25, .5}},
			LogPinball: map[string]float64{"0.5": loss, "0.9": loss / 2}}
	}
	answer.Groups[0].Parts = &wire.PartsAccuracy{Eligible: part(77, .5), Blocked: part(12, .25)}
	answer.Groups[0].Reasons = &wire.ReasonAccuracy{Jobs: 40, Agreed: 37}
	answer.Groups[1].Parts = &wire.PartsAccuracy{Eligible: part(80, .5), Blocked: part(0, 0)} // nothing was blocked
	answer.Groups[2].Reasons = &wire.ReasonAccuracy{Jobs: 3, Agreed: 1}
	var table []string
	for line := range strings.Lines(string(accuracyText(&answer, time.UTC))) {
		if fields := strings.Fields(line); strings.Contains(line, " of ") && !strings.Contains(line, "the") {
			table = append(table, strings.Join(fields, " "))
		}
	}
	want := []string{"all all eligible 77 of 80 0.250-0.500 - 0.500 0.250 37 of 40",
		"all all blocked 12 of 80 0.250-0.500 - 0.250 0.125", "batch 2-8 - - - - - - 1 of 3"}
	for _, line := range want {
		if !slices.Contains(table, line) {
			t.Errorf("%q is not in %q", line, table)
		}
	}
}

// TestAccuracyExits checks the exit codes: an answer without scores, and a stale one, count as answers, and a refusal
// is printed with its reason.
func TestAccuracyExits(t *testing.T) {
	empty := wire.Accuracy{Cluster: "main", Stale: true, AgeSeconds: 900}
	if r := runWith(serve(t, 200, empty), "accuracy"); r.code != exitStale ||
		!strings.Contains(r.stdout, "no forecast has been scored there") {
		t.Errorf("stale: exit %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	refusal := wire.Problem{Type: wire.ProblemNoForecast, Title: "No forecast possible", Status: 404,
		Detail: "cluster main has no queue \"x\"", Reason: "unknown_queue"}
	if r := runWith(serve(t, 404, refusal), "accuracy", "-q", "x"); r.code != exitNoForecast ||
		!strings.Contains(r.stderr, "no queue") {
		t.Errorf("refused: exit %d\n%s", r.code, r.stderr)
	}
	if r := runWith("http://127.0.0.1:1", "accuracy", "more"); r.code != exitUsage {
		t.Errorf("an argument: exit %d", r.code)
	}
}

// TestAccuracyReplayed proves that --replayed requests the forecasts that were made after the fact, and cannot be
// combined with --made.
func TestAccuracyReplayed(t *testing.T) {
	var asked string
	server := httptest.NewServer(withoutHealth(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.Query().Get("made")
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(cannedAccuracy()) // a failed write would show in the client
	}))
	t.Cleanup(server.Close)
	if r := runWith(server.URL, "accuracy", "--replayed"); r.code != exitDone || asked != "replayed" {
		t.Errorf("exit %d, asked for made=%q: %s", r.code, asked, r.stderr)
	}
	if r := runWith(server.URL, "accuracy", "--replayed", "--made", "live"); r.code != exitUsage {
		t.Errorf("with --made: exit %d", r.code)
	}
}
