package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/cmd/waitcast/console"
)

func bandOf(p50 float64) wire.Band {
	return wire.Band{P05: p50 / 2, P25: p50 * .75, P50: p50, P75: p50 * 1.25, P95: p50 * 2}
}

// cannedForecast returns an invented forecast.
func cannedForecast() wire.LoadForecast {
	at := time.Date(2026, 3, 2, 13, 0, 0, 0, time.UTC)
	f := wire.LoadForecast{Cluster: "main", MadeFor: at, MadeAge: 63, AsOf: at.Add(time.Minute), AgeSeconds: 3,
		Learnt: wire.LoadLearnt{Note: "no outcome is known yet"}}
	load := wire.LoadAhead{Now: wire.LoadNow{QueuedWork: 360_000, QueuedJobs: 12, Utilization: .985, JobsPerHour: 3}}
	for i, h := range []float64{3600, 86400} {
		load.Horizons = append(load.Horizons, wire.LoadPoint{
			HorizonSeconds: h, At: at.Add(time.Duration(h) * time.Second), QueuedWork: bandOf(360_000 / float64(i+1)),
			QueuedJobs: bandOf(10), Utilization: bandOf(.5), JobsPerHour: bandOf(2.5),
		})
		f.StandardWaits = append(f.StandardWaits, wire.StandardWait{Job: "1 proc 1 h", Procs: 1, HorizonSeconds: h,
			WaitSeconds: wire.WaitsBand{P50: ptr(60.), P95: ptr(7200.)}})
	}
	f.Loads = []wire.LoadAhead{load, {Queue: "batch"}}
	return f
}

// cannedForecastText is the text for cannedForecast, written by hand.
const cannedForecastText = `Load of         cluster main
From            2026-03-02 13:00:00 +00:00, 1 min 03 s ago

                   queued proc h  waiting jobs  in use, %    jobs per h
now                100            12            98           3
in 1 h  Mon 14:00  100 (50-200)   10 (5-20)     50 (25-100)  2.5 (1.2-5)
in 1 d  Tue 13:00  50 (25-100)    10 (5-20)     50 (25-100)  2.5 (1.2-5)

Queued proc h   # to the median, - to the end of the band, of 200
now             #########################
in 1 h          #########################-------------------------
in 1 d          #############------------

How long a job would wait that is submitted then, in the simulation: the median (and 19 of 20)
        1 proc 1 h
in 1 h  1 min (2 h)
in 1 d  1 min (2 h)

Queues          1 more: -q QUEUE shows one
Saturation      not known yet: too few jobs have been seen
So far          no forecast has been scored yet; no outcome is known yet
`

func TestForecastForPeople(t *testing.T) {
	r := runWith(serve(t, 200, cannedForecast()), "forecast")
	if r.code != 0 || r.stderr != "" {
		t.Errorf("code %d, stderr %q", r.code, r.stderr)
	}
	if d := cmp.Diff(cannedForecastText, r.stdout); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestForecastOnATerminal proves that on a terminal the drawing consists of block characters, and that the command
// prints scores and saturation if they are known.
func TestForecastOnATerminal(t *testing.T) {
	f := cannedForecast()
	probability, growth := .25, bandOf(4)
	f.Saturation = &wire.Saturation{Probability: &probability, JobsPerWeek: &growth, Weeks: 12, Growth: .5,
		GrowthWeeks: 9}
	f.Scores = []wire.LoadScore{
		{Scope: "cluster", Series: "queued_work", HorizonSeconds: 86400, N: 7,
			Losses: wire.LoadLosses{Waitcast: 1, Persistence: 1, LastWeek: 1}},
		{Scope: "cluster", Series: "queued_work", HorizonSeconds: 21600, N: 500, Below: .04, Above: .06,
			Losses: wire.LoadLosses{Waitcast: .06, Persistence: .1, LastWeek: .3}},
		{Scope: "queues", Series: "queued_work", HorizonSeconds: 21600, N: 3},
	}
	text := string(forecastText(&f, time.UTC, true))
	for _, part := range []string{
		"\u2588\u2588\u2591\u2591", "probability of 25 %", "500 outcomes 6 h ahead", "-40 %", "-80 %", "90 % fell",
	} {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), part) {
			t.Errorf("lacks %q:\n%s", part, text)
		}
	}
}

// TestForecastFlags proves that flags become the query, and that --days counts days.
func TestForecastFlags(t *testing.T) {
	asked := make(chan string, 1)
	server := httptest.NewServer(withoutHealth(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.String()
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte("{}"))
	}))
	defer server.Close()
	for args, want := range map[string]string{
		"forecast -q q --cluster c --days 2": "/v1/forecast?cluster=c&hours=48&queue=q",
		"forecast --hours 24 --json":         "/v1/forecast?hours=24",
		"forecast":                           "/v1/forecast?hours=168",
	} {
		if r := runWith(server.URL, strings.Fields(args)...); r.code != 0 {
			t.Fatalf("%s: %+v", args, r)
		}
		if got := <-asked; got != want {
			t.Errorf("%s asked %s, want %s", args, got, want)
		}
	}
}

func TestForecastExits(t *testing.T) {
	url := serve(t, 200, cannedForecast())
	expect(t, runWith(url, "forecast", "--hours", "0.5"), 2, "1 or more")
	expect(t, runWith(url, "forecast", "--hours", "24", "--days", "2"), 2, "not both")
	problem := wire.Problem{Type: wire.ProblemNoForecast, Title: "No forecast possible", Status: 503,
		Detail: "still being made", Reason: "not_fitted", Hint: "ask again"}
	expect(t, runWith(serve(t, 503, problem), "forecast"), 3, "still being made", "ask again")
	f := cannedForecast()
	f.Stale, f.AgeSeconds = true, 7500
	r := runWith(serve(t, 200, f), "forecast")
	expect(t, r, 4, "stale")
	if !strings.HasPrefix(r.stdout, "Load of") {
		t.Errorf("the answer is missing: %q", r.stdout)
	}
}

// TestForecastIsPrintable proves that no part of the daemon's answer controls the terminal, and that no number breaks
// the drawing.
func TestForecastIsPrintable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := cannedForecast()
		f.Cluster, f.Learnt.Note, f.StandardWaits[0].Job = rapid.String().Draw(t, "cluster"),
			rapid.String().Draw(t, "note"), rapid.String().Draw(t, "job")
		f.Loads[0].Horizons[0].QueuedWork.P95 = rapid.Float64().Draw(t, "p95")
		f.Loads[0].Horizons[1].QueuedWork.P50 = rapid.Float64().Draw(t, "p50")
		for row := range strings.Lines(string(forecastText(&f, time.UTC, rapid.Bool().Draw(t, "terminal")))) {
			if row = strings.TrimSuffix(row, "\n"); row != console.Printable(row) {
				t.Fatalf("control characters: %q", row)
			}
		}
	})
}
