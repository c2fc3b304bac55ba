package simulator_test

import (
	"encoding/csv"
	"math"
	"os"
	"strconv"
	"testing"

	"github.com/klauspost/compress/gzip"

	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/simulator"
	"github.com/waitcast/waitcast/simulator/swfload"
)

// kthJobs reads the KTH log by the rules of pyss, which reference/README.md describes.
func kthJobs(t testing.TB) []simulator.Job {
	t.Helper()
	return load(t, "KTH-SP2-1996-2.1-cln", swfload.Pyss).Jobs
}

func load(t testing.TB, name string, rules swfload.Rules) *swfload.Trace {
	t.Helper()
	trace, err := swfload.Open(refdata.Shared(t, "traces/"+name+".swf.gz"), swfload.Options{Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

// readReference returns, by job, the columns job, submit, start, processors, runtime, and estimate.
func readReference(t *testing.T, name string) map[int64][6]float64 {
	t.Helper()
	file, err := os.Open(refdata.Shared(t, "reference/"+name))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(z).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[int64][6]float64, len(rows))
	for _, row := range rows[1:] {
		var v [6]float64
		for i := range v {
			if v[i], err = strconv.ParseFloat(row[i], 64); err != nil {
				t.Fatal(err)
			}
		}
		out[int64(v[0])] = v
	}
	return out
}

// policies returns the policies that pyss also has, by the name of their reference file.
func policies() map[string]simulator.Policy {
	return map[string]simulator.Policy{
		"fcfs": new(simulator.FCFS), "easy": new(simulator.EASY), "conservative": new(simulator.Conservative),
	}
}

// TestStartsEqualPyss compares every start of the KTH log on 100 processors with that of pyss.
func TestStartsEqualPyss(t *testing.T) {
	for name, policy := range policies() {
		t.Run(name, func(t *testing.T) {
			want := readReference(t, "kth-sp2-"+name+".csv.gz")
			s := machine(t, simulator.Config{
				Procs: 100, Policy: policy, Order: simulator.SubmitsFirst, Arrivals: simulator.FromSlice(kthJobs(t)),
			})
			started, wrong := 0, 0
			if err := s.Advance(math.Inf(1), func(e simulator.Event) {
				if e.Kind != simulator.Started {
					return
				}
				started++
				j := e.Job
				got := [6]float64{float64(j.ID), j.Submit, j.Start, float64(j.Procs), j.Runtime, j.Estimate}
				if got != want[j.ID] {
					if wrong++; wrong <= 5 {
						t.Errorf("job %d: got %v, want %v", j.ID, got, want[j.ID])
					}
				}
			}); err != nil {
				t.Fatal(err)
			}
			if wrong > 0 || started != len(want) || started != 28476 {
				t.Errorf("%d of %d jobs differ; the reference has %d", wrong, started, len(want))
			}
		})
	}
}
