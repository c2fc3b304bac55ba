package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/waitcast/waitcast/collector/pbs"
	"github.com/waitcast/waitcast/internal/refdata"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"waitcastd": main, "waitcastd-panics": panicking})
}

// TestScripts runs the scripts of testdata, which check flags, messages and exit codes of the real program.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			swf, log := logs()
			for name, text := range map[string]string{"small.swf": swf, "20260302": log} {
				if err := os.WriteFile(filepath.Join(env.WorkDir, name), []byte(text), 0o600); err != nil {
					return err
				}
				if err := os.WriteFile(filepath.Join(env.WorkDir, name+".gz"), compress(text), 0o600); err != nil {
					return err
				}
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}

// exits implements the script command "exits CODE PROGRAM ARG...": the program must end with the code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG...")
	}
	code := "0"
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		code = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if code != args[0] {
		ts.Fatalf("%s ended with %s, want %s", strings.Join(args[1:], " "), code, args[0])
	}
}

func compress(text string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(text)) // a bytes.Buffer never fails
	_ = z.Close()
	return b.Bytes()
}

// The small logs have jobs one after the other. Their lifetimes are the quantiles of a uniform-log law from lawMin to
// lawMax seconds. Sequential jobs and jobs of 4 processors alternate.
const (
	lawMin, lawMax = 10.0, 100_000.0
	lawJobs        = 100 // of each class
)

// logs returns the same jobs as a workload file and as an accounting log.
func logs() (swf, log string) {
	begin := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	var w, a strings.Builder
	fmt.Fprintf(&w, "; UnixStartTime: %d\n; MaxProcs: 8\n", begin.Unix())
	var now int64
	for i := range 2 * lawJobs {
		procs := 1 + 3*(i%2)
		life := int64(math.Round(lawMin * math.Pow(lawMax/lawMin, (float64(i/2)+.5)/lawJobs)))
		fmt.Fprintf(&w, "%d %d 0 %d %d -1 -1 %d 200000 -1 1 1 1 1 1 -1 -1 -1\n", i+1, now, life, procs, procs)
		submit := begin.Add(time.Duration(now) * time.Second)
		rec := pbs.Record{
			ID: fmt.Sprintf("%d.s", i+1), User: "u", Queue: "batch", Created: submit, Queued: submit, Eligible: submit,
			Procs: procs, TimeLimit: 200_000 * time.Second, Start: submit,
			End: submit.Add(time.Duration(life) * time.Second),
		}
		a.Write(pbs.AppendEnded(pbs.AppendStarted(pbs.AppendQueued(nil, rec), rec), rec))
		now += life
	}
	return w.String(), a.String()
}

// report has the fields of --one-shot --json on which users may rely. The output may have more fields.
type report struct {
	Jobs     *int64 `json:"jobs"`
	BadLines int64  `json:"bad_lines"`
	Queues   []struct {
		Name    *string `json:"name"`
		Classes []struct {
			Class       string   `json:"class"`
			N           int      `json:"n"`
			B0          *float64 `json:"b0"`
			B1          *float64 `json:"b1"`
			R2          *float64 `json:"r2"`
			KS          *float64 `json:"ks"`
			TMinSeconds *float64 `json:"tmin_seconds"`
			TMaxSeconds *float64 `json:"tmax_seconds"`
		} `json:"classes"`
		Markov struct {
			RuntimeStates *int    `json:"runtime_states"`
			ProcsStates   *int    `json:"procs_states"`
			Cor0          float64 `json:"cor0"`
			Cor1          float64 `json:"cor1"`
		} `json:"markov"`
	} `json:"queues"`
}

func oneShot(t *testing.T, args ...string) report {
	t.Helper()
	var out bytes.Buffer
	cmd := rootCommand()
	cmd.SetOut(&out)
	cmd.SetArgs(append([]string{"--one-shot", "--json"}, args...))
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	var r report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	return r
}

// TestOneShot proves for every format, compressed or not, that state and models of a small log have the documented form
// and the figures of the law from which the log was made.
func TestOneShot(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	swf, log := logs()
	for _, c := range []struct{ name, text, queue string }{
		{"small.swf", swf, "q1"}, {"small.swf.gz", string(compress(swf)), "q1"},
		{"20260302", log, "batch"}, {"20260302.gz", string(compress(log)), "batch"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), c.name)
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			r := oneShot(t, path)
			if r.Jobs == nil || *r.Jobs != 2*lawJobs || r.BadLines != 0 || len(r.Queues) != 1 {
				t.Fatalf("%v jobs, %d bad lines, %d queues, want %d, 0 and 1", r.Jobs, r.BadLines,
					len(r.Queues), 2*lawJobs)
			}
			q := r.Queues[0]
			if q.Name == nil || *q.Name == "" || c.queue == "batch" && *q.Name != c.queue {
				t.Errorf("queue %v, want %s", q.Name, c.queue)
			}
			// Lifetimes from 10 to 97,000 s are in the states 2^3 to 2^16. The sizes 1 and 4 are in the states 2^0 and
			// 2^2. No job has a size between these.
			if m := q.Markov; m.RuntimeStates == nil || m.ProcsStates == nil || *m.RuntimeStates != 14 ||
				*m.ProcsStates != 2 {
				t.Errorf("chains %+v, want 14 and 2 states", m)
			}
			var classes []string
			for _, m := range q.Classes {
				classes = append(classes, m.Class)
				if m.N != lawJobs || m.B0 == nil || m.B1 == nil || m.R2 == nil || m.KS == nil || m.TMinSeconds == nil ||
					m.TMaxSeconds == nil {
					t.Fatalf("class %+v, want %d lifetimes and every figure", m, lawJobs)
				}
				b1 := 1 / math.Log(lawMax/lawMin)
				if math.Abs(*m.B1/b1-1) > .02 || math.Abs(*m.B0+b1*math.Log(lawMin)) > .02 || *m.R2 < .999 ||
					*m.KS > .03 {
					t.Errorf("%s: b0 %v, b1 %v, R2 %v, KS %v; the law has b0 %v, b1 %v", m.Class, *m.B0, *m.B1, *m.R2,
						*m.KS, -b1*math.Log(lawMin), b1)
				}
				if tmax := math.Exp((1 - *m.B0) / *m.B1); math.Abs(*m.TMaxSeconds/tmax-1) > 1e-9 ||
					math.Abs(*m.TMinSeconds/math.Exp(-*m.B0 / *m.B1)-1) > 1e-9 {
					t.Errorf("%s: tmin %v, tmax %v do not follow from b0 and b1", m.Class, *m.TMinSeconds,
						*m.TMaxSeconds)
				}
			}
			if !slices.Equal(classes, []string{"sequential", "parallel"}) {
				t.Errorf("classes %v", classes)
			}
		})
	}
}

// TestOneShotTooFew proves that figures that cannot be fitted are null, not 0 or missing.
func TestOneShotTooFew(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	path := filepath.Join(t.TempDir(), "one.swf")
	line := "1 0 5 60 4 -1 -1 4 600 -1 1 1 1 1 1 -1 -1 -1\n"
	if err := os.WriteFile(path, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := rootCommand()
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"--one-shot", "--json", path})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"b0", "b1", "r2", "ks", "tmin_seconds", "tmax_seconds"} {
		if !strings.Contains(out.String(), fmt.Sprintf("%q: null", field)) {
			t.Errorf("%s of one job is not null: %s", field, out.String())
		}
	}
}

// TestOneShotKTH compares the figures of a real trace with independent ones (DESIGN, section 4, Song et al. on
// KTH-SP2): 7 processor states by eq. 3, 18 runtime states, cor0 0.036, cor1 0.143; and 28,476 jobs, one of which has
// no size.
func TestOneShotKTH(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	r := oneShot(t, refdata.Shared(t, "traces/KTH-SP2-1996-2.1-cln.swf.gz"))
	if *r.Jobs+r.BadLines != 28_476 || r.BadLines != 1 || len(r.Queues) != 1 {
		t.Fatalf("%d jobs, %d bad lines, %d queues, want 28,476 together, 1 bad, 1 queue", *r.Jobs, r.BadLines,
			len(r.Queues))
	}
	m := r.Queues[0].Markov
	if *m.RuntimeStates != 18 || *m.ProcsStates != 7 {
		t.Errorf("chains of %d and %d states, want 18 and 7", *m.RuntimeStates, *m.ProcsStates)
	}
	if math.Abs(m.Cor0-.036) > .0005 || math.Abs(m.Cor1-.143) > .0005 {
		t.Errorf("cor0 %.4f, cor1 %.4f, want .036 and .143", m.Cor0, m.Cor1)
	}
	n := 0
	for _, c := range r.Queues[0].Classes {
		n += c.N
	}
	if n != 28_475 {
		t.Errorf("%d lifetimes in the models, want all 28,475: nothing is forgotten", n)
	}
}
