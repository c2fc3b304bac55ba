package hypergamma

import (
	"fmt"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/integrate/quad"
)

// The peak hours are 8:00 to 19:00 on Mondays to Fridays (paper, section 7.1). The shifted day begins at 5:00
// (section 7.2).
const (
	peakFrom = 8 * 3600
	peakTo   = 19 * 3600
	workdays = 5
	dayShift = 10 // in half hours

	maxLocal = 1e12     // in seconds: 30,000 years
	leastGap = 1 + 1e-9 // in seconds

	daySeconds  = 86400
	weekSeconds = 7 * daySeconds
)

// ArrivalOptions are the settings of the fit of arrivals. The zero value uses all jobs.
type ArrivalOptions struct {
	// LeastGap is the least interarrival time, in seconds, that counts in Peak and ARAR. Times of at most 1 s never
	// count (ln 1 = 0 is outside a Gamma law). The fit agrees with KTH's printed alpha only if gaps under 12 to 15 s
	// are left out.
	LeastGap float64
	// Weekdays restricts the fit of the daily cycle to Mondays to Fridays, as Peak is restricted. The fit is then
	// closest to KTH's printed row.
	Weekdays bool
}

// ArrivalFit is the arrival model of a log (paper, section 7; Tables 6 and 7).
type ArrivalFit struct {
	Peak    Gamma   `json:"peak"`     // law of ln interarrival seconds at peak hours
	PeakN   int     `json:"peak_n"`   // number of gaps to which Peak was fitted
	PeakKS  float64 `json:"peak_ks"`  // D of Peak (Table 6)
	ARAR    float64 `json:"arar"`     // mean of ln interarrival time over all hours, divided by the mean at peak hours
	MeanGap float64 `json:"mean_gap"` // mean interarrival time over all hours in seconds, including short gaps
	Longest float64 `json:"longest"`  // longest interarrival time in seconds
	Dropped int     `json:"dropped"`  // number of gaps over all hours that were left out because they were too short
	// law of slot numbers; the slot at midnight is 1, and the day begins at 5:00
	Daily   Gamma   `json:"daily"`
	DailyN  int     `json:"daily_n"`  // number of jobs to which Daily was fitted
	DailyKS float64 `json:"daily_ks"` // D of the slot numbers (Table 7)
	// law from which the model draws: fitted to the same jobs as Daily, but so that arrivals drawn within one day are
	// distributed like the jobs; see fitCycle
	Cycle     Gamma          `json:"cycle"`
	HalfHours [Slots]float64 `json:"half_hours"` // share of the jobs of Daily in each half hour from midnight
}

// Params returns the fitted arrival model with Cycle as its daily law. It does not use Daily, which is in the paper's
// Table 7, because each fit of drawn jobs would then give a narrower cycle. The slots are numbered from 1 as in the
// authors' program. With this numbering the fit agrees with the paper's own row for KTH.
//
// The cap makes the mean interarrival time, and with it the offered load, equal to the log's. Without a cap, gaps that
// no log has would dominate the mean (for KTH it would be 4 days); if the scale of Peak is 1 or more, the mean does not
// exist. With the longest gap of the log as cap the mean would still be 1.3 (KTH) to 3 times (CTC) too long. If the
// mean without a cap is not above the log's, there is no cap.
func (f *ArrivalFit) Params() ArrivalParams {
	p := ArrivalParams{Peak: f.Peak, ARAR: f.ARAR, Daily: f.Cycle, Shift: dayShift, FirstSlot: 1, MaxLog: math.Inf(1)}
	law := p.interarrival()
	low, high := math.Log(f.MeanGap), 40.
	if !(law.meanExp(high) > f.MeanGap) {
		return p
	}
	for range 60 {
		if mid := low + (high-low)/2; law.meanExp(mid) < f.MeanGap {
			low = mid
		} else {
			high = mid
		}
	}
	p.MaxLog = high
	return p
}

// meanExp returns the mean of e^X given X <= limit.
func (g Gamma) meanExp(limit float64) float64 {
	const parts, points = 16, 20
	below := g.CDF(limit)
	sum := 0.0
	for i := range parts {
		sum += quad.Fixed(func(x float64) float64 { return math.Exp(x + g.LogProb(x)) },
			limit*float64(i)/parts, limit*float64(i+1)/parts, points, nil, 0)
	}
	return sum / below
}

// FitArrivals fits the arrival model to submit times, which may be in any order. They are local times in seconds
// since a Monday's midnight, so that hours and weekdays are known. A gap at peak hours is the time between two
// consecutive jobs that both arrive in the peak hours of one day. The error wraps [ErrTooFew] (fewer than
// [MinSamples] gaps at peak hours), [ErrNoSpread] or [ErrValue].
func FitArrivals(local []float64, o ArrivalOptions) (ArrivalFit, error) {
	for i, t := range local {
		if math.IsNaN(t) || math.Abs(t) > maxLocal {
			return ArrivalFit{}, fmt.Errorf("hypergamma: submit time %d is %v: %w", i, t, ErrValue)
		}
	}
	sorted := slices.Sorted(slices.Values(local))
	f := ArrivalFit{}
	if err := f.fitGaps(sorted, max(o.LeastGap, leastGap)); err != nil {
		return ArrivalFit{}, err
	}
	if err := f.fitDay(sorted, o.Weekdays); err != nil {
		return ArrivalFit{}, err
	}
	return f, nil
}

// LocalSeconds returns the local time at t's location, in seconds since Monday, 5 January 1970, 0 h in local time.
// [FitArrivals] uses this scale. The daily cycle follows local time. If UTC were used instead of Stockholm's summer
// time, KTH's mean slot would be 0.8 later.
func LocalSeconds(t time.Time) float64 {
	_, offset := t.Zone()
	const monday = 4 * daySeconds // 1970-01-01 was a Thursday
	return float64(t.Unix()+int64(offset)-monday) + float64(t.Nanosecond())/1e9
}

// weekday returns the day of the week, with Monday as 0, and the seconds since midnight.
func weekday(local float64) (day int, second float64) {
	t := math.Mod(local, weekSeconds)
	if t < 0 {
		t += weekSeconds
	}
	day = min(int(t/daySeconds), 6)
	return day, t - float64(day)*daySeconds
}

func atPeak(local float64) bool {
	day, second := weekday(local)
	return day < workdays && second >= peakFrom && second < peakTo
}

// gaps sums up interarrival times.
type gaps struct {
	n       float64 // number of all gaps, including short ones
	sum     float64 // sum of all gaps in seconds
	longest float64
	dropped float64
	logs    moments // moments of ln gap over all hours; only n and sum are used
	peak    moments // moments of ln gap at peak hours
}

// add adds the gap between two consecutive submissions. If the gap is at peak hours, add returns its logarithm.
func (g *gaps) add(from, to, least, weight float64) (x float64, peak bool) {
	gap := to - from
	g.n += weight
	g.sum += weight * gap
	g.longest = max(g.longest, gap)
	if gap < least {
		g.dropped += weight
		return 0, false
	}
	x = math.Log(gap)
	g.logs.add(x, 0, weight)
	if gap < peakTo-peakFrom && atPeak(from) && atPeak(to) {
		g.peak.add(x, math.Log(x), weight)
		return x, true
	}
	return x, false
}

func (f *ArrivalFit) fitGaps(sorted []float64, least float64) error {
	var g gaps
	var peak []float64
	for i := 1; i < len(sorted); i++ {
		if x, ok := g.add(sorted[i-1], sorted[i], least, 1); ok {
			peak = append(peak, x)
		}
	}
	if err := f.setGaps(&g, least); err != nil {
		return err
	}
	f.PeakKS = ksSpots(tally(peak), float64(len(peak)), f.Peak.CDF)
	return nil
}

// setGaps sets all results that follow from the interarrival times, except PeakKS.
func (f *ArrivalFit) setGaps(g *gaps, least float64) error {
	f.PeakN, f.Dropped, f.Longest = int(math.Round(g.peak.n)), int(math.Round(g.dropped)), g.longest
	if g.n > 0 {
		f.MeanGap = g.sum / g.n
	}
	if g.peak.n < MinSamples-.5 {
		return fmt.Errorf("hypergamma: fit of arrivals: %d interarrivals of at least %.3g s at peak hours: %w (at "+
			"least %d needed)", f.PeakN, least, ErrTooFew, MinSamples)
	}
	law, ok := g.peak.fit()
	if !ok {
		return fmt.Errorf("hypergamma: fit of %d interarrivals at peak hours: %w", f.PeakN, ErrNoSpread)
	}
	f.Peak = law
	f.ARAR = g.logs.sum / g.logs.n / law.Mean()
	return nil
}

func (f *ArrivalFit) fitDay(sorted []float64, weekdays bool) error {
	var counts [Slots]float64
	for _, t := range sorted {
		if k, ok := halfHour(t, weekdays); ok {
			counts[k]++
		}
	}
	return f.setDay(&counts)
}

// halfHour returns the half hour of a submission, counted from midnight. If weekdays is true and the submission is on
// a weekend, ok is false.
func halfHour(local float64, weekdays bool) (k int, ok bool) {
	day, second := weekday(local)
	return min(int(second/SlotSeconds), Slots-1), !weekdays || day < workdays
}

func (f *ArrivalFit) setDay(counts *[Slots]float64) error {
	var m moments
	for k, n := range counts {
		t := slotNumber(k)
		m.add(t, math.Log(t), n)
	}
	f.DailyN = int(math.Round(m.n))
	if m.n < MinSamples-.5 {
		return fmt.Errorf("hypergamma: fit of the daily cycle to %d jobs: %w (at least %d needed)", f.DailyN,
			ErrTooFew, MinSamples)
	}
	for k, n := range counts {
		f.HalfHours[k] = n / m.n
	}
	g, ok := m.fit()
	if !ok {
		return fmt.Errorf("hypergamma: fit of the daily cycle: %w", ErrNoSpread)
	}
	f.Daily, f.Cycle = g, fitCycle(counts, g)
	spots := make([]spot, Slots)
	for i := range spots {
		k := (i + dayShift) % Slots
		spots[i] = spot{x: slotNumber(k), w: counts[k]}
	}
	f.DailyKS = ksSpots(spots, m.n, g.CDF)
	return nil
}

// slotNumber returns the number that the daily law gives to half hour k from midnight.
func slotNumber(k int) float64 {
	if k < dayShift {
		k += Slots
	}
	return float64(k + 1)
}
