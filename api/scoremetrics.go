package api

import (
	"github.com/waitcast/waitcast/api/ask"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/pipeline/accuracy"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// scoreMetrics are the metrics of the accuracy of forecasts and of other methods.
type scoreMetrics struct {
	scored           counter
	scoredLive       counter
	left             counter
	censored         counter // deprecated name of left
	impossible       counter
	logPinball       counter
	medianError      gauge
	recent           gauge
	recentLogPinball gauge
	peerScored       counter
	peerLogPinball   counter
	servedLogPinball counter
	partScored       counter
	partNonzero      counter
	partSeconds      counter
	partHits         counter
	partBelow        counter
	partLogPinball   counter
	reasons          counter
	reasonsAgreed    counter
}

func newScoreMetrics(s *metricSet) scoreMetrics {
	return scoreMetrics{
		scored: s.counter("forecasts_scored_total", "Forecasts whose jobs have started.", "cluster", "queue", "size"),
		scoredLive: s.counter("forecasts_scored_live_total",
			"Forecasts made live whose jobs have started, without those from the replay of a history.",
			"cluster", "queue", "size"),
		left: s.counter("forecasts_left_total",
			"Jobs that left the queue without a start.", "cluster", "queue", "size"),
		censored: s.counter("forecasts_censored_total",
			"Deprecated, goes with 0.3: the same as waitcast_forecasts_left_total.", "cluster", "queue", "size"),
		impossible: s.counter("forecasts_impossible_total",
			"Jobs that started without a forecast because none was possible.", "cluster", "queue", "size"),
		logPinball: s.counter("forecasts_log_pinball_total",
			"Sum of the pinball loss of ln(wait + 60 s) over scored forecasts; lower is better.",
			"cluster", "queue", "size", "level"),
		medianError: s.gauge("forecasts_median_error_seconds",
			"Median absolute error of the forecast median over the newest 1000 scored forecasts.",
			"cluster", "queue", "size"),
		recent: s.gauge("forecasts_recent",
			"Number of the queue's newest forecasts whose jobs have started: up to 1000.", "cluster", "queue"),
		recentLogPinball: s.gauge("forecasts_recent_log_pinball",
			"Mean pinball loss of ln(wait + 60 s) of the queue's newest scored forecasts; lower is "+
				"better.", "cluster", "queue", "level"),
		peerScored: s.counter("peer_forecasts_scored_total",
			"Scored forecasts for which the other method had a forecast too.", "cluster", "queue", "peer"),
		peerLogPinball: s.counter("peer_forecasts_log_pinball_total",
			"Sum of the pinball loss of ln(wait + 60 s) of the other method; lower is better.",
			"cluster", "queue", "peer", "level"),
		servedLogPinball: s.counter("peer_forecasts_served_log_pinball_total",
			"Sum of the pinball loss of ln(wait + 60 s) of waitcast's forecast over the jobs for "+
				"which the other method had one.", "cluster", "queue", "peer", "level"),
		partScored: s.counter("forecasts_part_scored_total",
			"Scored forecasts by part of the wait: eligible, in which the job competed, and blocked, "+
				"in which it was held or a limit kept it.", "cluster", "queue", "part"),
		partNonzero: s.counter("forecasts_part_nonzero_total",
			"Scored forecasts whose job had this part of the wait for a second or longer.",
			"cluster", "queue", "part"),
		partSeconds: s.counter("forecasts_part_seconds_total",
			"Sum of this part of the wait over the scored forecasts, in seconds.",
			"cluster", "queue", "part"),
		partHits: s.counter("forecasts_part_hits_total",
			"Scored forecasts of a part of the wait for which this part was not longer than its quantile "+
				"of the level, rounded up to whole seconds.", "cluster", "queue", "part", "level"),
		partBelow: s.counter("forecasts_part_below_total",
			"Scored forecasts of a part of the wait for which this part was shorter than its quantile of "+
				"the level, rounded down to whole seconds.", "cluster", "queue", "part", "level"),
		partLogPinball: s.counter("forecasts_part_log_pinball_total",
			"Sum of the pinball loss of ln(part + 60 s) over the scored forecasts of a part of the "+
				"wait; lower is better.", "cluster", "queue", "part", "level"),
		reasons: s.counter("forecasts_reasons_total",
			"Jobs by the cause of the wait predicted at the submission and by the cause of the "+
				"scheduler's reason, once two listings agreed on it (resources, priority, limit, hold, "+
				"unavailable).", "cluster", "predicted", "settled"),
		reasonsAgreed: s.counter("forecasts_reasons_agreed_total",
			"Jobs whose predicted cause of the wait was the cause of the scheduler's reason.", "cluster"),
	}
}

// collect sends the scores of a cluster. A known queue has all its series from the beginning.
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
	byQueue := accuracy.ByQueue(scores)
	m.collectPeers(ch, v.Cluster, byQueue)
	m.collectParts(ch, v, byQueue)
}

// collectParts sends the accuracy of the forecasts of the parts of waits by queue, and that of the causes for the whole
// cluster.
func (m *scoreMetrics) collectParts(ch scrape, v *readmodel.View, byQueue map[string]*accuracy.Score) {
	all := accuracy.NewParts(len(waittime.Levels()))
	none := accuracy.NewParts(len(waittime.Levels()))
	send := func(queue string, p *accuracy.Parts) {
		m.collectPart(ch, []string{v.Cluster, queue, "eligible"}, &p.Eligible)
		m.collectPart(ch, []string{v.Cluster, queue, "blocked"}, &p.Blocked)
	}
	for _, queue := range v.MetricQueues() {
		if s := byQueue[queue]; s == nil || s.Parts == nil {
			send(queue, none)
		}
	}
	for queue, s := range byQueue {
		if s.Parts != nil {
			send(queue, s.Parts)
			all.Merge(s.Parts)
		}
	}
	_, agreed := all.Reasons.Agreed()
	ch.counter(m.reasonsAgreed, float64(agreed), v.Cluster)
	for i, predicted := range accuracy.Causes() {
		for k, settled := range accuracy.Causes() {
			ch.counter(m.reasons, float64(all.Reasons[i][k]), v.Cluster, predicted.String(), settled.String())
		}
	}
}

// collectPart sends the accuracy of the forecasts of one part of waits. The argument of has the values of the labels
// cluster, queue and part.
func (m *scoreMetrics) collectPart(ch scrape, of []string, p *accuracy.PartScore) {
	ch.counter(m.partScored, float64(p.N), of...)
	ch.counter(m.partNonzero, float64(p.Nonzero), of...)
	ch.counter(m.partSeconds, p.Seconds, of...)
	for l, level := range waittime.Levels() {
		labels := append(of[:3:3], ask.LevelName(level))
		ch.counter(m.partHits, float64(p.UpTo[l]), labels...)
		ch.counter(m.partBelow, float64(p.Below[l]), labels...)
		ch.counter(m.partLogPinball, p.LogPinball[l], labels...)
	}
}

// collectScore sends the accuracy of the forecasts of a queue and size class.
func (m *scoreMetrics) collectScore(ch scrape, cluster string, key accuracy.Key, s *accuracy.Score) {
	labels := []string{cluster, key.Queue, key.Size}
	ch.counter(m.scored, float64(s.N), labels...)
	ch.counter(m.scoredLive, float64(s.Live), labels...)
	ch.counter(m.left, float64(s.Left), labels...)
	ch.counter(m.censored, float64(s.Left), labels...)
	ch.counter(m.impossible, float64(s.Unforecast), labels...)
	for i, level := range waittime.Levels() {
		ch.counter(m.logPinball, s.LogPinball[i], append(labels[:3:3], ask.LevelName(level))...)
	}
	if len(s.Errors) > 0 {
		ch.gauge(m.medianError, s.MedianError(), labels...)
	}
}

// collectRecent sends the accuracy of the newest scored forecasts of a queue; f is nil if there are none.
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

// collectPeers sends the accuracy of other methods on the jobs of each queue.
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
