package ask

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/internal/duration"
	"github.com/waitcast/waitcast/job/waittime"
)

// futureInstant parses a future time: in RFC 3339, or as a duration from now.
func futureInstant(field, text string, now time.Time) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		d, err := duration.Parse(text)
		if err != nil {
			return at,
				Invalid(field, "want an instant such as 2026-03-02T18:00:00Z, or how long from now; "+err.Error())
		}
		at = now.Add(d)
	}
	if !at.After(now) {
		return at, Invalid(field, fmt.Sprintf("%s is not in the future: it is %s", at.UTC().Format(time.RFC3339),
			now.UTC().Format(time.RFC3339)))
	}
	return at, nil
}

// startBy parses the deadline for a start; an empty text gives the zero Time. It refuses a text such as 09:00, which as
// a duration would mean nine minutes.
func startBy(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if regexp.MustCompile(`^\d{1,2}:\d{2}(:\d{2})?$`).MatchString(text) {
		return time.Time{}, Invalid("by", fmt.Sprintf("%s lacks its date and zone: write an instant such as %s, or "+
			"how long from now with units, such as 2h", text, now.UTC().Add(time.Hour).Format(time.RFC3339)))
	}
	return futureInstant("by", text, now)
}

// probabilityBy returns the probability of a start by an instant, nil for the zero Time.
func probabilityBy(d *waittime.Distribution, by, now time.Time) *wire.StartBy {
	if by.IsZero() {
		return nil
	}
	seconds := by.Sub(now).Seconds()
	least, most := d.Bounds(seconds)
	return &wire.StartBy{
		At: by.UTC().Truncate(time.Millisecond), Probability: decimals(d.CDF(seconds), 6), AtLeast: least,
		AtMost: most,
	}
}

const (
	// curvePoints is the number of equal steps of a curve.
	curvePoints = 120
	// curveBeyond is the length of the part of a curve above the highest finite quantile, on the logarithmic scale. It
	// is small, because values above the highest quantile are guesses. A highest quantile below leastCurve seconds
	// counts as leastCurve.
	curveBeyond, leastCurve = .45, 600
)

// drawn returns points of a distribution for drawing: equal steps on the logarithmic scale, and the finite quantiles,
// in rising order.
func drawn(d *waittime.Distribution) []wire.CurvePoint {
	var at []float64
	highest := float64(leastCurve)
	for _, q := range d.Quantiles() {
		if !math.IsInf(q, 1) {
			at, highest = append(at, q), math.Max(highest, q)
		}
	}
	from, to := waittime.Log(0), waittime.Log(highest)+curveBeyond
	for i := range curvePoints + 1 {
		at = append(at, waittime.Unlog(from+(to-from)*float64(i)/curvePoints))
	}
	slices.Sort(at)
	out := make([]wire.CurvePoint, 0, len(at))
	for _, s := range slices.Compact(at) {
		out = append(out, wire.CurvePoint{Seconds: decimals(s, 3), Probability: decimals(d.CDF(s), 6)})
	}
	return out
}
