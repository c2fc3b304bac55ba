package correction_test

import (
	"container/heap"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"testing"

	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/predictor/boost"
	"github.com/waitcast/waitcast/predictor/linear"
	"github.com/waitcast/waitcast/predictor/qbets"
	"github.com/waitcast/waitcast/swf"
)

func levels() []float64 { return []float64{.1, .25, .5, .75, .9, .95} }

// These experts are simple, but enough to test on real waits what blending and calibration promise.
const (
	byTrees = iota
	byLinear
	byQBETS
	byRecent
	byUser
	experts
)

func expertNames() []string { return []string{"trees", "linear", "qbets", "recent", "user"} }

// row is one job with each expert's forecast at its submission.
type row struct {
	id           int64
	submit, wait float64
	ran          bool
	groups       []string
	user         string
	z            []float64 // index: level*experts + expert
	x            []float64 // features
}

// event is the instant at which a job leaves the queue (by its start or its cancellation), or its end if end is set.
type event struct {
	at  float64
	end bool
	job int
}

type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at < e[j].at }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	old := *e
	x := old[len(old)-1]
	*e = old[:len(old)-1]
	return x
}

// replay makes the rows of a trace. It learns about a job at the job's start, never before.
type replay struct {
	recs    []swf.Record
	rows    []row
	keys    []string
	todo    events
	queued  map[int]bool
	running float64
	recent  map[string][]float64
	user    map[int64]float64
	last    map[string]float64
	bounds  map[string]*qbets.Series
	lin     *linear.Model
	trees   []*boost.Model
	known   []int // jobs that started, in order
	trainAt int
	err     error
}

func readTrace(t testing.TB, name string, most int) []swf.Record {
	t.Helper()
	f, err := swf.Open(refdata.Shared(t, "traces/"+name))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var out []swf.Record
	for len(out) < most {
		var r swf.Record
		err := f.Next(&r)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if r.Wait >= 0 && r.Submit >= 0 {
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b swf.Record) int { return int(a.Submit - b.Submit) })
	return out
}

func forecasts(t testing.TB, recs []swf.Record) []row {
	t.Helper()
	lin, err := linear.New(linear.Config{Levels: levels(), Features: 14})
	if err != nil {
		t.Fatal(err)
	}
	p := &replay{recs: recs, lin: lin, queued: map[int]bool{}, recent: map[string][]float64{},
		user: map[int64]float64{}, last: map[string]float64{}, bounds: map[string]*qbets.Series{}, trainAt: 1000}
	for i := range recs {
		p.submit(i)
		if p.err != nil {
			t.Fatal(p.err)
		}
	}
	return p.rows
}

func (p *replay) submit(i int) {
	r := &p.recs[i]
	now := float64(r.Submit)
	for len(p.todo) > 0 && p.todo[0].at < now {
		p.happen(heap.Pop(&p.todo).(event))
	}
	procs := float64(max(r.Procs(), 1))
	size := fmt.Sprint("size ", qbets.Size(int(procs)))
	queue := fmt.Sprint("queue ", r.Queue, r.Partition)
	key := queue + size
	p.keys = append(p.keys, key)
	row := row{id: int64(i), submit: now, wait: float64(r.Wait), ran: r.Ran(), groups: []string{size, queue},
		user: fmt.Sprint(r.User)}
	row.x = p.features(r, now, procs, key)
	row.z = p.say(&row, r, key)
	p.rows = append(p.rows, row)
	p.queued[i] = true
	heap.Push(&p.todo, event{at: now + row.wait, job: i})
}

func (p *replay) features(r *swf.Record, now, procs float64, key string) []float64 {
	jobs, work, oldest, similar := 0.0, 0.0, 0.0, 0.0
	for j := range p.queued {
		o := &p.recs[j]
		jobs++
		work += float64(max(o.Procs(), 1))
		oldest = max(oldest, now-float64(o.Submit))
		if p.keys[j] == key {
			similar = max(similar, now-float64(o.Submit))
		}
	}
	mine := math.NaN()
	if w, ok := p.user[r.User]; ok {
		mine = w
	}
	last := math.NaN()
	if w, ok := p.last[key]; ok {
		last = w
	}
	hour := math.Mod(now, 86400) / 86400 * 2 * math.Pi
	return []float64{math.Log(procs), math.Log(max(float64(r.TimeLimit), 1)), math.Log(1 + jobs), math.Log(1 + work),
		math.Log(60 + oldest),
		math.Log(60 + similar), p.running, p.running + procs, mine, last, math.Sin(hour), math.Cos(hour),
		float64(r.Queue), float64(r.Partition)}
}

// say returns the forecasts of all experts for a job, indexed as row.z. They are NaN where an expert has no forecast.
func (p *replay) say(row *row, r *swf.Record, key string) []float64 {
	z := make([]float64, experts*len(levels()))
	for i := range z {
		z[i] = math.NaN()
	}
	lin := make([]float64, len(levels()))
	linear := p.lin.N() > 50 && p.lin.Predict(row.x, lin)
	recent := slices.Clone(p.recent[key])
	slices.Sort(recent)
	for l, level := range levels() {
		at := z[l*experts:]
		if p.trees != nil {
			at[byTrees] = p.trees[l].Predict(boost.NewRow(row.x))
		}
		if linear {
			at[byLinear] = lin[l]
		}
		if s := p.bounds[key]; s != nil {
			if b, ok := s.Bound(level); ok {
				at[byQBETS] = math.Log(b + 60)
			}
		}
		if len(recent) >= 5 {
			at[byRecent] = recent[int(level*float64(len(recent)))]
		}
		if w, ok := p.user[r.User]; ok {
			at[byUser] = w
		}
	}
	return z
}

func (p *replay) happen(e event) {
	r, row := &p.recs[e.job], &p.rows[e.job]
	procs := float64(max(r.Procs(), 1))
	if e.end {
		p.running -= procs
		return
	}
	delete(p.queued, e.job)
	if !row.ran {
		return
	}
	p.running += procs
	heap.Push(&p.todo, event{at: e.at + float64(max(r.Runtime, 0)), job: e.job, end: true})
	z, key := math.Log(row.wait+60), p.keys[e.job]
	p.lin.Learn(row.x, z)
	p.user[r.User], p.last[key] = z, z
	p.recent[key] = append(p.recent[key], z)
	if n := len(p.recent[key]); n > 200 {
		p.recent[key] = p.recent[key][n-200:]
	}
	if p.bounds[key] == nil {
		p.bounds[key], p.err = qbets.New(qbets.Config{})
	}
	p.bounds[key].Add(row.wait)
	p.known = append(p.known, e.job)
	if len(p.known) >= p.trainAt {
		p.train()
		p.trainAt = p.trainAt*3/2 + 500
	}
}

func (p *replay) train() {
	cols := make([][]float64, len(p.rows[0].x))
	target := make([]float64, len(p.known))
	for i, j := range p.known {
		target[i] = math.Log(p.rows[j].wait + 60)
		for f, v := range p.rows[j].x {
			cols[f] = append(cols[f], v)
		}
	}
	data, err := boost.NewData(cols, target, nil, 0)
	if err != nil {
		p.err = err
		return
	}
	p.trees = p.trees[:0]
	for _, level := range levels() {
		m, err := new(boost.Trainer).Train(data, level,
			boost.Params{Trees: 60, Leaves: 16, Rate: .12, RowShare: .5, FeatureShare: .7})
		if err != nil {
			p.err = err
			return
		}
		p.trees = append(p.trees, m)
	}
}

func pinball(p, y, q float64) float64 { return max(p*(y-q), (p-1)*(y-q)) }
