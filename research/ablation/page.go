package ablation

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/waitcast/waitcast/predictor/engine/ensemble"
)

// Change is a change of the loss by a variant. Part is the increase over the loss of the whole engine, as a share of
// that loss, on the days that both have. Error is the standard error of Part.
type Change struct{ Part, Error float64 }

// week is the number of days that are taken together as one sample, because waits on consecutive days are correlated.
const week = 7

// ChangeOf returns the change of the loss from one result to another, at the level with the given index. The argument
// nothing is the result of the whole engine, and the argument of is that of a variant. Its error is the standard error
// of a ratio of sums, with weeks as the sampled units (W. Cochran, Sampling Techniques, 1977, equation 2.39). The error
// is NaN if there are fewer than two weeks.
func ChangeOf(of, nothing *Result, level int) Change {
	type pair struct{ of, nothing float64 }
	weeks := map[int]*pair{}
	for day, d := range of.Days {
		n := nothing.Days[day]
		if n == nil {
			continue
		}
		w := weeks[day/week]
		if w == nil {
			w = &pair{}
			weeks[day/week] = w
		}
		w.of += d.Sum[level]
		w.nothing += n.Sum[level]
	}
	var sum pair
	for _, w := range weeks {
		sum.of += w.of
		sum.nothing += w.nothing
	}
	ratio, squares := sum.of/sum.nothing, 0.
	for _, w := range weeks {
		squares += (w.of - ratio*w.nothing) * (w.of - ratio*w.nothing)
	}
	n := float64(len(weeks))
	c := Change{Part: ratio - 1, Error: math.NaN()}
	if n >= 2 {
		c.Error = math.Sqrt(squares*n/(n-1)) / sum.nothing
	}
	return c
}

// Page returns the results as a page in Markdown, with the tables of each trace under its name.
func (s *Study) Page() (string, error) {
	results, err := s.Results()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(introduction)
	for _, file := range s.Traces {
		name := nameOf(file)
		nothing := results[name][Nothing]
		if nothing == nil {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\nThe first %d jobs, of which %d are scored.\n\n", name, nothing.Jobs,
			nothing.Total().N)
		s.variants(&b, results[name], nothing)
		experts(&b, nothing)
	}
	return b.String(), nil
}

const introduction = `# What each part of the engine is worth

` + "`go run -C research ./cmd/ablation`" + ` replays the first half of each log: once with nothing left out, once without
each group of features, rule or expert, and once with an oracle. Trees are trained again each time. The loss is the mean
pinball loss of ln(wait + 60 s); the first tenth of the jobs is not scored. The number in brackets is the change in
percent of the loss with nothing left out, with its standard error over weeks (the ratio of two sums). If it is above 0,
the part that is left out lowers the loss.

` + "`gates` and `priority`" + ` are rules of the scheduler that simulations use. The names of experts begin with
*expert*. All other parts are groups of features. *oracle runtimes* adds features that no real forecast can have: the
waits that follow from the true runtimes of the running jobs. Logs and parts that are not in the tables were not
measured.
`

// variants writes a table with the loss of each variant, and its change against the whole engine.
func (s *Study) variants(b *strings.Builder, results map[string]*Result, nothing *Result) {
	b.WriteString("| left out | loss .5 | .9 | .95 |\n|---|---|---|---|\n")
	for _, variant := range s.Variants {
		r := results[variant]
		if r == nil {
			continue
		}
		total := r.Total()
		fmt.Fprintf(b, "| %s |", strings.Replace(variant, OracleRuntimes, "nothing, *oracle runtimes*", 1))
		for l := range Levels() {
			fmt.Fprintf(b, " %.4f", total.Mean(l))
			if r != nothing {
				c := ChangeOf(r, nothing, l)
				fmt.Fprintf(b, " (%+.1f ± %.1f)", 100*c.Part, 100*c.Error)
			}
			b.WriteString(" |")
		}
		b.WriteString("\n")
	}
}

// experts writes a table with the loss of each expert alone and its mean weights, sorted by the loss at the first
// level.
func experts(b *strings.Builder, r *Result) {
	b.WriteString("\nThe table shows each expert alone, on the jobs for which it has a forecast, and its mean " +
		"weight:\n\n| expert | jobs | loss .5 | .9 | .95 | weight .5 | .9 | .95 |\n|---|---|---|---|---|---|---|---|\n")
	names := slices.DeleteFunc(ensemble.Names(), func(name string) bool { return r.Experts[name] == nil })
	slices.SortStableFunc(names, func(x, y string) int {
		return cmp.Compare(r.Experts[x].Mean(0), r.Experts[y].Mean(0))
	})
	for _, name := range names {
		e := r.Experts[name]
		fmt.Fprintf(b, "| %s | %d |", name, e.N)
		for l := range Levels() {
			fmt.Fprintf(b, " %.4f |", e.Mean(l))
		}
		for l := range Levels() {
			fmt.Fprintf(b, " %.2f |", r.Weights[name][l])
		}
		b.WriteString("\n")
	}
}
