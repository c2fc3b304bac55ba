package simulator

// Point is an interval of time in a Report's series. It has the means over the interval.
type Point struct {
	At          float64 `json:"at_seconds"` // beginning of the interval
	Queue       float64 `json:"queue_length"`
	Utilization float64 `json:"utilization"`
}

// sums are taken over the time since the end of the warm-up: two integrals, the longest queue, and the number of jobs
// that ended.
type sums struct {
	queue, busy float64 // in job seconds and processor seconds
	maxQueue    int
	ended       int
}

// averages divides the sums by the time t in seconds.
func (s *sums) averages(procs int, t float64) (utilization, throughput, queue float64, longest int) {
	if t > 0 {
		return s.busy / t / float64(max(1, procs)), float64(s.ended) / t, s.queue / t, s.maxQueue
	}
	return 0, 0, 0, s.maxQueue
}

// series records the number of waiting jobs and busy processors.
type series struct {
	cfg          Measure
	began        bool
	at           float64 // the sums cover everything up to this instant
	queued, busy int
	sums         sums
	lastSubmit   float64
	atLastSubmit sums
	first        float64   // beginning of the first point
	queue, used  []float64 // by point: integrals
}

func newSeries(m Measure) *series { return &series{cfg: m} }

func (s *series) observe(e Event) {
	if !s.began {
		s.began, s.at, s.first = true, e.Time, e.Time
	}
	s.pass(e.Time)
	switch e.Kind {
	case Submitted:
		s.queued++
		s.lastSubmit, s.atLastSubmit = e.Time, s.sums
	case Started:
		s.queued--
		s.busy += e.Held
	case Ended:
		s.busy -= e.Held
		if s.inside(e.Time) {
			s.sums.ended++
		}
	}
}

func (s *series) inside(t float64) bool {
	return t >= s.cfg.From && (s.cfg.Until == 0 || t < s.cfg.Until)
}

// pass adds the time up to t to the sums. A queue length that changes again at the same instant does not count.
func (s *series) pass(t float64) {
	if t <= s.at {
		return
	}
	from, until := max(s.at, s.cfg.From), t
	if s.cfg.Until > 0 {
		until = min(t, s.cfg.Until)
	}
	if from < until {
		s.sums.queue += float64(s.queued) * (until - from)
		s.sums.busy += float64(s.busy) * (until - from)
		s.sums.maxQueue = max(s.sums.maxQueue, s.queued)
	}
	if s.cfg.Step > 0 {
		s.spread(s.at, t)
	}
	s.at = t
}

// spread distributes an interval over the points that it touches.
func (s *series) spread(from, until float64) {
	for i := int((from - s.first) / s.cfg.Step); ; i++ {
		for i >= len(s.queue) {
			s.queue, s.used = append(s.queue, 0), append(s.used, 0)
		}
		end := s.first + float64(i+1)*s.cfg.Step
		t := max(0, min(until, end)-from)
		s.queue[i] += float64(s.queued) * t
		s.used[i] += float64(s.busy) * t
		if from = max(from, end); from >= until {
			return
		}
	}
}

func (s *series) points() []Point {
	out := make([]Point, len(s.queue))
	for i := range out {
		begin := s.first + float64(i)*s.cfg.Step
		t := min(s.cfg.Step, s.at-begin)
		if t <= 0 {
			return out[:i]
		}
		out[i] = Point{begin, s.queue[i] / t, s.used[i] / t / float64(max(1, s.cfg.Procs))}
	}
	return out
}
