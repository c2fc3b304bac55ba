package daemon_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/internal/testprogram"
)

// series returns the values of the page of metrics by name and labels.
func (r *running) series() map[string]float64 {
	r.t.Helper()
	_, body := r.get("/metrics")
	out := map[string]float64{}
	for line := range strings.Lines(body) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "} ")
		if v, err := strconv.ParseFloat(value, 64); ok && err == nil {
			out[name+"}"] = v
		}
	}
	return out
}

// allAccuracy requests the accuracy since the beginning.
func (r *running) allAccuracy() *wire.Accuracy {
	r.t.Helper()
	status, body := r.get(everything)
	var a wire.Accuracy
	if err := json.Unmarshal([]byte(body), &a); err != nil || status != http.StatusOK {
		r.t.Fatalf("status %d, %v: %s", status, err, body)
	}
	return &a
}

const everything = "/v1/accuracy?since=2026-01-01&limit=10000"

// TestCoverageIsTheSameEverywhere proves that the interface, which reads the ledger and the waiting jobs, and the
// metrics, which follow the log, give the same counts of submissions: for every queue and size, for live and replayed
// forecasts, and after a restart. It also proves that the command prints the interface's figures.
func TestCoverageIsTheSameEverywhere(t *testing.T) {
	notUnderRace(t) // TestReload and TestLoadForecast have a daemon that reads, is scraped and asked
	jobs := 700
	if long() {
		jobs = 1200
	}
	log := workload(t, 11, jobs)
	s := newSite(t, "pbs", "")
	third, end := len(log)/3, mostWaiting(log)
	s.add(t, text(log[:third]))
	now := log[end-1].at.Add(time.Minute)
	clock := func() time.Time { return now }
	d := s.startAt(t, clock)
	d.caughtUp()
	s.add(t, text(log[third:2*third]))
	d.eventually("the second part is read", func() bool { return d.Views()[0].At.Equal(log[2*third-1].at) })
	d.stop()
	d = s.startAt(t, clock)
	d.caughtUp()
	s.add(t, text(log[2*third:end]))
	d.eventually("the third part is read", func() bool { return d.Views()[0].At.Equal(log[end-1].at) })
	answer := d.allAccuracy()
	compareMetrics(t, answer, d.series())
	made := map[string]int64{}
	for i := range answer.Groups {
		if g := &answer.Groups[i]; g.Queue == "" && g.SizeClass == "" {
			made[g.Made] = g.Methods[0].Outcomes["0.5"].Decided
			if g.Made == "live" && (g.Waiting < 5 || g.WaitingPast["0.1"] == 0) {
				t.Errorf("%d jobs wait, %v of them past their quantiles; want some", g.Waiting, g.WaitingPast)
			}
		}
	}
	if made["live"] < 100 || made["replayed"] < 100 {
		t.Errorf("decided forecasts are %v, want many of both kinds", made)
	}
	compareCommand(t, d, answer)
}

// mostWaiting returns the number of records of the log after which the most jobs wait, within the last third of the
// log.
func mostWaiting(log []record) int {
	waiting, most, at := map[string]bool{}, 0, 0
	for i, r := range log {
		if part := strings.SplitN(r.text, ";", 4); len(part) == 4 {
			switch part[1] {
			case "Q":
				waiting[part[2]] = true
			case "S", "D":
				delete(waiting, part[2])
			}
		}
		if i >= 2*len(log)/3 && len(waiting) > most {
			most, at = len(waiting), i+1
		}
	}
	return at
}

// compareMetrics compares the groups of the interface with the metrics of the same labels.
func compareMetrics(t *testing.T, answer *wire.Accuracy, series map[string]float64) {
	t.Helper()
	equal := func(want float64, format string, parts ...any) {
		t.Helper()
		name := fmt.Sprintf("waitcast_forecasts_"+format, parts...)
		if got, ok := series[name]; math.Abs(got-want) > 1e-9 || !ok && want != 0 {
			t.Errorf("%s is %v, the interface tells %v", name, got, want)
		}
	}
	for i := range answer.Groups {
		g := &answer.Groups[i]
		for level, o := range g.Methods[0].Outcomes {
			switch {
			case g.Queue != "" && g.SizeClass != "":
				labels := fmt.Sprintf("{cluster=\"main\",level=%q,made=%q,queue=%q,size=%q}", level, g.Made, g.Queue,
					g.SizeClass)
				equal(float64(o.UpTo), "hits_total%s", labels)
				equal(float64(o.Below), "below_total%s", labels)
				equal(float64(o.Missed), "missed_total%s", labels)
				equal(float64(o.Censored), "cancelled_total%s", labels)
			case g.Queue != "":
				labels := fmt.Sprintf("cluster=\"main\",level=%q,made=%q,queue=%q}", level, g.Made, g.Queue)
				equal(float64(g.WaitingPast[level]), "waiting_past{%s", labels)
				equal(float64(g.Waiting), "waiting{cluster=\"main\",made=%q,queue=%q}", g.Made, g.Queue)
				n := g.Newest[level]
				if n.Decided != o.Decided { // all decided forecasts are among the newest
					t.Errorf("%s %s level %s: %d are among the newest, %d were decided", g.Made, g.Queue, level,
						n.Decided, o.Decided)
				}
				equal(float64(o.Decided), "recent_decided{%s", labels)
				for b, bound := range []string{"below", "hits"} {
					equal(g.Methods[0].Coverage[level][b], "coverage_ratio{bound=%q,%s", bound, labels)
					equal(g.Methods[0].Unweighted[level][b], "coverage_unweighted_ratio{bound=%q,%s", bound, labels)
				}
			}
		}
	}
}

// compareCommand compares the output of the command with the answer of the interface.
func compareCommand(t *testing.T, d *running, answer *wire.Accuracy) {
	t.Helper()
	program := testprogram.Build(t, "../cmd/waitcast")
	run := func(args ...string) []byte {
		args = append([]string{"accuracy", "--url", "http://" + d.Addr().String(), "--since", "2026-01-01", "--limit",
			"10000"}, args...)
		out, err := exec.CommandContext(t.Context(), program, args...).Output()
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		return out
	}
	var told wire.Accuracy
	if err := json.Unmarshal(run("--json"), &told); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(answer.Groups, told.Groups); diff != "" {
		t.Errorf("the command tells another story (-interface +command): %s", diff)
	}
	text := string(run())
	for i := range answer.Groups {
		g := &answer.Groups[i]
		c, ok := g.Methods[0].Coverage["0.95"]
		if want := fmt.Sprintf("%.3f-%.3f", c[0], c[1]); ok && !strings.Contains(text, want) {
			t.Errorf("%s %s %s: the command does not print %s", g.Made, g.Queue, g.SizeClass, want)
		}
	}
}
