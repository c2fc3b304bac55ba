package ask

import (
	"math"
	"sync"
	"time"
	"weak"

	"github.com/waitcast/waitcast/pipeline/livemodels"
	"github.com/waitcast/waitcast/pipeline/readmodel"

	"github.com/waitcast/waitcast/cluster"
)

// Analysis has the statistics of a queue that need a pass over its history.
type Analysis struct {
	// view is a weak pointer, so that old views do not stay in memory.
	view   weak.Pointer[cluster.View]
	made   time.Time // by the wall clock
	Users  *readmodel.Analysis
	Lublin livemodels.LublinFit
	KS     []float64 // by class, as distances returns them
}

// analyses caches the newest analysis of every queue. An analysis of a full history takes about 100 ms. So analyses are
// made on demand, one at a time, and once per view.
type analyses struct {
	mu      sync.Mutex
	newest  map[[2]string]*Analysis
	growths map[[2]string]dated
}

// dated is the growth of a queue in its history, with the event time at which it was computed.
type dated struct {
	readmodel.Growth
	at time.Time
}

// growthAge is the event time for which a growth is cached. A growth changes only once a week.
const growthAge = time.Hour

// saturation returns the saturation of a queue, or of the cluster if queue is empty. All answers and metrics use this
// method, so that they agree.
func (a *analyses) saturation(v *readmodel.View, queue string) readmodel.Saturation {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.growths == nil {
		a.growths = map[[2]string]dated{}
	}
	key := [2]string{v.Cluster, queue}
	g, ok := a.growths[key]
	if age := v.At.Sub(g.at); !ok || age < 0 || age >= growthAge {
		g = dated{v.Growth(queue), v.At}
		a.growths[key] = g
	}
	return v.Saturation(queue, g.Growth)
}

// of returns the analysis of a queue of a view, or an older one that was made less than maxAge ago.
func (a *analyses) of(v *readmodel.View, queue string, maxAge time.Duration, now func() time.Time) *Analysis {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.newest == nil {
		a.newest = map[[2]string]*Analysis{}
	}
	key := [2]string{v.Cluster, queue}
	if k := a.newest[key]; k != nil && (k.view == weak.Make(v.View) || maxAge > 0 && now().Sub(k.made) < maxAge) {
		return k
	}
	k := &Analysis{view: weak.Make(v.View), made: now(), Users: v.Analyze(queue), Lublin: v.LublinOf(queue),
		KS: distances(v.Models.Queue(queue))}
	a.newest[key] = k
	return k
}

// distances returns, for each class, the Kolmogorov-Smirnov distance of its lifetimes to the uniform-log law that is
// fitted to them; NaN without a law. It passes over all lifetimes that are kept.
func distances(m *livemodels.QueueView) []float64 {
	out := make([]float64, len(livemodels.Classes()))
	for i := range out {
		out[i] = math.NaN()
		if m != nil && m.Lifetimes[i].Err == nil {
			out[i] = m.Lifetimes[i].Sample.KS(m.Lifetimes[i].Law.Model)
		}
	}
	return out
}
