package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/api/wire"
)

// explained returns the fake server's reasons why a job waits. The numbers are invented, and one id tries to control
// the terminal.
func explained() ([]wire.Pivot, []wire.Sooner) {
	return []wire.Pivot{
			{ID: "4700", Procs: 64, AgeSeconds: 7200, RemainingP50: ptr(1800.), RemainingP90: ptr(5400.), Share: .75},
			{ID: "4701\x1b[31m", Procs: 1, AgeSeconds: 60, Share: .125},
		}, []wire.Sooner{
			{Changes: "time_limit", Queue: "short", Procs: 16, TimeLimitSeconds: 3600,
				WaitSeconds: wire.Quantiles{P50: ptr(120.), P90: ptr(900.)}, GainSeconds: ptr(1980.), Probability: .94,
				If: "if it can end within 1 h"},
			{Changes: "procs", Queue: "short", Procs: 1, WaitSeconds: wire.Quantiles{P50: ptr(300.)}, Probability: .98,
				If: "if it can run on 1 processor"},
			{Changes: "queue", Queue: "night", Procs: 16, WaitSeconds: wire.Quantiles{P50: ptr(600.), P90: ptr(660.)},
				GainSeconds: ptr(1500.), Probability: .9, If: "if it may be submitted to queue night"},
		}
}

// explainedText is the text for explained, written by hand.
const explainedText = `Waits for       the end of job 4700 (64 processors) in 75 % of the simulated
                futures; it has run about 2 h, and half of such jobs end within
                about 30 min, 9 of 10 within about 1½ h
                the end of job 4701?[31m (1 processor) in 12 % of the simulated
                futures; it has run about 1 min, and nobody knows how much
                longer it runs
Sooner          time limit 1 h: starts after about 2 min in the median, about 35
                min sooner, in 9 of 10 cases after about 15 min at most;
                materially sooner in 94 % of cases, if it can end within 1 h
                1 processor: starts after about 5 min in the median, in 1 of 10
                cases with no end in sight; materially sooner in 98 % of cases,
                if it can run on 1 processor
                queue night: starts after about 10 min in the median, about 25
                min sooner, in 9 of 10 cases after about 10 min at most;
                materially sooner in 90 % of cases, if it may be submitted to
                queue night
`

// TestExplains proves that the answers for one job state, line by line, what the job waits for and what would start
// sooner. These lines are between the reason and the age of the data. The JSON has all of them.
func TestExplains(t *testing.T) {
	wait := canned()
	wait.WaitsFor, wait.Sooner = explained()
	before, after, _ := strings.Cut(cannedText, "As of")
	if d := cmp.Diff(before+explainedText+"As of"+after, runWith(serve(t, 200, wait), question...).stdout); d != "" {
		t.Errorf("waitcast wait (-want +got):\n%s", d)
	}
	all := cannedJobs()
	one := wire.JobAnswer{Cluster: "main", Job: all.Jobs[0], AsOf: all.AsOf}
	one.WaitsFor, one.Sooner = explained()
	if r := runWith(serve(t, 200, one), "jobs", "4711"); r.code != exitDone ||
		!strings.Contains(r.stdout, "\n"+explainedText+"As of") {
		t.Errorf("waitcast jobs ID: exit %d\n%s", r.code, r.stdout)
	}
	if r := runWith(serve(t, 200, one), "jobs", "4711", "--json"); !strings.Contains(r.stdout, `"share":0.75`) ||
		!strings.Contains(r.stdout, `"gain_seconds":1980`) {
		t.Errorf("waitcast jobs ID --json: %s", r.stdout)
	}
}

// TestKeepFlag proves that --keep is sent to the daemon as given, and that nothing is sent without the flag. The
// command refuses the flag where it has no meaning.
func TestKeepFlag(t *testing.T) {
	var got []string
	content, err := json.Marshal(canned())
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(withoutHealth(func(w http.ResponseWriter, r *http.Request) {
		got = r.URL.Query()["keep"]
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(content)
	}))
	t.Cleanup(server.Close)
	for _, c := range []struct{ args, want []string }{
		{question, nil},
		{append(slices.Clone(question), "--keep", "0.125"), []string{"0.125"}},
		{[]string{"jobs", "4711", "--keep", "1"}, []string{"1"}},
	} {
		if r := runWith(server.URL, c.args...); r.code != exitDone || !slices.Equal(got, c.want) {
			t.Errorf("%v: exit %d, keep=%v, want %v: %s", c.args, r.code, got, c.want, r.stderr)
		}
	}
	for _, args := range [][]string{
		append(slices.Clone(question), "--keep", "0"), append(slices.Clone(question), "--keep", "1.5"),
		append(slices.Clone(question), "--keep", "NaN"), {"jobs", "4711", "--keep", "-1"},
		{"wait", "-q", "short", "-n", "8,16", "-t", "1h", "--keep", "0.5"},
	} {
		if r := runWith(server.URL, args...); r.code != exitUsage || !strings.Contains(r.stderr, "--keep") {
			t.Errorf("%v: exit %d, %q, want %d and --keep", args, r.code, r.stderr, exitUsage)
		}
	}
}
