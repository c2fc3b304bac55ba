package simulator_test

import (
	"cmp"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/waitcast/waitcast/simulator"
	"github.com/waitcast/waitcast/simulator/swfload"
	"github.com/waitcast/waitcast/workload/hypergamma"
)

var updateSchedules = flag.Bool("schedules.update", false, "write testdata/schedules.csv anew")

// schedulesFile has the hashes of schedules. The hash of a schedule is the SHA-256 of a line "number start\n" for each
// job in the order of their numbers, with starts in seconds from the log's beginning.
const schedulesFile = "testdata/schedules.csv"

// hashStarts returns the hash of starts by job number.
func hashStarts(starts map[int64]float64) string {
	sum := sha256.New()
	var numbers []int64
	for n := range starts {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	for _, n := range numbers {
		fmt.Fprintf(sum, "%d %s\n", n, strconv.FormatFloat(starts[n], 'f', -1, 64))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// schedule simulates jobs and returns their starts.
func schedule(t *testing.T, jobs []simulator.Job, procs int, policy simulator.Policy) map[int64]float64 {
	t.Helper()
	s := machine(t, simulator.Config{Procs: procs, Policy: policy, Order: simulator.SubmitsFirst,
		Arrivals: simulator.FromSlice(jobs)})
	starts := map[int64]float64{}
	if err := s.Advance(math.Inf(1), func(e simulator.Event) {
		if e.Kind == simulator.Started {
			starts[e.Job.ID] = e.Job.Start
		}
	}); err != nil {
		t.Fatal(err)
	}
	return starts
}

// lublinJobs returns 10,000 jobs of the program of Lublin and Feitelson on 128 processors, with arrivals 1.5 times as
// fast. The limits are up to 8 times the runtime, in whole minutes.
func lublinJobs(t *testing.T) []simulator.Job {
	t.Helper()
	sets, err := hypergamma.Named("lublin99", 128)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	g, err := hypergamma.New(rng, sets...)
	if err != nil {
		t.Fatal(err)
	}
	jobs := make([]simulator.Job, 10_000)
	for i := range jobs {
		j := g.Next()
		runtime := math.Floor(j.Runtime)
		jobs[i] = simulator.Job{ID: int64(i + 1), Submit: math.Floor(j.Submit / 1.5), Procs: j.Procs, Runtime: runtime,
			Estimate: 60 * math.Ceil(runtime*math.Exp2(3*rng.Float64())/60)}
	}
	return jobs
}

// TestSchedules proves that the schedules of every log at hand, and of a generated workload that needs no log, are
// those of testdata/schedules.csv, to the second. So the test fails if a change of the simulator moves one start. The
// hashes of KTH come from pyss. The others come from the simulator itself: they prove that it has not changed, not
// that it is right.
func TestSchedules(t *testing.T) {
	names := []string{"generated", "KTH-SP2-1996-2.1-cln", "NASA-iPSC-1993-3.1-cln",
		"DOST-ASTI_COARE-Saliksik-2020-cln",
		"SDSC-Par-1996-3.1-cln", "SDSC-SP2-1998-4.2-cln", "CTC-SP2-1996-3.1-cln", "LANL-CM5-1994-4.1-cln"}
	got := map[[2]string][]string{}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			large := slices.Contains(names[5:], name)
			if large && os.Getenv("WAITCAST_LONG") == "" && !*updateSchedules {
				t.Skip("WAITCAST_LONG=1 schedules the large logs too")
			}
			jobs, procs := []simulator.Job(nil), 128
			if name == "generated" {
				jobs = lublinJobs(t)
			} else {
				trace := load(t, name, swfload.Pyss)
				jobs, procs = trace.Jobs, trace.Procs
			}
			for policy, p := range policies() {
				starts := schedule(t, jobs, procs, p)
				hash := hashStarts(starts)
				got[[2]string{name, policy}] = []string{name, policy, strconv.Itoa(len(starts)), hash}
				if name != "KTH-SP2-1996-2.1-cln" {
					continue
				}
				theirs := map[int64]float64{}
				for n, row := range readReference(t, "kth-sp2-"+policy+".csv.gz") {
					theirs[n] = row[2]
				}
				if hash != hashStarts(theirs) {
					t.Errorf("%s: the hash is not that of pyss", policy)
				}
			}
		})
	}
	if *updateSchedules {
		writeSchedules(t, names, got)
		return
	}
	file, err := os.Open(schedulesFile)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil || len(rows) != 1+len(names)*len(policies()) {
		t.Fatalf("%d rows (%v)", len(rows), err)
	}
	for _, row := range rows[1:] {
		if now := got[[2]string{row[0], row[1]}]; now != nil && !slices.Equal(now, row) {
			t.Errorf("the schedule is %v, want %v", now, row)
		}
	}
}

func writeSchedules(t *testing.T, names []string, got map[[2]string][]string) {
	t.Helper()
	rows := [][]string{{"trace", "policy", "jobs", "sha256"}}
	for _, row := range got {
		rows = append(rows, row)
	}
	slices.SortFunc(rows[1:], func(a, b []string) int {
		return cmp.Or(slices.Index(names, a[0])-slices.Index(names, b[0]), cmp.Compare(a[1], b[1]))
	})
	file, err := os.Create(schedulesFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := csv.NewWriter(file).WriteAll(rows); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}
