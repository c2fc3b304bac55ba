package pipeline

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/waitcast/waitcast/job/waittime"
)

// TestWindow proves that a window holds the newest forecasts, 901 to 1000 of them once there were so many, and counts them by the definitions of its figures.
func TestWindow(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	levels := waittime.Levels()
	type forecast struct {
		quantiles []float64
		wait      float64
	}
	var all []forecast
	var w window
	for n := 1; n <= 2345; n++ {
		f := forecast{wait: math.Floor(100 * rng.ExpFloat64() * float64(rng.IntN(2)))}
		q := 0.0
		for range levels {
			q += 40 * rng.Float64() * float64(rng.IntN(3))
			f.quantiles = append(f.quantiles, q)
		}
		all = append(all, f)
		w.add(levels, f.quantiles, f.wait)
		got := w.sum(len(levels))
		if got.N < int64(min(n, 901)) || got.N > int64(min(n, 1000)) {
			t.Fatalf("after %d forecasts the window has %d", n, got.N)
		}
		if n%67 != 0 {
			continue
		}
		for i, level := range levels {
			var below, hits int64
			loss := 0.0
			for _, f := range all[n-int(got.N):] {
				if f.wait < math.Floor(f.quantiles[i]) {
					below++
				}
				if f.wait <= math.Ceil(f.quantiles[i]) {
					hits++
				}
				d := math.Log(f.wait+60) - math.Log(f.quantiles[i]+60)
				loss += math.Max(level*d, (level-1)*d)
			}
			if got.Below[i] != below || got.UpTo[i] != hits || math.Abs(got.LogPinball[i]-loss) > 1e-9 {
				t.Fatalf("after %d, level %v: %d below, %d hits, loss %v; want %d, %d, %v", n, level, got.Below[i], got.UpTo[i], got.LogPinball[i], below, hits, loss)
			}
		}
	}
}

// TestWindowIsSaved proves that the windows outlive the process, that a ledger that an older program saved is read, and that a damaged window is not.
func TestWindowIsSaved(t *testing.T) {
	fresh := func() *clusterWriter { return newWriter(t, testConfig()) }
	l := fresh()
	defer l.close()
	for _, ev := range workload(t, 400, 5) {
		l.take(ev, "log", func() int64 { return 1 }, &output{})
	}
	data, err := l.ledger.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	restore := func(data []byte) (*ledger, error) {
		l := fresh()
		defer l.close()
		err := l.ledger.UnmarshalBinary(data)
		return l.ledger, err
	}
	again, err := restore(data)
	if err != nil {
		t.Fatal(err)
	}
	for queue, want := range l.ledger.newest() {
		if got := again.newest()[queue]; got == nil || want.N == 0 || got.N != want.N || got.LogPinball[2] != want.LogPinball[2] {
			t.Errorf("queue %s: %+v after, %+v before", queue, got, want)
		}
	}
	if len(again.recent) != 2 {
		t.Errorf("windows of %d queues, want 2", len(again.recent))
	}
	edit := func(change func(map[string]any)) []byte {
		var saved map[string]any
		decoded := json.Unmarshal(data, &saved)
		change(saved)
		out, err := json.Marshal(saved)
		if decoded != nil || err != nil {
			t.Fatal(decoded, err)
		}
		return out
	}
	old, err := restore(edit(func(saved map[string]any) { delete(saved, "recent") }))
	if err != nil || len(old.recent) != 0 || len(old.scores) == 0 {
		t.Errorf("saved by an older program: %v, %d windows, %d scores; want scores without windows", err, len(old.recent), len(old.scores))
	}
	for name, blocks := range map[string]any{"none": nil, "empty": []any{map[string]any{}}, "of one level": []any{Figures{N: 1, Below: []int64{0}, UpTo: []int64{0}, LogPinball: []float64{0}}}} {
		bad := edit(func(saved map[string]any) {
			saved["recent"].(map[string]any)["a"] = map[string]any{"blocks": blocks}
		})
		if _, err := restore(bad); (err == nil) != (name == "none") {
			t.Errorf("blocks %s: %v", name, err)
		}
	}
}
