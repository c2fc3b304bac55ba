package main

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/cmd/waitcast/offline"
	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/swf"
	"github.com/waitcast/waitcast/workload/compare"
)

// meanWork returns the mean processor seconds of jobs.
func meanWork(jobs []swf.Record) (mean float64) {
	for i := range jobs {
		mean += float64(jobs[i].Procs()) * float64(jobs[i].Runtime) / float64(len(jobs))
	}
	return mean
}

// ranOf returns the jobs that ran.
func ranOf(jobs []swf.Record) (out []swf.Record) {
	for i := range jobs {
		if r := &jobs[i]; r.Procs() > 0 && r.Runtime >= 0 && (r.Runtime > 0 || r.Status != swf.StatusCancelled) {
			out = append(out, *r)
		}
	}
	return out
}

// lopsided writes a log whose sizes and runtimes are correlated. It has two users, each with one time limit. User 7 has
// the small jobs, which take at most 600 s of their limit of 900 s. User 8 has the large ones, which take up to their
// limit of 36,000 s.
func lopsided(t *testing.T) string {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 6))
	var text bytes.Buffer
	w := swf.NewWriter(&text)
	if err := w.WriteHeader(&swf.Header{UnixStartTime: offline.FirstMonday, MaxProcs: 64}); err != nil {
		t.Fatal(err)
	}
	at := int64(0)
	for id := range int64(6000) {
		at += 1 + rng.Int64N(1200)
		rec := swf.Record{ID: id + 1, Submit: at, Wait: -1, CPUTime: -1, Memory: -1, RequestedMem: -1, Status: 1,
			Group: 3, Executable: -1, Queue: -1, Partition: -1, Preceding: -1, ThinkTime: -1}
		rec.User, rec.Allocated, rec.TimeLimit = 7, 1<<rng.Int64N(3), 900
		rec.Runtime = min(600, int64(math.Exp(2+rng.Float64()*4.5)))
		if rng.IntN(4) == 0 {
			rec.User, rec.Allocated, rec.TimeLimit = 8, 16<<rng.Int64N(2), 36000
			rec.Runtime = min(36000, int64(math.Exp(8+1.5*rng.NormFloat64())))
		}
		rec.RequestedProcs = rec.Allocated
		if err := w.Write(&rec); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// TestGenerateForm proves that every model keeps the mean work of a log whose sizes and runtimes are correlated, and
// that the paper's form is still available. Users and limits come from the log: the user with the short limit has the
// short jobs, and no job runs longer than its limit.
func TestGenerateForm(t *testing.T) {
	text := lopsided(t)
	_, log := read(t, text)
	for _, model := range []string{"lublin", "markov", "uniformlog"} {
		command := []string{"generate", "--model", model, "--from", "-", "--jobs", "6000", "--seed", "1"}
		r := succeed(t, text, command...)
		_, jobs := read(t, r.stdout)
		closeTo(t, model+": mean work as a share", meanWork(jobs)/meanWork(log), 1, .12)
		if !strings.Contains(r.stderr, "KS distance from the recorded jobs: sizes 0.") {
			t.Errorf("%s: told %s", model, r.stderr)
		}
		limits, seven := map[int64]int{}, 0
		for _, j := range jobs {
			limits[j.TimeLimit]++
			if j.User == 7 {
				seven++
			}
			if j.Runtime > j.TimeLimit || (j.User == 7) != (j.TimeLimit == 900) || j.Group != 3 {
				t.Fatalf("%s: %+v", model, j)
			}
		}
		closeTo(t, model+": share of user 7", float64(seven)/6000, .75, .06)
		if len(limits) != 2 {
			t.Errorf("%s: limits %v, want 900 and 36000", model, limits)
		}
		_, plain := read(t, succeed(t, text, append(command, "--no-limits")...).stdout)
		_, paper := read(t, succeed(t, text, append(command, "--form", "paper", "--no-limits")...).stdout)
		differ := 0
		for i := range plain {
			if plain[i].Runtime != paper[i].Runtime || plain[i].Procs() != paper[i].Procs() {
				differ++
			}
			plain[i].User, plain[i].Group, plain[i].TimeLimit = jobs[i].User, jobs[i].Group, jobs[i].TimeLimit
			if plain[i] != jobs[i] || paper[i].User != swf.Unknown || paper[i].TimeLimit != swf.Unknown {
				t.Fatalf("%s, job %d: %+v without limits, %+v with them, %+v by the paper's form", model, i, plain[i],
					jobs[i], paper[i])
			}
		}
		if differ < 1000 {
			t.Errorf("%s: the paper's form differs in %d jobs only", model, differ)
		}
	}
}

// TestGenerateLimitsOfTrace proves that a model without a trace takes users and limits from the trace named by
// --limits. No job runs longer than its limit, and nothing else in the jobs changes.
func TestGenerateLimitsOfTrace(t *testing.T) {
	path := save(t, "log.swf", lopsided(t))
	command := []string{"generate", "--set", "lublin99", "--jobs", "3000", "--seed", "1"}
	_, plain := read(t, succeed(t, "", command...).stdout)
	_, jobs := read(t, succeed(t, "", append(command, "--limits", path)...).stdout)
	users := map[int64]int{}
	for i, j := range jobs {
		users[j.User]++
		if j.TimeLimit < j.Runtime || plain[i].TimeLimit != swf.Unknown {
			t.Fatalf("%+v, without --limits %+v", j, plain[i])
		}
		j.User, j.Group, j.TimeLimit = plain[i].User, plain[i].Group, plain[i].TimeLimit
		if j != plain[i] {
			t.Fatalf("%+v, without --limits %+v", j, plain[i])
		}
	}
	if len(users) != 2 || users[7] == 0 || users[8] == 0 {
		t.Errorf("users %v, want 7 and 8", users)
	}
	expect(t, runOn("", append(command, "--limits", "/no/such.swf")...), exitFailed, "/no/such.swf")
	expect(t, runOn(lopsided(t), "generate", "--from", "-", "--limits", path), exitUsage, "--limits goes with --set")
}

// TestGenerateBadFit proves that a law that does not fit causes a warning with its distance. Half of the jobs take 10
// s, and half 10 h. Without the outermost tenths, which are not fitted, the middles of the two steps of the cdf are at
// 0.3 and 0.7, and Downey's line passes through these. So 0.3 of the jobs drawn from the line are shorter than any job
// in the log.
func TestGenerateBadFit(t *testing.T) {
	text := strings.Builder{}
	for i := range 500 {
		line := "ID SUBMIT -1 RUN 1 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n"
		runtime := "10"
		if i%2 == 0 {
			runtime = "36000"
		}
		values := strings.NewReplacer("ID", strconv.Itoa(i+1), "SUBMIT", strconv.Itoa(60*i), "RUN", runtime)
		text.WriteString(values.Replace(line))
	}
	command := []string{"generate", "--model", "uniformlog", "--from", "-", "--arrivals", "recorded", "--seed", "1"}
	if r := succeed(t, text.String(), append(command, "--form", "paper")...); !strings.Contains(r.stderr,
		"does not fit this log: by KS its runtimes are 0.3") {
		t.Errorf("told %s", r.stderr)
	}
	if r := succeed(t, text.String(), command...); strings.Contains(r.stderr, "does not fit") {
		t.Errorf("in stages: told %s", r.stderr)
	}
	if r := succeed(t, text.String(), "fit", "-", "--model", "uniformlog", "--seed", "1"); !strings.Contains(r.stdout,
		"warning: by KS 0.") {
		t.Errorf("fit: told %s", r.stdout)
	}
}

// TestGeneratedWorkOfLogs proves that for every log and model a plain fit gives a mean work within 30 % of the recorded
// one. With --load same the load is exact, and sizes and runtimes do not change.
func TestGeneratedWorkOfLogs(t *testing.T) {
	logs, err := filepath.Glob(filepath.Join(refdata.Shared(t, "traces"), "*.swf.gz"))
	if err != nil || len(logs) == 0 {
		t.Fatal(err)
	}
	for _, path := range logs {
		name := filepath.Base(path)
		if os.Getenv("WAITCAST_LONG") == "" && !strings.HasPrefix(name, "NASA") {
			continue
		}
		log := ranOf(readLog(t, path))
		for _, model := range []string{"lublin", "markov", "uniformlog"} {
			command := []string{"generate", "--model", model, "--from", path, "--jobs", "30000", "--seed", "1"}
			_, plain := read(t, succeed(t, "", command...).stdout)
			share := meanWork(plain) / meanWork(log)
			t.Logf("%s, %s: mean work %.2f of the recorded", name, model, share)
			closeTo(t, name+", "+model+": mean work as a share", share, 1, .3)
			_, same := read(t, succeed(t, "", append(command, "--load", "same")...).stdout)
			for i := range same {
				if same[i].Runtime != plain[i].Runtime || same[i].Procs() != plain[i].Procs() {
					t.Fatalf("%s, %s: job %d: %+v with --load, %+v without", name, model, i, same[i], plain[i])
				}
			}
			span := func(jobs []swf.Record) float64 { return float64(jobs[len(jobs)-1].Submit - jobs[0].Submit) }
			load := meanWork(same) * float64(len(same)) / span(same)
			closeTo(t, name+", "+model+": load as a share", load/(meanWork(log)*float64(len(log))/span(log)), 1, .05)
		}
	}
}

// TestGeneratedLimitsOfKTH proves that the limits drawn for jobs of a model are as far from the runtimes as the
// recorded limits.
func TestGeneratedLimitsOfKTH(t *testing.T) {
	if testing.Short() {
		t.Skip("short: no whole trace")
	}
	path := refdata.Shared(t, "traces/KTH-SP2-1996-2.1-cln.swf.gz")
	var recorded, drawn [2][]float64
	add := func(to *[2][]float64, rec *swf.Record) {
		to[0] = append(to[0], float64(rec.TimeLimit))
		to[1] = append(to[1], float64(rec.TimeLimit)/float64(max(1, rec.Runtime)))
	}
	for _, rec := range readLog(t, path) {
		if rec.Procs() > 0 && rec.Runtime > 0 {
			add(&recorded, &rec)
		}
	}
	_, jobs := read(t, succeed(t, "", "generate", "--from", path, "--jobs", "20000", "--seed", "1").stdout)
	for i := range jobs {
		add(&drawn, &jobs[i])
	}
	for k, what := range []string{"limits", "limits over runtimes"} {
		ks, err := compare.KS(recorded[k], drawn[k])
		if err != nil || ks > .06 {
			t.Errorf("KS of %s: %.3f (%v)", what, ks, err)
		}
	}
}
