package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/waitcast/waitcast/predictor/backtest"
)

// warning returns a warning that a log is too short to judge by. It is empty if the log is long enough.
func warning(s *section) string {
	switch {
	case s.None:
		return "This log cannot show how good forecasts would have been."
	case s.Few:
		return fmt.Sprintf("Too little to judge by: %s with a forecast and a known wait. waitcast trains its best "+
			"method from 300 waits on, and chance moves shares of so few jobs by many per cent. Give it a longer log.",
			jobs(s.Served.N))
	case s.Days < backtest.MinimumDays:
		return fmt.Sprintf("Too short to judge by: the scored jobs were submitted on %s. Jobs of one day share their "+
			"fate, and one burst of jobs alike can decide over all figures below. Give it a log of weeks or months.",
			numbered(s.Days, "day", "days"))
	}
	return ""
}

// lead describes the accuracy of the forecasts in plain sentences.
func lead(s *section) []string {
	switch {
	case s.None:
		return []string{noneSentence(s)}
	case s.Few:
		return []string{readSentence(s), errorSentence(s)}
	}
	return []string{readSentence(s), errorSentence(s), promiseSentence(s), boundSentence(s), rivalSentence(s)}
}

// noneSentence explains why no job is scored.
func noneSentence(s *section) string {
	p := &s.Population
	var why []string
	for _, of := range [...]struct {
		n    int
		what string
	}{{p.WarmUp, "only to be learnt from"}, {p.NoForecast, "submitted before any wait was known to learn from"},
		{p.Cancelled, "cancelled while waiting"}, {p.WaitUnknown, "without a wait in the log"},
		{p.NoStart, "without a start in the log"}} {
		if of.n > 0 {
			why = append(why, fmt.Sprintf("%s %s", count(of.n), of.what))
		}
	}
	return fmt.Sprintf("A forecast is scored by the time from a job's submission to its start. Of the %s in this log "+
		"none can be scored: %s.", jobs(s.Jobs), strings.Join(why, ", "))
}

func readSentence(s *section) string {
	p := &s.Population
	text := fmt.Sprintf("waitcast went through the %s of this log as if they were submitted now, and forecast "+
		"each one's wait from what was known at its submission.", jobs(s.Jobs))
	if n := s.ForecastJobs; n > 0 {
		text = fmt.Sprintf("waitcast went through the %s of this log as if they were submitted now, in a hurry: it "+
			"forecast the waits of the last %s only, from what was known at their submission.", jobs(s.Jobs), count(n))
	}
	others := s.Jobs
	if p.WarmUp > 0 {
		text += fmt.Sprintf(" The first %s only taught it.", count(p.WarmUp))
		others -= p.WarmUp
	}
	switch {
	case p.Scored == others && p.WarmUp > 0:
		return text + fmt.Sprintf(" The other %s are scored.", count(others))
	case p.Scored == others:
		return text + " All are scored."
	case p.WarmUp > 0:
		return text + fmt.Sprintf(" Of the other %s, %s are scored; what became of the rest is listed below.",
			count(others), count(p.Scored))
	}
	return text + fmt.Sprintf(" %s of them are scored; what became of the rest is listed below.", count(p.Scored))
}

func errorSentence(s *section) string {
	text := fmt.Sprintf("Half of the jobs started within %s of the median that it gave%s; the median wait was %s, and "+
		"one job in ten waited more than %s.", secondsOr(s.All.MedianAbsError), qbetsError(s, s.All),
		seconds(s.All.Wait[1]), seconds(s.All.Wait[2]))
	if l := s.Long; l != nil && l.N >= fewLong && l.N < s.All.N {
		text += fmt.Sprintf(" Of the %s for which it gave more than a minute, half started within %s of it%s; their "+
			"median wait was %s.", jobs(l.N), secondsOr(l.MedianAbsError), qbetsError(s, l), seconds(l.Wait[1]))
	}
	return text
}

// fewLong is the minimum number of forecasts above a minute for which the first sentences mention these forecasts.
const fewLong = 100

// qbetsError returns the error of QBETS in parentheses, to follow that of waitcast. It is empty if QBETS had no answer
// for some of the jobs.
func qbetsError(s *section, g *backtest.Group) string {
	if s.QBETS.N != s.Served.N {
		return ""
	}
	return fmt.Sprintf(" (QBETS: %s)", secondsOr(g.QBETSAbsError))
}

// promiseSentence describes whether the covered shares met the promise.
func promiseSentence(s *section) string {
	median := s.Served.Coverage["0.5"]
	text := fmt.Sprintf("%s of 100 jobs started within its 95 %% bound, and %s of 100 within its median",
		ofHundred(s.Served.Coverage["0.95"][1]), ofHundred(median[1]))
	if exact := median[1] - median[0]; exact > .02 {
		text += fmt.Sprintf(" (%s of them exactly by then: mostly jobs that did not wait)", ofHundred(exact))
	}
	text += "."
	var missed []string
	for _, l := range levels() {
		if !s.Served.Calibration.Whole[l.Key].Holds {
			missed = append(missed, l.Percent)
		}
	}
	if len(missed) == 0 {
		return text + " Every level kept its promise to within 2 in 100."
	}
	return text + fmt.Sprintf(" The promise was missed by more than 2 in 100 at %s.", strings.Join(missed, ", "))
}

func boundSentence(s *section) string {
	c := rival(s, "qbets")
	if c == nil || c.BoundRatio == nil {
		return "QBETS, a published method that looks at the waits of a queue alone, had no forecast to compare with."
	}
	text := "QBETS, a published method that looks at the waits of a queue alone, would have given a typical job a " +
		"95 % bound "
	switch ratio := *c.BoundRatio; {
	case ratio >= 1.005:
		text += fmt.Sprintf("%.2f times as long", ratio)
	case ratio >= 0.995:
		text += "as long as that of waitcast"
	default:
		text += fmt.Sprintf("%.2f times as long, shorter than that of waitcast", ratio)
	}
	return text + fmt.Sprintf("; %s of 100 jobs would have started within it.",
		ofHundred(s.QBETS.Coverage["0.95"][1]))
}

// rivalSentence describes the mean factor between medians and waits. The loss of a median is half the mean of
// |ln((wait + 60 s) / (median + 60 s))|. So e^(2 loss) is the geometric mean of the factor.
func rivalSentence(s *section) string {
	text := fmt.Sprintf("On average its median was off by a factor of %s, a minute added to both",
		factor(s.Served.LogPinball["0.5"]))
	var parts []string
	for i := range s.Comparisons {
		c := &s.Comparisons[i]
		r, ok := c.Levels["0.5"]
		if !ok || r.Ratio == nil || s.meaningless(c.Method) {
			continue
		}
		part := rivalPhrase(c.Method) + " by " + factor(r.Other)
		if c.N < s.Served.N*99/100 {
			part += fmt.Sprintf(" (on the %s for which it had a forecast; waitcast by %s there)", jobs(c.N),
				factor(r.Waitcast))
		}
		if r.Chance != nil && r.Chance[0] <= 1 && r.Chance[1] >= 1 {
			part += " (no difference beyond chance)"
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return text + "."
	}
	if n := len(parts); n > 1 {
		parts = append(parts[:n-2], parts[n-2]+", and "+parts[n-1])
	}
	return text + ": " + strings.Join(parts, ", ") + "."
}

// meaningless reports whether a method cannot work on this log, such as a plan from time limits without limits.
func (s *section) meaningless(method string) bool {
	return method == "limits" && s.Population.WithLimit == 0
}

// factor formats the geometric mean factor for a mean loss of the median (see rivalSentence).
func factor(loss float64) string { return strconv.FormatFloat(math.Exp(2*loss), 'f', 1, 64) }

// rivalPhrase names a method in a sentence.
func rivalPhrase(method string) string {
	switch method {
	case "limits":
		return "that of a plan from the time limits"
	case "recent":
		return "that of the newest waits of jobs alike"
	case backtest.BestConstant:
		return "one number for all jobs, the best in hindsight,"
	}
	return "that of " + methodName(method)
}

// rival returns the comparison with a method, nil if no job was compared.
func rival(s *section, method string) *backtest.Comparison {
	for i := range s.Comparisons {
		if s.Comparisons[i].Method == method && s.Comparisons[i].N > 0 {
			return &s.Comparisons[i]
		}
	}
	return nil
}

// unknown returns sentences about what the log cannot show: attributes that more than a tenth of its jobs lack, the
// state of the cluster, the waits of cancelled jobs, and the future.
func unknown(s *section) (out []string) {
	p := &s.Population
	part := func(n int, what, so string) {
		switch {
		case n == 0:
			out = append(out, fmt.Sprintf("The log has no %s. %s", what, so))
		case n < s.Jobs*9/10:
			share := percent(float64(n) / float64(s.Jobs))
			out = append(out, fmt.Sprintf("Only %s of the jobs have %s. %s", share, what, so))
		}
	}
	part(p.WithPriority, "priorities",
		"waitcast had to guess the order of the queue. A daemon that may ask the scheduler knows it better.")
	part(p.WithLimit, "time limits", "Time limits help to foretell when processors become free.")
	part(p.WithUser, "users", "waitcast learns from what a user's jobs did before.")
	out = append(out, "An accounting log has no nodes that were down, no reservations and no limits of accounts. A "+
		"daemon that may ask the scheduler (Slurm: squeue, scontrol) knows of them.")
	if p.Cancelled > 0 {
		high := s.Served.WithCancelled.Coverage["0.95"]
		out = append(out, fmt.Sprintf("%s cancelled while waiting; nobody knows when they would have started. With "+
			"them counted by the time until their cancellation, as a daemon publishes it, %s of the jobs started "+
			"within the 95 %% bound.", numbered(p.Cancelled, "job was", "jobs were"), coveredRange(high)))
	}
	return append(out, "Nobody acted on these forecasts. Where users do, the queue may change.",
		"The past is no proof: other rules, other machines or other users mean other waits. waitcast notices such "+
			"changes and learns again, and its page shows how forecasts turn out.")
}
