package readmodel

import (
	"slices"

	"github.com/waitcast/waitcast/pipeline/accuracy"
)

// MetricQueue returns the queue under which detailed metrics count the jobs of a queue: the queue itself, or
// queuenames.Other if the queue has no detailed metrics.
func (v *View) MetricQueue(queue string) string { return v.Names.Metric(queue) }

// MetricQueues returns the names of the queues in detailed metrics, sorted.
func (v *View) MetricQueues() []string {
	queues := v.Queues()
	for i, q := range queues {
		queues[i] = v.MetricQueue(q)
	}
	slices.Sort(queues)
	return slices.Compact(queues)
}

// MetricScores returns the scores by the queues of detailed metrics. A sum of several scores has no Errors, because
// these cannot be summed. Readers must not change the scores.
func (v *View) MetricScores() map[accuracy.Key]*accuracy.Score {
	return pooled(v.Scores, v.metricKey, accuracy.Sum)
}

// metricKey returns the key k with the queue of detailed metrics.
func (v *View) metricKey(k accuracy.Key) accuracy.Key {
	return accuracy.Key{Queue: v.MetricQueue(k.Queue), Size: k.Size}
}

// MetricRecent returns the figures of the newest scored forecasts, by the queues of detailed metrics. Readers must not
// change them.
func (v *View) MetricRecent() map[string]*accuracy.Figures {
	return pooled(v.Recent, v.MetricQueue, accuracy.SumFigures)
}

// MetricDecided returns the counts of decided forecasts by the queues of detailed metrics: of all forecasts by queue
// and size, and of the newest forecasts by queue. Readers must not change the results.
func (v *View) MetricDecided() (map[accuracy.Key]*accuracy.DecidedCounts, map[string]*accuracy.NewestDecided) {
	return pooled(v.Decided.Counts, v.metricKey, accuracy.SumDecided),
		pooled(v.Decided.Newest, v.MetricQueue, accuracy.SumNewest)
}

// MetricWaiting returns, by the queues of detailed metrics, the number of waiting jobs with a forecast, and by level
// the number of those that have waited longer than their quantile at the instant of the view. Index 0 is for live
// forecasts, index 1 for replayed ones.
func (v *View) MetricWaiting() map[string]*[2]accuracy.WaitingPast {
	out := map[string]*[2]accuracy.WaitingPast{}
	for _, w := range v.OpenForecasts {
		queue := v.MetricQueue(w.Queue)
		if out[queue] == nil {
			out[queue] = accuracy.NewWaitingByMade()
		}
		out[queue][accuracy.MadeIndex(w.Replayed)].Add(w, v.At)
	}
	return out
}

// pooled returns the values under the keys that rename returns. If several values get one key, sum adds them up; a
// single value is returned itself.
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
