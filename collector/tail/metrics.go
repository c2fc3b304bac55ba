package tail

import "github.com/prometheus/client_golang/prometheus"

// Metrics are the counters that all tailers of a process share. A nil *Metrics counts nothing.
type Metrics struct {
	lines       *prometheus.CounterVec
	bytes       *prometheus.CounterVec
	rotations   *prometheus.CounterVec
	truncations *prometheus.CounterVec
	problems    *prometheus.CounterVec
	dropped     *prometheus.CounterVec
	lag         *prometheus.GaugeVec
}

// NewMetrics registers the metrics on reg. Like client_golang's MustRegister it panics if they are registered
// already. So call it once, and share the result.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "waitcast", Subsystem: "tail", Name: name, Help: help,
		}, append([]string{"source"}, labels...))
	}
	m := &Metrics{
		lines: counter("lines_total", "Lines read from the logs."),
		bytes: counter("read_bytes_total",
			"Bytes of lines read from the logs, after decompression."),
		rotations: counter("rotations_total", "Rotations of logs that were noticed, by kind.", "kind"),
		truncations: counter("truncations_total",
			"Log files that became shorter or were rewritten."),
		problems: counter("problems_total",
			"Problems met while following the logs, by reason.", "reason"),
		dropped: counter("suppressed_total", "Messages of the logs that journald reports as dropped."),
		lag: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: "waitcast", Subsystem: "tail", Name: "lag_bytes",
			Help: "Bytes written to the open logs but not read yet.",
		}, []string{"source"}),
	}
	reg.MustRegister(m.lines, m.bytes, m.rotations, m.truncations, m.problems, m.dropped, m.lag)
	return m
}

// These are the kinds of rotation that are counted.
const (
	kindRename       = "rename"
	kindSymlink      = "symlink"
	kindNextFile     = "next_file"
	kindCompress     = "compress"
	kindCopyTruncate = "copytruncate"
)

// Forget removes the series of a source that is no longer read.
func (m *Metrics) Forget(source string) {
	labels := prometheus.Labels{"source": source}
	for _, c := range [...]*prometheus.CounterVec{m.lines, m.bytes, m.rotations, m.truncations, m.problems,
		m.dropped} {
		c.DeletePartialMatch(labels)
	}
	m.lag.DeletePartialMatch(labels)
}

// Touch creates the metrics of a source that is read from systemd's journal, with the value zero.
func (m *Metrics) Touch(source string) {
	if m == nil {
		return
	}
	for _, c := range [...]*prometheus.CounterVec{m.lines, m.bytes, m.dropped} {
		c.WithLabelValues(source)
	}
	for _, r := range [...]Reason{LineTooLong, CheckpointLost, Unreadable, WrongFormat, Future, OddField, Suppressed} {
		m.problems.WithLabelValues(source, string(r))
	}
}

// Read counts the lines of a journal.
func (m *Metrics) Read(source string, lines int, bytes int64) { m.read(source, lines, bytes) }

// Dropped counts messages that journald dropped.
func (m *Metrics) Dropped(source string, n int64) {
	if m != nil {
		m.dropped.WithLabelValues(source).Add(float64(n))
	}
}

// touch creates a source's metrics with the value zero.
func (m *Metrics) touch(source string) {
	if m == nil {
		return
	}
	for _, c := range [...]*prometheus.CounterVec{m.lines, m.bytes, m.truncations} {
		c.WithLabelValues(source)
	}
	m.lag.WithLabelValues(source)
	for _, kind := range [...]string{kindRename, kindSymlink, kindNextFile, kindCompress, kindCopyTruncate} {
		m.rotations.WithLabelValues(source, kind)
	}
	for _, r := range [...]Reason{
		LineTooLong, NulBytes, PartialLine, Truncated, CheckpointLost, Missing, Unreadable, IsDirectory, NotRegular,
		Copied, Behind, BadHeader, WrongFormat, Future, OddField,
	} {
		m.problems.WithLabelValues(source, string(r))
	}
}

func (m *Metrics) read(source string, lines int, bytes int64) {
	if m != nil && lines > 0 {
		m.lines.WithLabelValues(source).Add(float64(lines))
		m.bytes.WithLabelValues(source).Add(float64(bytes))
	}
}

func (m *Metrics) rotated(source, kind string) {
	if m != nil {
		m.rotations.WithLabelValues(source, kind).Inc()
	}
}

func (m *Metrics) problem(source string, r Reason) {
	if m == nil {
		return
	}
	m.problems.WithLabelValues(source, string(r)).Inc()
	if r == Truncated {
		m.truncations.WithLabelValues(source).Inc()
	}
}

// Count counts a problem that the consumer of a tailer found.
func (m *Metrics) Count(source string, r Reason) { m.problem(source, r) }

func (m *Metrics) lagging(source string, bytes int64) {
	if m != nil {
		m.lag.WithLabelValues(source).Set(float64(bytes))
	}
}
