package readmodel

import (
	"slices"

	"github.com/waitcast/waitcast/pipeline/accuracy"
)

// MetricQueue returns the queue under which detailed metrics count a queue. That is the queue itself, or
// queuenames.Other if the queue has no detailed metrics.
func (v *View) MetricQueue(queue string) string { return v.Names.Metric(queue) }

// MetricQueues returns the queues of detailed metrics, sorted.
func (v *View) MetricQueues() []string {
	queues := v.Queues()
	for i, q := range queues {
		queues[i] = v.MetricQueue(q)
	}
	slices.Sort(queues)
	return slices.Compact(queues)
}

// MetricScores returns the scores, summed by the queues of detailed metrics. Errors cannot be summed, so a sum of
// several scores has none. Readers must not change the scores.
func (v *View) MetricScores() map[accuracy.Key]*accuracy.Score {
	return pooled(v.Scores, v.metricKey, accuracy.Sum)
}

// metricKey returns the key of detailed metrics under which a key counts.
func (v *View) metricKey(k accuracy.Key) accuracy.Key {
	return accuracy.Key{Queue: v.MetricQueue(k.Queue), Size: k.Size}
}

// MetricRecent returns the figures of the newest forecasts by the queues of detailed metrics. Readers must not change
// them.
func (v *View) MetricRecent() map[string]*accuracy.Figures {
	return pooled(v.Recent, v.MetricQueue, accuracy.SumFigures)
}

// MetricDecided returns the decided forecasts, summed by the queues of detailed metrics. The first result has all of
// them by queue and size, the second has the newest by queue. Readers must not change the results.
func (v *View) MetricDecided() (map[accuracy.Key]*accuracy.DecidedCounts, map[string]*accuracy.NewestDecided) {
	return pooled(v.Decided.Counts, v.metricKey, accuracy.SumDecided),
		pooled(v.Decided.Newest, v.MetricQueue, accuracy.SumNewest)
}

// MetricWaiting counts the waiting jobs with a forecast, by the queues of detailed metrics. Index 0 has live forecasts,
// index 1 replayed ones. It also counts, by level, the jobs that have waited longer than their quantile at the view's
// instant.
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

// pooled returns the values under new keys. Several values under one key are added up; a single value is kept.
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
