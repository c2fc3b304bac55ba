package simulator_test

import (
	"encoding/csv"
	"errors"
	"io"
	"math"
	"os"
	"strconv"
	"testing"

	"github.com/klauspost/compress/gzip"

	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/simulator"
	"github.com/waitcast/waitcast/swf"
)

// kthJobs reads the KTH log by the rules of pyss, which reference/README.md tells.
func kthJobs(t testing.TB) []simulator.Job {
	t.Helper()
	f, err := swf.Open(refdata.Shared(t, "traces/KTH-SP2-1996-2.1-cln.swf.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var jobs []simulator.Job
	for {
		var r swf.Record
		if err := f.Next(&r); errors.Is(err, io.EOF) {
			return jobs
		} else if err != nil {
			t.Fatal(err)
		}
		estimate := max(r.TimeLimit, r.Runtime, 1)
		runtime := max(min(r.TimeLimit, r.Runtime), 1)
		if r.Runtime <= 0 || r.Allocated <= 0 || r.Submit < 0 {
			estimate, runtime, r.Submit = 1, 1, max(r.Submit, 1)
		}
		jobs = append(jobs, simulator.Job{
			ID: r.ID, Submit: float64(r.Submit), Procs: int(min(max(r.Allocated, 1), f.Header().MaxProcs)),
			Runtime: float64(runtime), Estimate: float64(estimate),
		})
	}
}

// readReference returns the rows job, submit, start, processors, runtime, estimate by job.
func readReference(t *testing.T) map[int64][6]float64 {
	t.Helper()
	file, err := os.Open(refdata.Shared(t, "reference/kth-sp2-fcfs.csv.gz"))
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

// TestFirstComeFirstServedEqualsPyss compares every start of the KTH log on 100 processors with that of pyss.
func TestFirstComeFirstServedEqualsPyss(t *testing.T) {
	want := readReference(t)
	s := machine(t, simulator.Config{Procs: 100})
	submit(t, s, kthJobs(t)...)
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
}

func BenchmarkKTH(b *testing.B) {
	jobs := kthJobs(b)
	b.ReportAllocs()
	for b.Loop() {
		s := machine(b, simulator.Config{Procs: 100})
		submit(b, s, jobs...)
		if err := s.Advance(math.Inf(1), func(simulator.Event) {}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(jobs)*b.N)/b.Elapsed().Seconds(), "jobs/s")
}

// BenchmarkKTHParsed includes unpacking and parsing the log, and asks for the jobs one by one.
func BenchmarkKTHParsed(b *testing.B) {
	n := 0
	for b.Loop() {
		jobs := kthJobs(b)
		i := 0
		s := machine(b, simulator.Config{Procs: 100, Arrivals: func() (simulator.Job, bool) {
			if i == len(jobs) {
				return simulator.Job{}, false
			}
			i++
			return jobs[i-1], true
		}})
		if err := s.Advance(math.Inf(1), func(simulator.Event) {}); err != nil {
			b.Fatal(err)
		}
		n += len(jobs)
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "jobs/s")
}
