package api

import (
	"slices"
	"sync"
	"time"

	"github.com/waitcast/waitcast/api/ask"
	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

const (
	// mostTypical is the maximum number of typical jobs of a cluster that are forecast, one for each queue and size
	// class.
	mostTypical = 200
	// scrapePatience is how long a scrape waits for the summary of the newest view. After that it reports the
	// previous one.
	scrapePatience = 5 * time.Millisecond
	// summaryAge is the maximum age, by the machine's clock, of a summary that a scrape reports. If the summary is
	// older, the scrape waits for the next one.
	summaryAge = time.Minute
	// analysisAge is the maximum age of the analysis of a history for metrics. Without it every scrape would cost a
	// pass over every history.
	analysisAge = time.Minute
)

// scrapeSummary caches metrics of one view that are too slow to compute during a scrape of a large cluster. It is
// immutable.
type scrapeSummary struct {
	view    *cluster.View
	made    time.Time // by the machine's clock
	typical []readmodel.Typical
	// forecasts has, for each job of typical, the quantiles of its wait at waittime.Levels() in seconds, or nil if no
	// forecast is possible.
	forecasts [][]float64
	// bursts has the number of jobs in the largest current burst, by queue.
	bursts map[string]int
}

// scrapeSummaries keeps the newest summary of each cluster. Requests start the computation of the next summary in the
// background, one at a time per cluster.
type scrapeSummaries struct {
	service *ask.Service
	mu      sync.Mutex
	newest  map[string]*scrapeSummary
	making  map[string]chan struct{} // closed when the summary is finished
}

func newScrapeSummaries(service *ask.Service) *scrapeSummaries {
	return &scrapeSummaries{service: service, newest: map[string]*scrapeSummary{}, making: map[string]chan struct{}{}}
}

// of returns the newest summary of a view's cluster. If the summary is of another view, of waits for the next one, at
// most scrapePatience, or without a limit if there is no summary yet or it is older than summaryAge. The next one may
// be of an earlier view than v, if its computation had already begun.
func (g *scrapeSummaries) of(v *readmodel.View) *scrapeSummary {
	newest, made := g.begin(v)
	if made == nil {
		return newest
	}
	if newest == nil || time.Since(newest.made) > summaryAge {
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

// begin returns the newest summary, nil if there is none. If there is none or it belongs to another view, begin also
// returns a channel that is closed when a newer summary has been computed. It starts this computation unless one
// already runs for the cluster.
func (g *scrapeSummaries) begin(v *readmodel.View) (*scrapeSummary, <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
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
		fresh := summarize(g.service, v)
		g.mu.Lock()
		defer g.mu.Unlock()
		g.newest[v.Cluster] = fresh
		delete(g.making, v.Cluster)
	}()
	return newest, made
}

// summarize computes the summary of a view.
func summarize(service *ask.Service, v *readmodel.View) *scrapeSummary {
	g := &scrapeSummary{view: v.View, made: time.Now(), typical: v.Typical(mostTypical)}
	g.typical = slices.DeleteFunc(g.typical, func(t readmodel.Typical) bool {
		return v.MetricQueue(t.Queue) != t.Queue
	})
	now, _, _ := service.AsOf(v)
	g.forecasts = make([][]float64, len(g.typical))
	for i := range g.typical {
		g.forecasts[i] = service.TypicalWait(v, now, &g.typical[i])
	}
	g.bursts = v.Bursts(func(queue string) float64 {
		return service.Analysis(v, queue, analysisAge).Users.Flurry
	})
	return g
}
