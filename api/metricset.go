package api

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metricSet creates the metrics of views, and keeps their descriptions.
type metricSet struct{ descs []*prometheus.Desc }

// gauge is a metric whose values are read from views at a scrape.
type gauge struct{ desc *prometheus.Desc }

// counter is a metric whose values are read from views at a scrape, and never decrease.
type counter struct{ desc *prometheus.Desc }

func (s *metricSet) describe(name, help string, labels []string) *prometheus.Desc {
	desc := prometheus.NewDesc("waitcast_"+name, help, labels, nil)
	s.descs = append(s.descs, desc)
	return desc
}

// gauge makes a gauge. Its name gets the prefix waitcast_.
func (s *metricSet) gauge(name, help string, labels ...string) gauge {
	return gauge{s.describe(name, help, labels)}
}

// counter makes a counter. Its name gets the prefix waitcast_.
func (s *metricSet) counter(name, help string, labels ...string) counter {
	return counter{s.describe(name, help, labels)}
}

// scrape is the channel to which the metrics of one scrape by Prometheus are sent.
type scrape chan<- prometheus.Metric

// gauge sends the value of a gauge. labels are the values of its labels, in the order in which metricSet.gauge got
// their names.
func (ch scrape) gauge(g gauge, value float64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, value, labels...)
}

// counter sends the value of a counter. labels are the values of its labels, in the order in which metricSet.counter
// got their names.
func (ch scrape) counter(c counter, value float64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(c.desc, prometheus.CounterValue, value, labels...)
}

func flag(on bool) float64 {
	if on {
		return 1
	}
	return 0
}

func unix(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}
