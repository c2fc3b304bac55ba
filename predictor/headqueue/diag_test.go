package headqueue_test

import (
	"math"
	"os"
	"sort"

	"github.com/waitcast/waitcast/simulator"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/predictor/headqueue"
)

type ecdf struct{ v []float64; sorted bool }

func (e *ecdf) Survival(t float64) float64 {
	if !e.sorted { sort.Float64s(e.v); e.sorted = true }
	return 1 - float64(sort.SearchFloat64s(e.v, math.Nextafter(t, 1e300)))/float64(len(e.v))
}

var diag = map[any]*ecdf{}

func bucket(j *simulator.Job) any {
	switch os.Getenv("DIAG") {
	case "class":
		return [2]any{j.Queue, job.Class(j.Procs)}
	case "size":
		return [2]any{j.Queue, int(math.Log2(float64(j.Procs)))}
	case "limit":
		return [2]any{int(4*math.Log2(j.Estimate+1)), job.Class(j.Procs)}
	}
	return nil
}

func diagEnded(j *simulator.Job) {
	k := bucket(j)
	if diag[k] == nil { diag[k] = &ecdf{} }
	diag[k].v = append(diag[k].v, j.End-j.Start)
	diag[k].sorted = false
}
func diagOf(j *simulator.Job) headqueue.Lifetime {
	if os.Getenv("DIAG") == "oracle" {
		return oracle(j.Runtime)
	}
	if os.Getenv("DIAG") == "" { return nil }
	if e := diag[bucket(j)]; e != nil && len(e.v) > 30 { return e }
	return nil
}
type oracle float64
func (o oracle) Survival(t float64) float64 { if t < float64(o) { return 1 }; return 0 }
