package liveload

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/job/waittime"
)

// readBinding adds to the cases of a binding load the data that only such a load has: the reasons from squeue, the
// causes that were answered and predicted, and the ledger's forecasts for jobs with needs that GET /v1/wait has no
// parameter for.
func (l *load) readBinding(records []Record) error {
	var settings Settings
	text, err := os.ReadFile(filepath.Join(l.dir, settingsFile)) //nolint:gosec // whoever runs this names it
	if os.IsNotExist(err) {
		return nil // recorded before reasons were recorded
	} else if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &settings); err != nil {
		return fmt.Errorf("%s: %w", l.dir, err)
	}
	if l.binding = settings.Plan.Binding; !l.binding {
		return nil
	}
	stretches, err := readLines[Stretch](filepath.Join(l.dir, reasonsFile))
	if err != nil {
		return err
	}
	byID := map[string][]Stretch{}
	for _, s := range stretches {
		byID[s.ID] = append(byID[s.ID], s)
	}
	rows, err := readLedger(context.Background(), filepath.Join(l.dir, databaseFile))
	if err != nil {
		return err
	}
	answers := map[string]*Answer{}
	for i := range records {
		answers[records[i].ID] = &records[i].Answer
	}
	for i, id := range l.ids {
		c := &l.cases[i]
		row := rows[id]
		if c.Needs.Unasked() {
			c.Quantiles = leveled(row.Levels, row.Quantiles)
		}
		if row.Parts != nil {
			c.Kept.Predicted = row.Parts.Predicted
		}
		if c.Kept.Answered, err = answers[id].cause(); err != nil {
			return fmt.Errorf("%s: job %s: %w", l.dir, id, err)
		}
		first := untilStart(byID[id], c)
		c.Kept.Settled = job.CauseOf(steadyReason(first)).String()
		c.Kept.Blocked = blockedSeconds(first)
	}
	return nil
}

// untilStart returns those stretches of the job of c that began at or before its first start, in order.
func untilStart(stretches []Stretch, c *Case) []Stretch {
	stretches = slices.Clone(stretches)
	slices.SortStableFunc(stretches, func(a, b Stretch) int { return a.From.Compare(b.From) })
	if math.IsInf(c.Wait, 1) {
		return stretches
	}
	return slices.DeleteFunc(stretches, func(s Stretch) bool { return s.From.Sub(c.Submit).Seconds() > c.Wait })
}

// cause returns the class of the cause in an answer, "" if the answer has none.
func (a *Answer) cause() (string, error) {
	if len(a.Wait) == 0 {
		return "", nil
	}
	var wait struct {
		Cause struct {
			Class string `json:"class"`
		} `json:"cause"`
	}
	err := json.Unmarshal(a.Wait, &wait)
	return wait.Cause.Class, err
}

// These are the targets for binding loads, besides mostOfTestOnly: bounds of the coverage of p90 over all jobs of all
// loads, and over the blocked jobs; the maximum error of waitcast in the worst load, relative to that of test-only; and
// the minimum share of jobs for which the class of the reason was predicted.
const (
	leastBindingP90, mostBindingP90 = .87, .93
	leastBlockedP90, mostBlockedP90 = .82, .96
	mostOfTestOnlyInLoad            = .5
	leastClasses                    = .9
)

// isKept reports whether the first settled reason for the wait of a job is a limit or a hold.
func isKept(c *Case) bool {
	return c.Kept.Settled == job.LimitReached.String() || c.Kept.Settled == job.OnHold.String()
}

// bindingReport prints the figures that only binding loads have, and compares them with their targets. all has the
// cases of all loads, and pooled their figures.
func bindingReport(w io.Writer, loads []*load, all []Case, pooled *Figures) {
	part := func(name string, keep func(*Case) bool) Figures {
		f := Judge(slices.DeleteFunc(slices.Clone(all), func(c Case) bool { return !keep(&c) }))
		line(w, name, &f)
		return f
	}
	blocked := part("  blocked", isKept)
	part("  blocked>=2s", func(c *Case) bool { return c.Kept.Blocked >= 2 })
	part("  never", func(c *Case) bool { return c.Kept.Blocked == 0 })
	for _, qos := range []string{"", "batch", "low", "high"} {
		part("  qos "+qos, func(c *Case) bool { return c.Needs.QOS == qos })
	}
	part("  GPUs", func(c *Case) bool { return c.Needs.GPUs > 0 })
	part("  memory", func(c *Case) bool { return c.Needs.ProcMemory+c.Needs.NodeMemory > 0 })
	part("  array", func(c *Case) bool { return c.Needs.Tasks > 0 })
	part("  begin/after", func(c *Case) bool { return c.Needs.Unasked() })
	for _, class := range classes() {
		part("  "+class, func(c *Case) bool { return c.Kept.Settled == class })
	}
	fmt.Fprintf(w, "cancelled while they waited: %d\n", pooled.Cancelled)
	asked := slices.DeleteFunc(slices.Clone(all), func(c Case) bool { return c.Needs.Unasked() })
	confusion(w, "answered, then settled", asked, func(c *Case) string { return c.Kept.Answered })
	agreement := confusion(w, "predicted, then settled", all, func(c *Case) string { return c.Kept.Predicted })
	worst := 0.0
	for _, l := range loads {
		f := Judge(l.cases)
		worst = max(worst, f.ErrorThere/f.TestOnly)
	}
	p90 := slices.Index(waittime.Levels(), .9)
	say := func(got, least, most float64, what string) {
		verdict := "ok  "
		if !(got >= least && got <= most) {
			verdict = "MISS"
		}
		fmt.Fprintf(w, "%s %-36s %.3f, from %.2f to %.2f\n", verdict, what, got, least, most)
	}
	say(pooled.ErrorThere/pooled.TestOnly, 0, mostOfTestOnly, "error by test-only's")
	say(worst, 0, mostOfTestOnlyInLoad, "the same of the worst load")
	say(pooled.UpTo[p90], leastBindingP90, mostBindingP90, "p90 covers")
	say(blocked.UpTo[p90], leastBlockedP90, mostBlockedP90, "p90 of blocked jobs covers")
	say(agreement, leastClasses, 1, "class of the reason predicted")
}

// classes returns the classes of causes, in the order of the rows and columns that confusion prints.
func classes() []string {
	return []string{
		job.Resources.String(), job.Priority.String(), job.LimitReached.String(), job.OnHold.String(),
		job.Unavailable.String(),
	}
}

// confusion prints how often each class was predicted for jobs with each settled reason, and returns the share of the
// jobs for which the two agree. It counts the jobs with a settled reason and an answer. class returns the predicted
// class.
func confusion(w io.Writer, title string, all []Case, class func(*Case) string) float64 {
	counts := map[[2]string]int{}
	n, same := 0, 0
	for i := range all {
		c := &all[i]
		if c.Kept.Settled == "" || c.Quantiles == nil {
			continue
		}
		counts[[2]string{class(c), c.Kept.Settled}]++
		if n++; class(c) == c.Kept.Settled {
			same++
		}
	}
	fmt.Fprintf(w, "%-24s", title)
	for _, name := range classes() {
		fmt.Fprintf(w, " %11s", name)
	}
	fmt.Fprintf(w, "\n")
	for _, predicted := range append([]string{""}, classes()...) {
		name := predicted
		if name == "" {
			name = "none"
		}
		fmt.Fprintf(w, "%-24s", "  "+name)
		for _, settled := range classes() {
			fmt.Fprintf(w, " %11d", counts[[2]string{predicted, settled}])
		}
		fmt.Fprintln(w)
	}
	share := float64(same) / float64(n)
	fmt.Fprintf(w, "  right for %.3f of %d\n", share, n)
	return share
}
