package track

import (
	"math"
	"slices"
	"sort"

	"github.com/waitcast/waitcast/internal/codec"
)

// A week has 336 slots of half an hour. If instants are Unix times, the weeks begin on a Thursday, 00:00 UTC. Nothing
// depends on that.
const (
	slots       = 336
	slotsOfDay  = 48
	slotSeconds = 1800.
)

const (
	// longestGap is the maximum time between two changes for which waiting counts. The rest of a longer time was an
	// interruption.
	longestGap = 3 * Day
	// mostClockStarts is the number of starts at which earlier counts are halved, so that a changed calendar is learnt.
	mostClockStarts = 20_000
	startExposure   = .1 // slots that count as waited in addition at each start
	// weekPrior and dayPrior are the weights of more general rates, in slots of waiting. The rate of a half hour of
	// the week is mixed with weekPrior slots of the rate of this half hour on all days. That rate is mixed with
	// dayPrior slots of the rate at all times.
	weekPrior, dayPrior = 6., 4.
)

// startCounts has the starts of a kind of jobs, by half hour of the week, and the time for which such jobs waited.
type startCounts struct {
	starts, waited [slots]float64 // number of starts, and slots of waiting, by slot of the week
	started        float64        // the number of all starts
	waiting        float64        // the number of these jobs that wait now
	at             float64        // the instant up to which waiting is counted
	table          *WeekHazard    // table at the beginning of a slot; replaced, never changed
	tableSlot      float64        // the number of that slot since the epoch
}

func newStartCounts() *startCounts { return &startCounts{tableSlot: math.NaN()} }

// slotOf returns the slot of the week of an instant, and the beginning of the slot.
func slotOf(at float64) (slot int, begins float64) {
	since := math.Floor(at / slotSeconds)
	if slot = int(int64(since) % slots); slot < 0 { // math.Mod is ten times slower
		slot += slots
	}
	return slot, since * slotSeconds
}

// advance counts the waiting until an instant, and updates the table once per slot.
func (c *startCounts) advance(now float64) {
	if c.waiting > 0 {
		at := math.Max(c.at, now-longestGap)
		for at < now {
			slot, begins := slotOf(at)
			end := math.Min(now, begins+slotSeconds)
			c.waited[slot] += c.waiting * (end - at) / slotSeconds
			at = end
		}
	}
	c.at = math.Max(c.at, now)
	if slot := math.Floor(now / slotSeconds); slot != c.tableSlot {
		c.tableSlot, c.table = slot, c.hazard()
	}
}

// start counts a start.
func (c *startCounts) start(now float64) {
	slot, _ := slotOf(now)
	c.starts[slot]++
	c.waited[slot] += startExposure
	if c.started++; c.started > mostClockStarts {
		c.started /= 2
		for i := range c.starts {
			c.starts[i] /= 2
			c.waited[i] /= 2
		}
	}
}

// hazard computes the table from the present counts.
func (c *startCounts) hazard() *WeekHazard {
	var dayStarts, dayWaited [slotsOfDay]float64
	var starts, waited float64
	for i := range slots {
		dayStarts[i%slotsOfDay] += c.starts[i]
		dayWaited[i%slotsOfDay] += c.waited[i]
		starts += c.starts[i]
		waited += c.waited[i]
	}
	all := (starts + 1) / (waited + 5)
	for i := range dayStarts {
		dayStarts[i] = (dayStarts[i] + dayPrior*all) / (dayWaited[i] + dayPrior)
	}
	h, sum := &WeekHazard{}, 0.0
	for i := range slots {
		sum += (c.starts[i] + weekPrior*dayStarts[i%slotsOfDay]) / (c.waited[i] + weekPrior)
		h.cumulated[i+1] = float32(sum)
	}
	return h
}

// codeStartCounts reads or writes counts, which may be nil. It omits the number of waiting jobs, which are counted
// again.
func codeStartCounts(s *codec.Codec, v **startCounts) {
	if codec.Hand(s, v) {
		if s.Reading && *v != nil {
			own := **v
			own.waiting = 0
			*v = &own
		}
		return
	}
	known := *v != nil
	if s.Flag(&known); !known {
		return
	}
	if s.Reading {
		*v = newStartCounts()
	}
	c := *v
	for i := range slots {
		s.Finite(&c.starts[i], &c.waited[i])
	}
	s.Finite(&c.started, &c.at)
	s.Real(&c.tableSlot)
	CodeWeekHazard(s, &c.table)
}

// WeekHazard is the rate of starts per waiting job, cumulated over the half hours of a week. That is the expected
// number of starts of a job that waits from the beginning of the week. It is immutable.
type WeekHazard struct{ cumulated [slots + 1]float32 }

// Rate returns the rate at an instant, in starts per waiting job and half hour.
func (h *WeekHazard) Rate(at float64) float64 {
	i, _ := slotOf(at)
	return float64(h.cumulated[i+1] - h.cumulated[i])
}

// Until returns the seconds from an instant until the hazard that cumulates since then reaches a level. The result is
// at most a week.
func (h *WeekHazard) Until(at, level float64) float64 {
	i, begins := slotOf(at)
	from := float64(i) + (at-begins)/slotSeconds
	base := float64(h.cumulated[i]) + (from-float64(i))*h.Rate(at)
	goal, weeks, whole := base+level, 0.0, float64(h.cumulated[slots])
	if goal > whole {
		goal, weeks = goal-whole, 1
	}
	k := sort.Search(slots, func(k int) bool { return float64(h.cumulated[k+1]) >= goal })
	if k == slots || weeks == 1 && k > i {
		return Week
	}
	to := float64(k)
	if rate := float64(h.cumulated[k+1] - h.cumulated[k]); rate > 0 {
		to += math.Max(0, goal-float64(h.cumulated[k])) / rate
	}
	return math.Min(Week, math.Max(0, (to+weeks*slots-from)*slotSeconds))
}

// CodeWeekHazard reads or writes a table, which may be nil.
func CodeWeekHazard(s *codec.Codec, h **WeekHazard) {
	codec.Optional(s, h, func(v *WeekHazard) { v.code(s) })
}

func (h *WeekHazard) code(s *codec.Codec) {
	all := h.cumulated[:]
	if s.Singles(&all); s.Reading {
		rising := slices.IsSortedFunc(all, func(a, b float32) int {
			if a < b {
				return -1
			}
			if a == b {
				return 0
			}
			return 1 // also for NaN
		})
		if len(all) != slots+1 || !rising {
			s.Fail()
			return
		}
		copy(h.cumulated[:], all)
	}
}

const (
	mostDayTimes  = 200      // the maximum number of starts of a class whose times of day are kept
	leastDayTimes = 20       // the minimum number of such starts for a clock
	dayClockWait  = 600.     // minimum wait, in seconds, of starts that are kept; others did not wait for a time of day
	peakSeconds   = 20 * 60. // width in seconds of the window with the most starts
)

// dayTimes holds the times of day of the newest starts of a limit class. It holds only starts of jobs that had
// waited.
type dayTimes struct {
	seconds []float64 // since midnight, in a ring buffer
	next    int
	table   *DayClock // replaced, never changed
}

func (d *dayTimes) add(at float64) {
	seconds := math.Mod(at, Day)
	if seconds < 0 {
		seconds += Day
	}
	if len(d.seconds) < mostDayTimes {
		d.seconds = append(d.seconds, seconds)
		return
	}
	d.seconds[d.next] = seconds
	d.next = (d.next + 1) % mostDayTimes
}

// clock returns the table of the present times, nil if they are too few.
func (d *dayTimes) clock() *DayClock {
	n := len(d.seconds)
	if n < leastDayTimes {
		return nil
	}
	c := &DayClock{times: slices.Sorted(slices.Values(d.seconds))}
	most, to := 0, 0
	for from := range n {
		at := func(k int) float64 { return c.times[k%n] + Day*float64(k/n) }
		to = max(to, from)
		for to+1 < from+n && at(to+1)-at(from) <= peakSeconds {
			to++
		}
		if to-from+1 > most {
			most, c.peak = to-from+1, c.times[from]
		}
	}
	c.share = float64(most) / float64(n)
	return c
}

// DayClock has the times of day at which waiting jobs of a limit class start. It is immutable.
type DayClock struct {
	times       []float64 // seconds since midnight, rising
	peak, share float64   // beginning of the twenty minutes with the most starts, and their share of the starts
}

// UntilPeak returns the seconds from an instant until the twenty minutes with the most starts begin, and the share of
// the starts in these minutes.
func (c *DayClock) UntilPeak(at float64) (seconds, share float64) {
	return untilTime(at, c.peak), c.share
}

// Until returns the seconds from an instant until the given share of the times of day has passed.
func (c *DayClock) Until(at, part float64) float64 {
	now := math.Mod(at, Day)
	if now < 0 {
		now += Day
	}
	n := len(c.times)
	first, _ := slices.BinarySearch(c.times, now)
	return untilTime(at, c.times[(first+int(part*float64(n)))%n])
}

func untilTime(at, seconds float64) float64 {
	left := math.Mod(seconds-math.Mod(at, Day), Day)
	if left < 0 {
		left += Day
	}
	return left
}

// CodeDayClock reads or writes a clock, which may be nil.
func CodeDayClock(s *codec.Codec, c **DayClock) {
	codec.Optional(s, c, func(d *DayClock) {
		s.Reals(&d.times)
		s.Finite(&d.peak, &d.share)
		if s.Reading && (len(d.times) < leastDayTimes || len(d.times) > mostDayTimes) {
			d.times = make([]float64, leastDayTimes)
			s.Fail()
		}
	})
}

// StartClock has the times at which jobs of a limit class start: by half hours of the week, and by times of day.
type StartClock struct {
	Week *WeekHazard // nil before the first job
	Day  *DayClock   // nil before enough starts
}

// StartClocks are the clocks of all limit classes.
type StartClocks [LimitClasses]StartClock

// limitClock counts the starts of a limit class.
type limitClock struct {
	*startCounts
	times dayTimes
}

// limitClocks count the starts of all limit classes.
type limitClocks [LimitClasses]limitClock

// advance brings the clock of a limit class up to now and returns it. It adds the time for which jobs of the class have
// waited since the previous call, and renews the tables once per slot.
func (l *limitClocks) advance(now float64, limit int) *limitClock {
	c := &l[limit]
	if c.startCounts == nil {
		c.startCounts = newStartCounts()
	}
	slot := c.tableSlot
	if c.startCounts.advance(now); c.tableSlot != slot {
		c.times.table = c.times.clock()
	}
	return c
}

// tables returns the tables of all classes.
func (l *limitClocks) tables() *StartClocks {
	out := &StartClocks{}
	for i := range l {
		if c := &l[i]; c.startCounts != nil {
			out[i] = StartClock{c.table, c.times.table}
		}
	}
	return out
}

func (l *limitClocks) code(s *codec.Codec) {
	for i := range l {
		codeStartCounts(s, &l[i].startCounts)
		d := &l[i].times
		if codec.Hand(s, d) {
			if s.Reading {
				d.seconds = slices.Clone(d.seconds)
			}
			continue
		}
		s.Reals(&d.seconds)
		s.Int(&d.next)
		CodeDayClock(s, &d.table)
		if s.Reading && (len(d.seconds) > mostDayTimes || d.next > 0 && d.next >= len(d.seconds)) {
			d.seconds, d.next = nil, 0
			s.Fail()
		}
	}
}

// CodeStartClocks reads or writes the tables of all limit classes.
func CodeStartClocks(s *codec.Codec, c **StartClocks) {
	if s.Reading {
		*c = &StartClocks{}
	}
	for i := range *c {
		CodeWeekHazard(s, &(*c)[i].Week)
		CodeDayClock(s, &(*c)[i].Day)
	}
}

// countStart counts the start of a job.
func (t *Tracker) countStart(at float64, j *Job) {
	c := t.clocks.advance(t.Clock, j.LimitClass)
	c.start(at)
	if at-j.Submit > dayClockWait {
		c.times.add(at)
	}
	q := j.QueueState
	if q.clock == nil {
		q.clock = newStartCounts()
	}
	q.clock.advance(t.Clock)
	q.clock.start(at)
}

// countWaiting adds a job to the waiting ones that the clocks count, or removes it if sign is -1, at an instant.
func (t *Tracker) countWaiting(now float64, j *Job, sign float64) {
	q := j.QueueState
	if q.clock == nil {
		q.clock = newStartCounts()
	}
	c := t.clocks.advance(now, j.LimitClass)
	q.clock.advance(now)
	c.waiting += sign
	q.clock.waiting += sign
}
