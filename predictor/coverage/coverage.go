// Package coverage judges whether quantile forecasts of waits cover the shares that they promise. It does so as of an
// instant of a live log (Submission, OutcomeHistogram), and for a trace (Score). In a trace it judges all jobs, the
// jobs whose median forecast is above a minute, and each month.
//
// As of an instant, the coverage of a level is over all submissions whose quantile has passed by then: submit + q is
// not later. Each of them is decided. Its job has started by the quantile, or it has not. In the second case it does
// not matter whether the job starts later, is cancelled later or still waits. A job that starts before its quantile
// passes is not counted until the quantile passes. Otherwise short waits would be counted before long ones, and the
// coverage would look good while a queue grows.
//
// Waits come in whole units of the log's resolution and many are exactly 0. So P(W <= q) of even a perfect forecast
// may lie far above the level. A forecast q of level p is therefore judged by the interval [P(W < q-), P(W <= q+)],
// where q- and q+ are q rounded down and up to the resolution. For a perfect forecast the interval contains p,
// because a quantile q satisfies P(W < q) <= p <= P(W <= q).
//
// A month's figure has a random error, and the waits of jobs of one day are correlated. The error is estimated by the
// bootstrap over days: the days of a month are drawn with replacement, with the jobs of a day together (the block
// bootstrap, H. Kunsch, "The jackknife and the bootstrap for general stationary observations", Annals of Statistics
// 17, 1989).
package coverage

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat"
)

// Config configures how coverage is judged. The zero value of a field means its default.
type Config struct {
	// Levels are the quantile levels of the forecasts, rising within (0, 1); there is no default.
	Levels []float64
	// Resolution is the resolution of the waits in the log, in seconds, 1 by default.
	Resolution float64
	// Tolerance is the maximum distance of the interval from its level, over a whole trace and over the long
	// forecasts; 0.02 by default.
	Tolerance float64
	// MonthTolerance is the maximum distance for one month, 0.05 by default. If MonthErrors bootstrap standard errors
	// (2 by default) are more, they replace it.
	MonthTolerance, MonthErrors float64
	// MonthSeconds is the length of a month, 30 days by default. DaySeconds is the length of a block of the bootstrap,
	// one day by default.
	MonthSeconds, DaySeconds float64
	// MonthJobs is the minimum number of scored jobs for which a month is judged, 500 by default.
	MonthJobs int
	// Share is the minimum part of all pairs of month and level that must hold, 0.95 by default.
	Share float64
	// Long is the median forecast, in seconds, above which a job belongs to the long forecasts, 60 by default.
	Long float64
	// Replicates is the number of bootstrap samples, 1,000 by default. Seed is the seed of their generator.
	Replicates int
	Seed       uint64
}

func orDefault(v *float64, d float64) {
	if *v == 0 {
		*v = d
	}
}

func (c *Config) fill() error {
	last := 0.0
	for _, p := range c.Levels {
		if !(p > last && p < 1) {
			return fmt.Errorf("coverage: levels %v: give rising numbers between 0 and 1", c.Levels)
		}
		last = p
	}
	if len(c.Levels) == 0 {
		return fmt.Errorf("coverage: no levels: give at least one")
	}
	orDefault(&c.Resolution, 1)
	orDefault(&c.Tolerance, .02)
	orDefault(&c.MonthTolerance, .05)
	orDefault(&c.MonthErrors, 2)
	orDefault(&c.DaySeconds, 86400)
	orDefault(&c.MonthSeconds, 30*86400)
	orDefault(&c.Share, .95)
	orDefault(&c.Long, 60)
	if c.MonthJobs == 0 {
		c.MonthJobs = 500
	}
	if c.Replicates == 0 {
		c.Replicates = 1000
	}
	for _, v := range []float64{c.Resolution, c.DaySeconds, c.MonthSeconds} {
		if !(v > 0) || math.IsInf(v, 1) {
			return fmt.Errorf("coverage: resolution %g s, day %g s, month %g s: give positive numbers", c.Resolution,
				c.DaySeconds, c.MonthSeconds)
		}
	}
	if c.MonthSeconds < c.DaySeconds || c.Replicates < 2 {
		return fmt.Errorf("coverage: a month of %g s, days of %g s, %d replicates: give a month of at least one day "+
			"and 2 replicates",
			c.MonthSeconds, c.DaySeconds, c.Replicates)
	}
	return nil
}

// Interval is [P(W < q-), P(W <= q+)] over some jobs.
type Interval struct{ Low, High float64 }

// Miss returns the distance of the interval from the level: 0 if it contains the level, above 0 if too few waits are
// covered, below 0 if too many are.
func (i Interval) Miss(level float64) float64 {
	switch {
	case level > i.High:
		return level - i.High
	case level < i.Low:
		return level - i.Low
	}
	return 0
}

// Counts has the number of jobs, and for each level the numbers of waits below q- and up to q+.
type Counts struct {
	N    int
	Low  []int
	High []int
}

// Interval returns the interval of the level with the given index. The interval of no jobs is [0, 1].
func (c *Counts) Interval(level int) Interval {
	if c.N == 0 {
		return Interval{0, 1}
	}
	return Interval{float64(c.Low[level]) / float64(c.N), float64(c.High[level]) / float64(c.N)}
}

func newCounts(levels int) Counts { return Counts{Low: make([]int, levels), High: make([]int, levels)} }

func (c *Counts) add(wait, resolution float64, q []float64) {
	c.N++
	for l, x := range q {
		below, upTo := Covered(wait, x, resolution)
		if below {
			c.Low[l]++
		}
		if upTo {
			c.High[l]++
		}
	}
}

// merge adds the jobs of o.
func (c *Counts) merge(o *Counts) {
	c.N += o.N
	for l := range o.Low {
		c.Low[l] += o.Low[l]
		c.High[l] += o.High[l]
	}
}

// Covered reports whether a wait lies below the quantile q rounded down to the resolution (below), and whether it is
// at most q rounded up (upTo). All are in seconds.
func Covered(wait, q, resolution float64) (below, upTo bool) {
	return wait < math.Floor(q/resolution)*resolution, wait <= math.Ceil(q/resolution)*resolution
}

// Score collects forecasts and waits. It is not safe for concurrent use.
type Score struct {
	cfg    Config
	median int // index of the level nearest to .5
	all    Counts
	long   Counts
	days   []Counts // by day since the first submission
}

// New returns an empty Score.
func New(cfg Config) (*Score, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	s := &Score{cfg: cfg, all: newCounts(len(cfg.Levels)), long: newCounts(len(cfg.Levels))}
	for l, p := range cfg.Levels {
		if math.Abs(p-.5) < math.Abs(cfg.Levels[s.median]-.5) {
			s.median = l
		}
	}
	return s, nil
}

// Add adds one job. since is its submission in seconds from the trace's first submission, wait is its wait, and q has
// the served quantiles, one for each level, all in seconds. The error names a value out of range. Such a job is not
// counted.
func (s *Score) Add(since, wait float64, q []float64) error {
	const most = 1e11 // more than 3,000 years of days are an error
	if len(q) != len(s.cfg.Levels) {
		return fmt.Errorf("coverage: %d quantiles: give one for each of %d levels", len(q), len(s.cfg.Levels))
	}
	if !(since >= 0 && since < most) || !(wait >= 0) || math.IsInf(wait, 1) {
		return fmt.Errorf("coverage: submit %g s, wait %g s: both must be finite and not below 0", since, wait)
	}
	for l, x := range q {
		if !(x >= 0) {
			return fmt.Errorf("coverage: quantile %g s of level %g: must not be below 0", x, s.cfg.Levels[l])
		}
	}
	s.all.add(wait, s.cfg.Resolution, q)
	if q[s.median] > s.cfg.Long {
		s.long.add(wait, s.cfg.Resolution, q)
	}
	day := int(since / s.cfg.DaySeconds)
	for len(s.days) <= day {
		s.days = append(s.days, newCounts(len(s.cfg.Levels)))
	}
	s.days[day].add(wait, s.cfg.Resolution, q)
	return nil
}

// Pair is the judgment of one level over a group of jobs.
type Pair struct {
	Month    int // index from 0; -1 if the pair is not of a month
	Level    float64
	N        int // number of jobs
	Interval Interval
	// Miss is the result of Interval.Miss. Error is the bootstrap standard error of the end of the interval that is
	// nearer to the level (months only); 0 if Miss is 0. Allowed is the maximum of |Miss|.
	Miss, Error, Allowed float64
}

// Holds reports whether Miss is within the allowed distance.
func (p Pair) Holds() bool { return math.Abs(p.Miss) <= p.Allowed+1e-12 }

// Report is the judgment of a trace.
type Report struct {
	All, Long []Pair // by level
	Months    []Pair // by month, then level
	// Share is the part of Months that holds; 1 if no month has enough jobs.
	Share float64
	// Pass reports whether All and Long hold at every level, and Share is at least Config.Share.
	Pass bool
}

// Report judges the added jobs. Equal jobs and seeds give equal reports.
func (s *Score) Report() Report {
	r := Report{Share: 1, Pass: true}
	for l := range s.cfg.Levels {
		r.All = append(r.All, s.pair(&s.all, l))
		r.Long = append(r.Long, s.pair(&s.long, l))
		r.Pass = r.Pass && r.All[l].Holds() && r.Long[l].Holds()
	}
	held := 0
	for _, p := range s.months() {
		r.Months = append(r.Months, p)
		if p.Holds() {
			held++
		}
	}
	if len(r.Months) > 0 {
		r.Share = float64(held) / float64(len(r.Months))
	}
	r.Pass = r.Pass && r.Share >= s.cfg.Share
	return r
}

func (s *Score) pair(c *Counts, l int) Pair {
	i := c.Interval(l)
	return Pair{Month: -1, Level: s.cfg.Levels[l], N: c.N, Interval: i, Miss: i.Miss(s.cfg.Levels[l]),
		Allowed: s.cfg.Tolerance}
}

// months evaluates the months with enough jobs.
func (s *Score) months() []Pair {
	var out []Pair
	rng := rand.New(rand.NewPCG(s.cfg.Seed, 0x6d6f6e7468))
	per := max(1, int(math.Round(s.cfg.MonthSeconds/s.cfg.DaySeconds)))
	for first, month := 0, 0; first < len(s.days); first, month = first+per, month+1 {
		days := s.days[first:min(first+per, len(s.days))]
		sum := newCounts(len(s.cfg.Levels))
		for d := range days {
			sum.merge(&days[d])
		}
		if sum.N < s.cfg.MonthJobs {
			continue
		}
		low, high := s.bootstrap(days, rng)
		for l := range s.cfg.Levels {
			p := s.pair(&sum, l)
			p.Month = month
			switch {
			case p.Miss > 0:
				p.Error = high[l]
			case p.Miss < 0:
				p.Error = low[l]
			}
			p.Allowed = max(s.cfg.MonthTolerance, s.cfg.MonthErrors*p.Error)
			out = append(out, p)
		}
	}
	return out
}

// bootstrap returns the standard errors of the two ends of each level's interval, from samples of the days.
func (s *Score) bootstrap(days []Counts, rng *rand.Rand) (low, high []float64) {
	levels := len(s.cfg.Levels)
	lows, highs := make([][]float64, levels), make([][]float64, levels)
	for range s.cfg.Replicates {
		sum := newCounts(levels)
		for range days {
			sum.merge(&days[rng.IntN(len(days))])
		}
		if sum.N == 0 {
			continue
		}
		for l := range levels {
			i := sum.Interval(l)
			lows[l], highs[l] = append(lows[l], i.Low), append(highs[l], i.High)
		}
	}
	low, high = make([]float64, levels), make([]float64, levels)
	for l := range levels {
		if len(lows[l]) > 1 {
			low[l], high[l] = stat.StdDev(lows[l], nil), stat.StdDev(highs[l], nil)
		}
	}
	return low, high
}
