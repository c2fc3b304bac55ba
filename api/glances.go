package api

import (
	"math"
	"sync"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/pipeline"
)

const (
	// mostTypical is the number of pairs of a queue and a size class, per cluster, for which a typical job is forecast.
	mostTypical = 200
	// scrapePatience is how long a scrape waits for a glance at the newest view before it tells of the one before.
	scrapePatience = 5 * time.Millisecond
	// glanceAge is how old, by the machine's clock, a glance may be that a scrape tells of: of an older one it waits for the next.
	glanceAge = time.Minute
)

// glance is what is told of one view that takes too long to work out within a scrape of a large cluster. It does not change.
type glance struct {
	view    *cluster.View
	made    time.Time // by the machine's clock
	typical []pipeline.Typical
	// forecasts are of the typical jobs, nil where none is possible.
	forecasts [][]float64
	// bursts are the jobs of the largest burst that is under way, by queue.
	bursts map[string]int
}

// glances keeps the newest glance at each cluster. One at a time is made of each, in the background, when somebody asks.
type glances struct {
	mu     sync.Mutex
	newest map[string]*glance
	making map[string]chan struct{} // closed when it is made
}

// of returns a glance at a view, or the one before it if that takes too long.
func (g *glances) of(v *pipeline.View, look func(*pipeline.View) *glance) *glance {
	newest, made := g.begin(v, look)
	if made == nil {
		return newest
	}
	if newest == nil || time.Since(newest.made) > glanceAge {
		<-made
	} else {
		timer := time.NewTimer(scrapePatience)
		defer timer.Stop()
		select {
		case <-made:
		case <-timer.C:
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.newest[v.Cluster]
}

// begin returns the newest glance. Where that is not at the view it sees to it that one is made, and returns what is closed then.
func (g *glances) begin(v *pipeline.View, look func(*pipeline.View) *glance) (*glance, <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.newest == nil {
		g.newest, g.making = map[string]*glance{}, map[string]chan struct{}{}
	}
	newest := g.newest[v.Cluster]
	if newest != nil && newest.view == v.View {
		return newest, nil
	}
	if made := g.making[v.Cluster]; made != nil {
		return newest, made
	}
	made := make(chan struct{})
	g.making[v.Cluster] = made
	go func() {
		defer close(made)
		fresh := look(v)
		g.mu.Lock()
		defer g.mu.Unlock()
		g.newest[v.Cluster] = fresh
		delete(g.making, v.Cluster)
	}()
	return newest, made
}

// glance looks at a view.
func (s *Server) glance(v *pipeline.View) *glance {
	g := &glance{view: v.View, made: time.Now(), typical: v.Typical(mostTypical)}
	now, _, _ := s.asOf(v)
	g.forecasts = make([][]float64, len(g.typical))
	for i := range g.typical {
		g.forecasts[i] = s.typicalWait(v, now, &g.typical[i])
	}
	g.bursts = v.Bursts(func(queue string) float64 {
		return s.analyses.of(v, queue, analysisAge, s.opts.Now).users.Flurry
	})
	return g
}

// typicalWait forecasts the wait of a typical job as GET /v1/wait does: +Inf is a level that is not reached, nil that no forecast is possible.
func (s *Server) typicalWait(v *pipeline.View, now time.Time, t *pipeline.Typical) []float64 {
	_, f, _, err := s.forecast(v, now, job.Attributes{Queue: t.Queue, Procs: t.Procs, TimeLimit: t.TimeLimit})
	if err != nil || f == nil || f.Quantiles == nil {
		return nil
	}
	out := make([]float64, len(f.Quantiles))
	for i, q := range f.Quantiles {
		if out[i] = q; pipeline.Forever(q) {
			out[i] = math.Inf(1)
		}
	}
	return out
}
