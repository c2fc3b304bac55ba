package pools

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/combin"

	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/forward"
	"github.com/waitcast/waitcast/predictor/residual"
)

// randomPool returns a pool of some hundred jobs at instant 0. In a pool of width 0 many small jobs of many users wait,
// and all jobs end near their limits, so that futures agree. In a pool of width 1 a few large jobs of few users wait,
// and most jobs end long before their limits.
func randomPool(rng *rand.Rand, width float64) *Facts {
	users, sizes, early := int(100*math.Pow(.04, width)), 4+int(3*width), .2+4*width
	waiting := 20 + int(400*(1-width)*rng.Float64())
	model := residual.New(residual.Config{})
	user := func() int { return rng.IntN(users) }
	limit := func() float64 { return math.Ceil(math.Exp(6 + 4*rng.Float64())) }
	for i := range 400 {
		j := residual.Job{User: fmt.Sprint("u", user()), Limit: limit()}
		model.Observe(j, float64(i), j.Limit*math.Exp(-.05-early*rng.Float64()))
	}
	f := &Facts{Procs: 400 + rng.IntN(400), policy: forward.EASY, Large: true}
	key, used := uint64(0), 0
	job := func(procs int) Member {
		key++
		u, l := user(), limit()
		return Member{key: key, group: uint64(u) + 1, Procs: procs, Limit: l, Queue: "q",
			Law: track.Sample(model.Law(residual.Job{User: fmt.Sprint("u", u), Limit: l}, 1000))}
	}
	for {
		j := job(1 << rng.IntN(3))
		if used+j.Procs > f.Procs {
			break
		}
		used += j.Procs
		j.Start = -j.Limit * rng.Float64() * .5
		f.Running = append(f.Running, j)
	}
	for range waiting {
		f.Waiting = append(f.Waiting, job(1<<rng.IntN(sizes)))
	}
	f.queued = f.Waiting
	return f
}

// tableOf makes the table of a pool with one queue.
func tableOf(f *Facts, cores int, hurry chan struct{}) *waitSurface {
	return makeTables(f, 0, map[int][]string{0: {"q"}}, waittime.Levels(), cores, hurry)["q"]
}

// playedOf simulates a number of futures of a pool, whatever their results.
func playedOf(t *testing.T, f *Facts, futures int, seed uint64) *forward.Surface {
	var s forward.State
	f.state(&s, 0)
	out, err := forward.NewSurface(t.Context(), &s,
		forward.SurfaceOptions{Replicas: futures, Seed: seed, Plain: true, Coarse: true, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestTablesArePrecise proves the promise of precision: in a pool in which not all futures were simulated, at least
// precisePart of the quantiles that its own jobs get have a standard error below preciseError. The true standard errors
// come from 496 other futures, as the root mean square error of tables of as many futures each. So a normal error is
// below twice preciseError with probability 0.954, at least. A pool may miss its promise by chance, so the mean over
// the pools counts.
func TestTablesArePrecise(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 28))
	var precise, near []float64
	full := 0
	for i := range 16 {
		f := randomPool(rng, float64(i%4)/3)
		table := tableOf(f, 2, nil)
		prefix(t, table, playedOf(t, f, replicas, 1))
		if table.replays == replicas {
			full++
			continue
		}
		standard, errors := errorsOf(t, f, table, playedOf(t, f, 496, 2))
		precise, near = append(precise, part(standard, preciseError)), append(near, part(errors, 2*preciseError))
	}
	t.Logf("%d of 16 tables have all futures; in the others %.3f of the quantiles are precise, and %.3f have errors "+
		"below two standard errors", full, precise, near)
	if len(precise) < 3 || full < 3 {
		t.Error("the test shows little")
	}
	if stat.Mean(precise, nil) < precisePart || stat.Mean(near, nil) < .954*precisePart {
		t.Error("fewer than promised")
	}
}

// errorsOf returns the true standard errors of the quantiles that the jobs of a pool get from a table. It also returns
// the errors of these quantiles. Both are on the scale ln(wait + 60 s).
func errorsOf(t *testing.T, f *Facts, table *waitSurface, truth *forward.Surface) (standard, errors []float64) {
	for _, job := range slices.Concat(f.Running, f.Waiting) {
		r := track.Request{Procs: job.Procs, Limit: job.Limit}
		got := table.find(&r)
		k, _ := table.index(&r)
		size, limit := table.sizes[k%len(table.sizes)], table.limits[k/len(table.sizes)]
		waits, err := truth.WaitsByReplica(size, finite(limit), nil)
		if err != nil || got == nil {
			t.Fatal(got, err)
		}
		sorted := slices.Sorted(slices.Values(waits))
		for l, level := range waittime.Levels() {
			want, squares, n := waittime.Log(QuantileOf(sorted, level)), 0., 0.
			for sample := range slices.Chunk(waits, table.replays) {
				off := waittime.Log(QuantileOf(slices.Sorted(slices.Values(sample)), level)) - want
				squares, n = squares+off*off, n+1
			}
			standard = append(standard, math.Sqrt(squares/n))
			errors = append(errors, math.Abs(waittime.Log(got.Quantiles[l])-want))
		}
	}
	return standard, errors
}

// part returns the part of values below a bound.
func part(values []float64, bound float64) float64 {
	n := 0.
	for _, v := range values {
		if v < bound {
			n++
		}
	}
	return n / float64(len(values))
}

// finite returns the limit of a request, 0 for none.
func finite(limit float64) float64 {
	if math.IsInf(limit, 1) {
		return 0
	}
	return limit
}

// prefix checks that a table has the first ones of all futures.
func prefix(t *testing.T, table *waitSurface, all *forward.Surface) {
	t.Helper()
	for k := range len(table.sizes) * len(table.limits) {
		want, err := all.WaitsByReplica(table.sizes[k%len(table.sizes)], finite(table.limits[k/len(table.sizes)]), nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range table.waits[k*table.replays:][:table.replays] {
			if got != float32(want[i]) {
				t.Fatalf("cell %d, future %d of %d: %v, among all futures %v", k, i, table.replays, got, want[i])
			}
		}
	}
}

// TestWorkersDoNotChangeTables proves that the number of futures of a table, and the table itself, do not depend on the
// number of goroutines or on a caller that waits.
func TestWorkersDoNotChangeTables(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	counts := map[int]bool{}
	for i := range 4 {
		f := randomPool(rng, float64(i%2))
		want := tableOf(f, 1, nil)
		counts[want.replays] = true
		waits := make(chan struct{})
		close(waits)
		for _, cores := range []int{2, 4, 30} {
			for _, hurry := range []chan struct{}{nil, waits} {
				if got := tableOf(f, cores, hurry); !equalTables(got, want) {
					t.Errorf("%d cores, hurry %v: another table, of %d futures instead of %d", cores, hurry != nil,
						got.replays, want.replays)
				}
			}
		}
	}
	if len(counts) < 2 {
		t.Errorf("numbers of futures %v: the test shows little", counts)
	}
}

// equalTables reports whether two tables are the same to the last bit. The entries of a cell without an answer are NaN.
func equalTables(a, b *waitSurface) bool {
	same := func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) }
	return a.replays == b.replays && slices.EqualFunc(a.cells, b.cells, same) &&
		slices.EqualFunc(a.waits, b.waits, same) && reflect.DeepEqual(a.requests, b.requests) &&
		reflect.DeepEqual(a.starts, b.starts)
}

// TestOrderError compares the standard error of an order statistic with that of all possible samples of four values.
func TestOrderError(t *testing.T) {
	values := []float64{1, 2, 4, 9}
	for k := range values {
		sum, squares, n := 0., 0., 0.
		for _, drawn := range combin.Cartesian([]int{4, 4, 4, 4}) {
			slices.Sort(drawn)
			x := values[drawn[k]]
			sum, squares, n = sum+x, squares+x*x, n+1
		}
		want := math.Sqrt(squares/n - sum/n*sum/n)
		if got := orderError(values, orderWeights(4, k)); math.Abs(got-want) > 1e-9 {
			t.Errorf("standard error of the value %d is %v, of all samples %v", k, got, want)
		}
	}
}
