package liveload

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/waitcast/waitcast/job/waittime"
)

// Case is one submission of a run with its forecast and its outcome. Waits and quantiles are in seconds.
type Case struct {
	Seed   uint64
	Number int // index in the load, from 0
	Queue  string
	Submit time.Time
	// Quantiles are the forecast quantiles at waittime.Levels; +Inf means "never". It is nil if there was no answer.
	Quantiles []float64
	// Recent is the 0.9 quantile of the newest waits in the queue that were known at the submission (see
	// recentQuantile); NaN if none was known.
	Recent float64
	// TestOnly is the absolute error of the start time that `sbatch --test-only` printed. It is NaN if the command
	// printed none, or if the job did not start.
	TestOnly float64
	// Wait is the job's wait from sacct, in whole seconds; +Inf if it never started.
	Wait float64
	// Left is the time from the submission to the cancellation of a job that did not start, in seconds, at least 1; 0
	// if it was not cancelled.
	Left float64
	// Needs and Kept are set only for binding loads.
	Needs Needs
	Kept  Kept
	// LogWait is the wait from slurmctld.log, exact to the millisecond. It is NaN if the log lacks the submission or
	// the start.
	LogWait float64
}

// Kept has the causes that kept a job from starting: the forecast ones and the observed ones.
type Kept struct {
	// Answered is the class of the cause in the answer, "" if there is none. Predicted is the class of the predicted
	// cause in the ledger. Settled is the class of the first settled reason in squeue's output, "" if none was settled
	// before the job started.
	Answered, Predicted, Settled string
	// Blocked is the number of seconds for which squeue showed a limit or a hold as the reason.
	Blocked float64
}

// recentWaits is the number of waits from which recentQuantile computes a quantile.
const recentWaits = 50

// cases returns the submissions of a run that Slurm accepted, in order. fates and logged have the outcomes and the
// waits from slurmctld.log, by job.
func cases(records []Record, fates map[string]Fate, logged map[string]float64) ([]Case, error) {
	var out []Case
	for i := range records {
		r := &records[i]
		if r.ID == "" {
			continue
		}
		f, ok := fates[r.ID]
		if !ok {
			return nil, fmt.Errorf("seed %d: nothing is known of the end of job %s", r.Seed, r.ID)
		}
		c := Case{
			Seed: r.Seed, Number: r.Number, Queue: r.Queue, Submit: f.Submit, Wait: math.Inf(1), TestOnly: math.NaN(),
			LogWait: math.NaN(),
			Recent:  recentQuantile(records, fates, r.Queue, r.Answer.Asked), Needs: r.Needs,
		}
		if !f.Start.IsZero() {
			c.Wait = f.Wait()
			if !r.TestOnly.Start.IsZero() {
				c.TestOnly = math.Abs(r.TestOnly.Start.Sub(f.Start).Seconds())
			}
		} else if !f.End.IsZero() {
			c.Left = max(1, f.End.Sub(f.Submit).Seconds())
		}
		if wait, ok := logged[r.ID]; ok {
			c.LogWait = wait
		}
		served, err := r.Answer.Quantiles()
		if err != nil {
			return nil, fmt.Errorf("seed %d: job %s: %w", r.Seed, r.ID, err)
		}
		if served != nil {
			for _, level := range waittime.Levels() {
				q, ok := served[level]
				if !ok {
					return nil, fmt.Errorf("seed %d: job %s: no quantile of level %g", r.Seed, r.ID, level)
				}
				c.Quantiles = append(c.Quantiles, q)
			}
		}
		out = append(out, c)
	}
	return out, nil
}

// recentQuantile returns the 0.9 quantile of the waits in a queue of the recentWaits jobs that started last, not later
// than the instant at. The quantile is the smallest of these waits that at least 9/10 of them do not exceed. It is NaN
// if there are none.
func recentQuantile(records []Record, fates map[string]Fate, queue string, at time.Time) float64 {
	var known []Fate
	for i := range records {
		f := fates[records[i].ID]
		if records[i].Queue == queue && !f.Start.IsZero() && !f.Start.After(at) {
			known = append(known, f)
		}
	}
	if len(known) == 0 {
		return math.NaN()
	}
	slices.SortStableFunc(known, func(a, b Fate) int { return a.Start.Compare(b.Start) })
	known = known[max(0, len(known)-recentWaits):]
	slices.SortFunc(known, func(a, b Fate) int { return cmp.Compare(a.Wait(), b.Wait()) })
	return known[(9*len(known)+9)/10-1].Wait()
}

// Figures has measures of the quality of the forecasts of some submissions.
type Figures struct {
	// Jobs is the number of submissions. Answered is the number of submissions with an answer. All other figures are
	// about the answered ones.
	Jobs, Answered int
	// Cancelled is the number of jobs that were cancelled before their start. Such a job counts in the coverage of
	// those levels whose quantile had passed when it was cancelled. It counts in no error or loss.
	Cancelled int
	// Below and UpTo are the shares of jobs with W < q and with W <= q, where W is the wait and q the quantile, for
	// each of waittime.Levels.
	Below, UpTo []float64
	// Error is the median of the absolute errors of the 0.5 quantile, in seconds.
	Error float64
	// Compared is the number of jobs for which `sbatch --test-only` printed a start time, and which started. TestOnly
	// is the median of its absolute errors on these jobs. ErrorThere is the Error of waitcast on the same jobs. Both
	// are in seconds.
	Compared             int
	TestOnly, ErrorThere float64
	// Width is the median of the 0.9 quantiles of the forecasts. RecentJobs is the number of jobs with Case.Recent.
	// RecentWidth is the median of Case.Recent over these jobs. RecentUpTo is the share of these jobs whose wait is at
	// most Case.Recent.
	Width, RecentWidth, RecentUpTo float64
	RecentJobs                     int
	// Loss50 and Loss95 are the mean pinball losses of the 0.5 and of the 0.95 quantile, on the logarithmic scale of
	// waittime.Log.
	Loss50, Loss95 float64
}

// Judge returns the figures of some submissions. Shares, means and medians over no submissions are NaN.
func Judge(all []Case) Figures {
	levels := waittime.Levels()
	f := Figures{Jobs: len(all), Below: make([]float64, len(levels)), UpTo: make([]float64, len(levels))}
	var wrong, widths, there, testOnly, recent []float64
	covered, decided := 0, make([]float64, len(levels))
	for i := range all {
		c := &all[i]
		if c.Quantiles == nil {
			continue
		}
		f.Answered++
		for l, q := range c.Quantiles {
			if c.Left > 0 && c.Left < q {
				continue
			}
			decided[l]++
			if c.Wait < q {
				f.Below[l]++
			}
			if c.Wait <= q && !math.IsInf(c.Wait, 1) || math.IsInf(q, 1) {
				f.UpTo[l]++
			}
		}
		widths = append(widths, c.Quantiles[slices.Index(levels, .9)])
		if c.Left > 0 {
			f.Cancelled++
			continue
		}
		off := math.Inf(1)
		if !math.IsInf(c.Wait, 1) {
			off = math.Abs(c.Quantiles[waittime.Median] - c.Wait)
		}
		wrong = append(wrong, off)
		if !math.IsNaN(c.TestOnly) {
			there, testOnly = append(there, off), append(testOnly, c.TestOnly)
		}
		if !math.IsNaN(c.Recent) {
			recent = append(recent, c.Recent)
			if c.Wait <= c.Recent {
				covered++
			}
		}
		f.Loss50 += logLoss(.5, c.Quantiles[waittime.Median], c.Wait)
		f.Loss95 += logLoss(.95, c.Quantiles[slices.Index(levels, .95)], c.Wait)
	}
	n := float64(f.Answered - f.Cancelled)
	for l := range levels {
		f.Below[l] /= decided[l]
		f.UpTo[l] /= decided[l]
	}
	f.Loss50, f.Loss95 = f.Loss50/n, f.Loss95/n
	f.Error, f.Width = median(wrong), median(widths)
	f.Compared, f.TestOnly, f.ErrorThere = len(testOnly), median(testOnly), median(there)
	f.RecentJobs, f.RecentWidth, f.RecentUpTo = len(recent), median(recent), float64(covered)/float64(len(recent))
	return f
}

// logLoss returns the pinball loss of the quantile q on the logarithmic scale of waittime.Log. "Never" counts as a
// year.
func logLoss(level, q, wait float64) float64 {
	bounded := func(x float64) float64 {
		if waittime.IsNever(x) {
			return waittime.ScoredNever
		}
		return x
	}
	return waittime.Pinball(level, waittime.Log(bounded(q)), waittime.Log(bounded(wait)))
}

// median returns the middle value, or the mean of the two middle values. It returns NaN if there are no values.
func median(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	v = slices.Sorted(slices.Values(v))
	low, high := v[(len(v)-1)/2], v[len(v)/2]
	if low == high { // true also if both are +Inf
		return low
	}
	return (low + high) / 2
}

// decidedAt returns the coverage of a level over the submissions that are decided at the instant asOf: the submission
// plus the quantile is not after asOf. n is the number of these submissions. Submissions that were cancelled before
// their quantile are left out.
func decidedAt(all []Case, level float64, asOf time.Time) (covered float64, n int) {
	l := slices.Index(waittime.Levels(), level)
	hits := 0
	for i := range all {
		c := &all[i]
		if c.Quantiles == nil || c.Quantiles[l] > asOf.Sub(c.Submit).Seconds() ||
			c.Left > 0 && c.Left < c.Quantiles[l] {
			continue
		}
		n++
		if c.Wait <= c.Quantiles[l] {
			hits++
		}
	}
	return float64(hits) / float64(n), n
}
