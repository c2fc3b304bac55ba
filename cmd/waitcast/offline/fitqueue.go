package offline

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/waitcast/waitcast/swf"
	"github.com/waitcast/waitcast/workload/lifetime"
	"github.com/waitcast/waitcast/workload/uniformlog"
)

// sequentialClass is the name of the class of jobs with one processor, if these jobs form a class of their own.
const sequentialClass = "sequential"

// Grouping defines which jobs share a law. By default each queue has its own law. Downey (1996, section 4.1) joined
// queues by the last letter of their names, and separated sequential jobs.
type Grouping struct {
	Groups     []string // the given NAME=PATTERN
	Sequential bool
	Keep       []string // queues and groups whose sequential jobs are not separated

	names, patterns []string
}

// flags defines the flags of a grouping.
func (g *Grouping) flags(c *cobra.Command) {
	c.Flags().StringArrayVar(&g.Groups, "group", nil, "NAME=PATTERN: fit queues whose names match the pattern "+
		"together, as 'short=*s'; can be given several times, the first match counts")
	c.Flags().BoolVar(&g.Sequential, "sequential", false, "fit jobs on one processor separately")
	c.Flags().StringSliceVar(&g.Keep, "sequential-keep", nil,
		"queues, or groups, whose jobs on one processor stay with the others")
}

// Parse checks the flags.
func (g *Grouping) Parse() error {
	g.names, g.patterns = nil, nil
	for _, text := range g.Groups {
		name, pattern, ok := strings.Cut(text, "=")
		if !ok || name == "" || pattern == "" {
			return fmt.Errorf("--group is %q; want NAME=PATTERN, as 'short=*s'", text)
		}
		if _, err := path.Match(pattern, ""); err != nil {
			return fmt.Errorf("--group %s: %q is not a pattern: it has * ? [...]", text, pattern)
		}
		g.names, g.patterns = append(g.names, name), append(g.patterns, pattern)
	}
	if len(g.Keep) > 0 && !g.Sequential {
		return errors.New("--sequential-keep goes with --sequential")
	}
	return nil
}

// Class returns the class of a job.
func (g *Grouping) Class(queue string, procs int64) string {
	class := queue
	for i, pattern := range g.patterns {
		if ok, _ := path.Match(pattern, queue); ok { // the pattern is valid, because Parse has checked it
			class = g.names[i]
			break
		}
	}
	if g.Sequential && procs == 1 && !slices.Contains(g.Keep, queue) && !slices.Contains(g.Keep, class) {
		return sequentialClass
	}
	return class
}

// queueFit has Downey's law of a queue, or the reason why there is none.
type queueFit struct {
	Queue   string    `json:"queue"`
	Jobs    int       `json:"jobs"` // number of jobs with a positive runtime
	Law     *queueLaw `json:"law,omitempty"`
	Missing string    `json:"missing,omitempty"`
}

type queueLaw struct {
	uniformlog.Model
	R2       float64  `json:"r2"`
	TMin     float64  `json:"t_min_seconds"`
	TMax     float64  `json:"t_max_seconds"`
	Goodness goodness `json:"goodness"`
}

// byQueue groups the records with a positive runtime by their classes.
func byQueue(r *recording, g *Grouping) (names []string, of map[string][]*swf.Record) {
	of = map[string][]*swf.Record{}
	for i := range r.records {
		if rec := &r.records[i]; rec.Runtime > 0 {
			name := g.Class(r.header.QueueName(rec), rec.Procs())
			of[name] = append(of[name], rec)
		}
	}
	for name := range of {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, of
}

// runtimesOf returns the runtimes of records in seconds.
func runtimesOf(records []*swf.Record) []float64 {
	out := make([]float64, len(records))
	for i, rec := range records {
		out[i] = float64(rec.Runtime)
	}
	return out
}

// fitQueues fits Downey's law to the runtimes of each class. It returns an error if no class can be fitted.
func fitQueues(r *recording, g *Grouping) ([]queueFit, error) {
	names, of := byQueue(r, g)
	out := make([]queueFit, 0, len(names))
	var failures []error
	for _, name := range names {
		q := queueFit{Queue: name, Jobs: len(of[name])}
		values := runtimesOf(of[name])
		f, err := uniformlog.FitValues(values)
		if err != nil {
			q.Missing = err.Error()
			failures = append(failures, fmt.Errorf("queue %s: %w", name, err))
			out = append(out, q)
			continue
		}
		q.Law = &queueLaw{Model: f.Model, R2: f.R2, TMin: f.TMin(), TMax: min(f.TMax(), math.MaxFloat64)}
		if q.Law.Goodness, err = judge(values, f.CDF); err != nil {
			return nil, err
		}
		out = append(out, q)
	}
	if len(failures) == len(names) {
		return nil, fmt.Errorf("none of %d queues could be fitted; the first: %w", len(names), failures[0])
	}
	return out, nil
}

// lifetimeFit has the scores of the laws of lifetimes for a class, or the reason why there are none.
type lifetimeFit struct {
	Queue  string  `json:"queue"`
	Jobs   int     `json:"jobs"`                    // number of jobs with a positive runtime
	Limit  float64 `json:"limit_seconds,omitempty"` // the longest time limit of the class's jobs
	Chosen string  `json:"chosen,omitempty"`        // name of the law with the best score
	// Median and P95 are quantiles of the chosen law after its last fit.
	Median  float64 `json:"median_seconds,omitempty"`
	P95     float64 `json:"p95_seconds,omitempty"`
	Missing string  `json:"missing,omitempty"`
	// Laws lists the laws that were compared, the best first. A law's score is its mean log score on jobs to which it
	// had not been fitted yet.
	Laws []lifetime.Standing `json:"laws,omitempty"`
}

// firstFit is the number of jobs after which a lifetime.Selector fits for the first time.
const firstFit = 64

// compareLifetimes scores the laws of lifetimes on the jobs of each class, in the order of their ends. Each job is
// scored before the laws learn from it. If no class has a law, it returns an error.
func compareLifetimes(r *recording, g *Grouping) ([]lifetimeFit, error) {
	names, of := byQueue(r, g)
	out := make([]lifetimeFit, 0, len(names))
	found := false
	for _, name := range names {
		fit, err := compareClass(name, of[name])
		if err != nil {
			return nil, fmt.Errorf("queue %s: %w", name, err)
		}
		found = found || fit.Chosen != ""
		out = append(out, fit)
	}
	if !found {
		return nil, fmt.Errorf("no queue has a law: at least %d ended jobs needed", lifetime.MinSamples)
	}
	return out, nil
}

func compareClass(name string, records []*swf.Record) (lifetimeFit, error) {
	out := lifetimeFit{Queue: name, Jobs: len(records)}
	end := func(rec *swf.Record) int64 { return rec.Submit + max(0, rec.Wait) + rec.Runtime }
	records = slices.Clone(records)
	slices.SortStableFunc(records, func(a, b *swf.Record) int { return cmp.Compare(end(a), end(b)) })
	for _, rec := range records {
		out.Limit = max(out.Limit, float64(rec.TimeLimit))
	}
	selector := lifetime.NewSelector(lifetime.Candidates(out.Limit), lifetime.Options{})
	for _, rec := range records {
		if err := selector.Observe(lifetime.Observation{Seconds: float64(rec.Runtime)}); err != nil {
			return out, err
		}
	}
	law, chosen, ok := selector.Best()
	if !ok {
		out.Missing = fmt.Sprintf("no law yet: of %d jobs, laws are first fitted to %d", out.Jobs, firstFit)
		return out, nil
	}
	out.Chosen, out.Median, out.P95, out.Laws = chosen, law.Quantile(.5), law.Quantile(.95), selector.Standings()
	return out, nil
}
