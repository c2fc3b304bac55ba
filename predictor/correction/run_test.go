package correction_test

import (
	"container/heap"
	"math"
	"testing"

	"github.com/waitcast/waitcast/predictor/blend"
	"github.com/waitcast/waitcast/predictor/correction"
	"github.com/waitcast/waitcast/predictor/coverage"
)

// outcome holds the results of a run over a trace.
type outcome struct {
	n               float64
	expert          [experts][]float64 // by expert and level: the mean log-pinball loss
	blended, served []float64
	raw, corrected  coverage.Report
}

// run blends and corrects the rows of a trace, and scores the results of the jobs after the first tenth.
func run(t testing.TB, rows []row, res float64, bc blend.Config) outcome {
	t.Helper()
	bc.Levels = levels()
	bc.Priors = []float64{8, 2, 1, 1, 1}
	b, err := blend.New(bc)
	if err != nil {
		t.Fatal(err)
	}
	c, err := correction.New(correction.Config{Levels: levels()})
	if err != nil {
		t.Fatal(err)
	}
	score, serve := newScore(t, res), newScore(t, res)
	out := outcome{blended: make([]float64, len(levels())), served: make([]float64, len(levels()))}
	for k := range out.expert {
		out.expert[k] = make([]float64, len(levels()))
	}
	var todo events
	z, raw, q := make([]float64, len(levels())), make([]float64, len(levels())), make([]float64, len(levels()))
	for i := range rows {
		r := &rows[i]
		for len(todo) > 0 && todo[0].at < r.submit {
			e := heap.Pop(&todo).(event)
			learn(b, c, &rows[e.job], e.at)
		}
		heap.Push(&todo, event{at: r.submit + r.wait, job: i})
		if !b.Combine(r.groups, r.z, z) {
			continue
		}
		for l := range z {
			raw[l] = math.Exp(z[l]) - 60
			if raw[l] < .5 {
				raw[l] = 0
			}
		}
		of := correction.Job{Queue: r.groups[1], User: r.user}
		c.Correct(of, raw, q)
		c.Watch(r.id, r.submit, of, raw, q)
		if r.ran && i >= len(rows)/10 {
			out.add(r, z, q)
			if score.Add(r.submit, r.wait, raw) != nil || serve.Add(r.submit, r.wait, q) != nil {
				t.Fatalf("job %d is not scored: %v %v", r.id, raw, q)
			}
		}
	}
	out.raw, out.corrected = score.Report(), serve.Report()
	return out
}

func newScore(t testing.TB, res float64) *coverage.Score {
	t.Helper()
	s, err := coverage.New(coverage.Config{Levels: levels(), Resolution: res})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func learn(b *blend.Blend, c *correction.Correction, r *row, at float64) {
	if !r.ran {
		c.Cancelled(r.id, at)
		return
	}
	c.Started(r.id, at)
	b.Learn(r.groups, r.z, math.Log(r.wait+60))
}

// add scores one job. An expert without a forecast is scored by the blend's forecast.
func (o *outcome) add(r *row, z, q []float64) {
	o.n++
	y := math.Log(r.wait + 60)
	for l, p := range levels() {
		mean := func(v *float64, x float64) { *v += (x - *v) / o.n }
		mean(&o.blended[l], pinball(p, y, z[l]))
		mean(&o.served[l], pinball(p, y, math.Log(q[l]+60)))
		for k := range o.expert {
			f := r.z[l*experts+k]
			if math.IsNaN(f) {
				f = z[l]
			}
			mean(&o.expert[k][l], pinball(p, y, f))
		}
	}
}

// TestRealWaits proves on real waits, with simple experts and trees that are trained as the waits come, that the blend
// is at most 2 % above the best single expert at every level. The corrected forecasts cover their levels, at no more
// than 2 % above the blend's loss.
func TestRealWaits(t *testing.T) {
	if testing.Short() {
		t.Skip("real waits: left out of short runs")
	}
	for _, c := range []struct {
		file string
		res  float64
	}{{"KTH-SP2-1996-2.1-cln.swf.gz", 60}, {"SDSC-Par-1996-3.1-cln.swf.gz", 1}} {
		rows := forecasts(t, readTrace(t, c.file, 10000))
		o := run(t, rows, c.res, blend.Config{})
		t.Logf("%s: %g jobs\nexperts %.3f\nblended %.4f\nserved  %.4f", c.file, o.n, o.expert, o.blended, o.served)
		for l, p := range levels() {
			for k, name := range expertNames() {
				if o.blended[l] > 1.02*o.expert[k][l] {
					t.Errorf("%s, level %g: the blend's loss %.4f is above %.4f of %s", c.file, p, o.blended[l],
						o.expert[k][l], name)
				}
			}
			if o.served[l] > 1.02*o.blended[l] {
				t.Errorf("%s, level %g: the correction raises the loss from %.4f to %.4f", c.file, p,
					o.blended[l], o.served[l])
			}
		}
		if !o.corrected.Pass {
			t.Errorf("%s: all %+v\nlong %+v\nmonths %.3f", c.file, o.corrected.All, o.corrected.Long,
				o.corrected.Share)
		}
	}
}
