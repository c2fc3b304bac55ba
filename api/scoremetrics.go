package api

import (
	"github.com/waitcast/waitcast/api/ask"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/pipeline/accuracy"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// scoreMetrics are those of how forecasts turned out, beside those of other methods.
type scoreMetrics struct {
	scored           counter
	scoredLive       counter
	censored         counter
	impossible       counter
	logPinball       counter
	medianError      gauge
	recent           gauge
	recentLogPinball gauge
	peerScored       counter
	peerLogPinball   counter
	servedLogPinball counter
}

func newScoreMetrics(s *metricSet) scoreMetrics {
	return scoreMetrics{
		scored: s.counter("forecasts_scored_total", "Forecasts whose jobs have started.", "cluster", "queue", "size"),
		scoredLive: s.counter("forecasts_scored_live_total",
			"Those of them that were made as it happened, not from history.", "cluster", "queue", "size"),
		censored: s.counter("forecasts_censored_total",
			"Forecasts whose jobs left the queue without a start.", "cluster", "queue", "size"),
		impossible: s.counter("forecasts_impossible_total",
			"Jobs that started without a forecast because none was possible.", "cluster", "queue", "size"),
		logPinball: s.counter("forecasts_log_pinball_total",
			"Sum of the pinball loss of ln(wait + 60 s) over scored forecasts.", "cluster", "queue", "size", "level"),
		medianError: s.gauge("forecasts_median_error_seconds",
			"Median absolute error of the median over the newest 1000 scored forecasts.", "cluster", "queue", "size"),
		recent: s.gauge("forecasts_recent",
			"Forecasts among the newest scored ones of a queue: up to 1000.", "cluster", "queue"),
		recentLogPinball: s.gauge("forecasts_recent_log_pinball",
			"Mean pinball loss of ln(wait + 60 s) of the newest scored forecasts.", "cluster", "queue", "level"),
		peerScored: s.counter("peer_forecasts_scored_total",
			"Scored forecasts for which another method had an answer, too.", "cluster", "queue", "peer"),
		peerLogPinball: s.counter("peer_forecasts_log_pinball_total",
			"Sum of the pinball loss of ln(wait + 60 s) of the other method.", "cluster", "queue", "peer", "level"),
		servedLogPinball: s.counter("peer_forecasts_served_log_pinball_total",
			"The same sum of the forecast itself, over the same jobs.", "cluster", "queue", "peer", "level"),
	}
}

// collect sends the scores of a cluster. A queue that is known has all its series from the beginning.
func (m *scoreMetrics) collect(ch scrape, v *readmodel.View) {
	none := accuracy.NewScore(len(waittime.Levels()))
	scores, recent := v.MetricScores(), v.MetricRecent()
	for _, queue := range v.MetricQueues() {
		m.collectRecent(ch, v.Cluster, queue, recent[queue])
		for _, size := range v.SizesOf(queue) {
			if key := (accuracy.Key{Queue: queue, Size: size}); scores[key] == nil {
				m.collectScore(ch, v.Cluster, key, none)
			}
		}
	}
	for key, s := range scores {
		m.collectScore(ch, v.Cluster, key, s)
	}
	m.collectPeers(ch, v.Cluster, accuracy.ByQueue(scores))
}

// collectScore sends how the forecasts of a queue and size class turned out.
func (m *scoreMetrics) collectScore(ch scrape, cluster string, key accuracy.Key, s *accuracy.Score) {
	labels := []string{cluster, key.Queue, key.Size}
	ch.counter(m.scored, float64(s.N), labels...)
	ch.counter(m.scoredLive, float64(s.Live), labels...)
	ch.counter(m.censored, float64(s.Censored), labels...)
	ch.counter(m.impossible, float64(s.Unforecast), labels...)
	for i, level := range waittime.Levels() {
		ch.counter(m.logPinball, s.LogPinball[i], append(labels[:3:3], ask.LevelName(level))...)
	}
	if len(s.Errors) > 0 {
		ch.gauge(m.medianError, s.MedianError(), labels...)
	}
}

// collectRecent sends how the newest scored forecasts of a queue turned out; f is nil where there are none.
func (m *scoreMetrics) collectRecent(ch scrape, cluster, queue string, f *accuracy.Figures) {
	if f == nil || f.N == 0 {
		ch.gauge(m.recent, 0, cluster, queue)
		return
	}
	n := float64(f.N)
	ch.gauge(m.recent, n, cluster, queue)
	for i, level := range waittime.Levels() {
		ch.gauge(m.recentLogPinball, f.LogPinball[i]/n, cluster, queue, ask.LevelName(level))
	}
}

// collectPeers sends how other methods did on the jobs of each queue.
func (m *scoreMetrics) collectPeers(ch scrape, cluster string, byQueue map[string]*accuracy.Score) {
	for queue, s := range byQueue {
		for i := range s.Peers {
			p := &s.Peers[i]
			ch.counter(m.peerScored, float64(p.N), cluster, queue, p.Method)
			for l, level := range waittime.Levels() {
				at := []string{cluster, queue, p.Method, ask.LevelName(level)}
				ch.counter(m.peerLogPinball, p.LogPinball[l], at...)
				ch.counter(m.servedLogPinball, p.Served.LogPinball[l], at...)
			}
		}
	}
}
