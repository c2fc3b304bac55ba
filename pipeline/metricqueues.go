package pipeline

import (
	"maps"
	"slices"

	"github.com/waitcast/waitcast/pipeline/accuracy"
)

// detailedQueues is the number of queues that have all metrics: a queue has some 370 series. The figures of all further queues are summed up under
// OtherQueue. 64 queues are 2 MB of text.
const detailedQueues = 64

// detail gives a queue all metrics if there is room.
func (n *queueNames) detail(name string) {
	if n.detailed == nil || n.detailed[name] || len(n.detailed) >= detailedQueues+2 { // with the default and the other queue
		return
	}
	n.detailed = maps.Clone(n.detailed) // views have the old one
	n.detailed[name] = true
}

// metricQueue returns the queue under which detailed metrics count a queue: itself, or OtherQueue. Without detailed every queue has its own.
func metricQueue(detailed map[string]bool, queue string) string {
	if detailed == nil || detailed[queue] {
		return queue
	}
	return OtherQueue
}

// MetricQueue returns the queue under which detailed metrics count a queue: itself, or OtherQueue for one of too many queues.
func (v *View) MetricQueue(queue string) string { return metricQueue(v.detailed, queue) }

// MetricQueues returns the queues of detailed metrics, sorted.
func (v *View) MetricQueues() []string {
	queues := v.Queues()
	for i, q := range queues {
		queues[i] = v.MetricQueue(q)
	}
	slices.Sort(queues)
	return slices.Compact(queues)
}

// MetricScores returns the scores by the queues of detailed metrics. Of errors OtherQueue has its own alone. Readers must
// not change them.
func (v *View) MetricScores() map[accuracy.Key]*accuracy.Score {
	rename := func(k accuracy.Key) accuracy.Key { return accuracy.Key{Queue: v.MetricQueue(k.Queue), Size: k.Size} }
	return pooled(v.Scores, rename, accuracy.Sum)
}

// MetricRecent returns how the newest forecasts turned out by the queues of detailed metrics. Readers must not change
// them.
func (v *View) MetricRecent() map[string]*accuracy.Figures {
	return pooled(v.Recent, v.MetricQueue, accuracy.SumFigures)
}

// pooled returns the values under new keys: several under one key are summed, a single one is kept as it is.
func pooled[K comparable, V any](values map[K]V, rename func(K) K, sum func([]V) V) map[K]V {
	groups := make(map[K][]V, len(values))
	for key, value := range values {
		groups[rename(key)] = append(groups[rename(key)], value)
	}
	out := make(map[K]V, len(groups))
	for key, group := range groups {
		out[key] = group[0]
		if len(group) > 1 {
			out[key] = sum(group)
		}
	}
	return out
}
