package api

import (
	"github.com/waitcast/waitcast/api/ask"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/pipeline/accuracy"
	"github.com/waitcast/waitcast/pipeline/readmodel"
	"github.com/waitcast/waitcast/predictor/coverage"
)

// coverageMetrics are the metrics of the outcomes of forecast quantiles, over all submissions (also of jobs that have
// not started), as in GET /v1/accuracy.
type coverageMetrics struct {
	hits        counter
	below       counter
	missed      counter
	left        counter
	cancelled   counter // deprecated name of left
	decided     gauge
	ratio       gauge
	unweighted  gauge
	waiting     gauge
	waitingPast gauge
	undecided   gauge
	unfollowed  counter
}

func newCoverageMetrics(s *metricSet) coverageMetrics {
	bySize := []string{"cluster", "queue", "size", "made", "level"}
	byQueue := []string{"cluster", "queue", "made", "level"}
	byBound := append(byQueue[:4:4], "bound")
	return coverageMetrics{
		hits: s.counter("forecasts_hits_total",
			"Forecasts whose job had started when the quantile of the level, rounded up to whole "+
				"seconds, had passed.",
			bySize...),
		below: s.counter("forecasts_below_total",
			"Forecasts whose wait was shorter than the quantile of the level, rounded down to whole "+
				"seconds.", bySize...),
		missed: s.counter("forecasts_missed_total",
			"Forecasts whose job had not started when the quantile of the level had passed: it "+
				"started later, was cancelled later or still waits.", bySize...),
		left: s.counter("forecasts_left_undecided_total",
			"Forecasts whose job left the queue without a start before the quantile of the level had passed: "+
				"their outcome is unknown.", bySize...),
		cancelled: s.counter("forecasts_cancelled_total",
			"Deprecated, goes with 0.3: the same as waitcast_forecasts_left_undecided_total.", bySize...),
		decided: s.gauge("forecasts_recent_decided",
			"Number of the queue's newest forecasts whose quantile of the level has passed: up to "+
				"1000.", byQueue...),
		ratio: s.gauge("forecasts_coverage_ratio",
			"Share of the queue's newest decided forecasts whose wait was shorter than the quantile "+
				"(bound below, rounded down to whole seconds), or not longer (bound hits, rounded up). "+
				"Jobs that were cancelled before their quantile are represented by the other jobs.", byBound...),
		unweighted: s.gauge("forecasts_coverage_unweighted_ratio",
			"Like waitcast_forecasts_coverage_ratio, but without the jobs that were cancelled before "+
				"the quantile.", byBound...),
		waiting: s.gauge("forecasts_waiting", "Waiting jobs with a forecast.", "cluster", "queue", "made"),
		waitingPast: s.gauge("forecasts_waiting_past",
			"Waiting jobs whose quantile of the level has passed: known misses, which coverage counts "+
				"at once.", byQueue...),
		undecided: s.gauge("forecasts_undecided",
			"Forecasts with a quantile that has not passed yet, at most 100,000.", "cluster"),
		unfollowed: s.counter("forecasts_unfollowed_total",
			"Forecasts that are not counted in hits, misses and coverage, because too many others had open "+
				"quantiles at their submission.", "cluster"),
	}
}

// made returns the values of the label "made", in the order of accuracy.MadeIndex.
func made() [2]string { return [2]string{"live", "replayed"} }

// collect sends the outcomes of the forecasts of a cluster. For a known queue, all series of live forecasts exist from
// the beginning, so that increases can be computed. Series of replayed forecasts begin with the first such forecast.
func (m *coverageMetrics) collect(ch scrape, v *readmodel.View) {
	counts, newest := v.MetricDecided()
	waiting := v.MetricWaiting()
	ch.gauge(m.undecided, float64(v.Decided.Followed), v.Cluster)
	ch.counter(m.unfollowed, float64(v.Decided.Unfollowed), v.Cluster)
	for _, queue := range v.MetricQueues() {
		for _, size := range v.SizesOf(queue) {
			if key := (accuracy.Key{Queue: queue, Size: size}); counts[key] == nil {
				counts[key] = accuracy.NewDecidedCounts()
			}
		}
		if waiting[queue] == nil {
			waiting[queue] = accuracy.NewWaitingByMade()
		}
	}
	for key, c := range counts {
		m.collectCounts(ch, []string{v.Cluster, key.Queue, key.Size}, c)
	}
	for queue, n := range newest {
		m.collectNewest(ch, []string{v.Cluster, queue}, n)
	}
	for queue, w := range waiting {
		m.collectWaiting(ch, []string{v.Cluster, queue}, w)
	}
}

func (m *coverageMetrics) collectCounts(ch scrape, of []string, counts *accuracy.DecidedCounts) {
	for i, name := range made() {
		if i > 0 && !anyDecided(counts[i]) {
			continue
		}
		for l, level := range waittime.Levels() {
			c, labels := counts[i][l], append(of[:3:3], name, ask.LevelName(level))
			ch.counter(m.hits, float64(c.UpTo()), labels...)
			ch.counter(m.below, float64(c.Below), labels...)
			ch.counter(m.missed, float64(c.Missed), labels...)
			ch.counter(m.left, float64(c.Censored), labels...)
			ch.counter(m.cancelled, float64(c.Censored), labels...)
		}
	}
}

// anyDecided reports whether a forecast was decided at any level.
func anyDecided(levels []coverage.OutcomeCounts) bool {
	for _, c := range levels {
		if c.Decided() > 0 {
			return true
		}
	}
	return false
}

func (m *coverageMetrics) collectNewest(ch scrape, of []string, newest *accuracy.NewestDecided) {
	for i, name := range made() {
		for l, level := range waittime.Levels() {
			h, labels := newest[i][l], append(of[:2:2], name, ask.LevelName(level))
			c := h.Counts()
			ch.gauge(m.decided, float64(c.Decided()), labels...)
			if c.Known() == 0 {
				continue
			}
			weighted, plain := h.Interval(), c.Interval()
			ch.gauge(m.ratio, weighted.Low, append(labels[:4:4], "below")...)
			ch.gauge(m.ratio, weighted.High, append(labels[:4:4], "hits")...)
			ch.gauge(m.unweighted, plain.Low, append(labels[:4:4], "below")...)
			ch.gauge(m.unweighted, plain.High, append(labels[:4:4], "hits")...)
		}
	}
}

func (m *coverageMetrics) collectWaiting(ch scrape, of []string, waiting *[2]accuracy.WaitingPast) {
	for i, name := range made() {
		ch.gauge(m.waiting, float64(waiting[i].Waiting), append(of[:2:2], name)...)
		for l, level := range waittime.Levels() {
			ch.gauge(m.waitingPast, float64(waiting[i].Past[l]), append(of[:2:2], name, ask.LevelName(level))...)
		}
	}
}
