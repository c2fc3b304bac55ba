package ask

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/waitcast/waitcast/internal/duration"
)

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func were(n int) string {
	if n == 1 {
		return "1 job was"
	}
	return fmt.Sprintf("%d jobs were", n)
}

// percent formats a probability. It writes 0 % and 100 % only for exactly 0 and 1.
func percent(p float64) string {
	switch {
	case 0 < p && p < .01:
		return "less than 1 %"
	case .99 < p && p < 1:
		return "more than 99 %"
	}
	return fmt.Sprintf("%.0f %%", 100*p)
}

// spell formats seconds as a readable duration.
func spell(seconds float64) string {
	if math.IsInf(seconds, 1) {
		return "for ever"
	}
	return duration.Format(fromSeconds(seconds))
}

// about writes seconds in a sentence, rounded as people do. Another member of the answer has the exact figure.
func about(seconds float64) string {
	if math.IsInf(seconds, 1) {
		return "for ever"
	}
	return duration.Roughly(fromSeconds(seconds))
}

func limitText(limit time.Duration) string {
	if limit == 0 {
		return "no time limit"
	}
	return duration.Format(limit)
}

// LevelName formats a level for keys and labels: 0.95.
func LevelName(level float64) string { return strconv.FormatFloat(level, 'g', -1, 64) }
