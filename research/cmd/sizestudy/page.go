package main

import (
	"fmt"
	"strings"

	"github.com/waitcast/waitcast/research/sizestudy"
	"github.com/waitcast/waitcast/simulator"
)

// page returns the whole page in Markdown.
func (s *results) page() string {
	var b strings.Builder
	printf := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	printf(preface, s.Seeds, s.Jobs)
	s.promises(printf)
	b.WriteString(method)
	s.everybody(printf)
	s.system(printf)
	s.fairness(printf)
	s.hindsightTable(printf)
	s.weightsTable(printf)
	s.assumptions(printf)
	b.WriteString(limits)
	return b.String()
}

type printer func(format string, args ...any)

// percent formats a change and half the width of its interval, both in percent.
func percent(v interval) string {
	return fmt.Sprintf("%+.1f ± %.1f", 100*v.Mean, 50*(v.High-v.Low))
}

func verdict(holds bool) string {
	if holds {
		return "holds"
	}
	return "**missed**"
}

// promises prints a table of the promised results, the measured results, and whether the promises hold.
func (s *results) promises(printf printer) {
	served := s.Regrets[0].All
	median := meanOf(served, func(r *sizestudy.Regretted) float64 { return r.Median })
	whole := meanOf(served, func(r *sizestudy.Regretted) float64 { return r.WholeMedian })
	printf("| promised | measured | |\n|---|---|---|\n")
	printf("| against the best size in hindsight, KTH-SP2: median regret under 10 %% of turnaround | %.1f %% of what "+
		"came after the advice, %.1f %% of what came after the submission | %s |\n",
		100*median.Mean, 100*whole.Mean, verdict(median.Mean < .1 && whole.Mean < .1))
	for _, t := range s.Traces {
		v := find(s.Main, t, .7, sizestudy.Choice{Rule: sizestudy.AtHead, Share: 1}).Mean(change)
		printf("| advice at the head takes 20 %% off the mean turnaround of the requests at load .7, %s | %s %% | %s "+
			"|\n", t, percent(v), verdict(v.Mean <= -.2))
	}
	for _, rule := range []sizestudy.Rule{sizestudy.AtHead, sizestudy.AtSubmit, sizestudy.AtBoth} {
		w := s.worst(s.Main, rule)
		printf("| %s, never worse than a fixed rule by more than 2 %% at any load | at worst %+.1f %% (%.1f to %.1f) "+
			"against %s on %s at load %v | %s |\n",
			rule, 100*(w.Mean-1), 100*(w.Low-1), 100*(w.High-1), w.rule, w.trace, w.load, verdict(w.Mean <= 1.02))
	}
	printf("\n")
}

func meanOf(all []sizestudy.Regretted, of func(*sizestudy.Regretted) float64) interval {
	values := make([]float64, len(all))
	for i := range values {
		values[i] = of(&all[i])
	}
	v, err := simulator.Confidence(values, sizestudy.Level)
	if err != nil {
		return interval{}
	}
	return v
}

// table prints a table for one trace, with a line for each choice and a column for each load. The text of a cell comes
// from of.
func table(printf printer, cells []sizestudy.Cell, trace string, loads []float64, choices []sizestudy.Choice,
	of func(*sizestudy.Cell) string) {
	printf("| %s |", trace)
	for _, l := range loads {
		printf(" load %v |", l)
	}
	printf("\n|---|%s\n", strings.Repeat("---|", len(loads)))
	for _, c := range choices {
		printf("| %s |", label(c))
		for _, l := range loads {
			printf(" %s |", of(find(cells, trace, l, c)))
		}
		printf("\n")
	}
	printf("\n")
}

func label(c sizestudy.Choice) string {
	name := c.Rule.String()
	if selfish(c) {
		name += ", own finish alone"
	}
	if c.Share < 1 {
		name += fmt.Sprintf(", %.0f %% ask", 100*c.Share)
	}
	return name
}

func (s *results) everybody(printf printer) {
	printf("## Everybody asks\n\nThe first row shows the mean turnaround under the rule *user's request*, in hours. " +
		"The other rows show by how\nmany %% the mean turnaround changes under each rule, with the 95 %% confidence " +
		"interval.\n\n")
	all := append(everybody(), sizestudy.Choice{Rule: sizestudy.AtHead, Share: 1, Alone: true})
	for _, t := range s.Traces {
		table(printf, s.Main, t, s.Loads, all, func(c *sizestudy.Cell) string {
			if c.Choice.Rule == sizestudy.Request {
				return fmt.Sprintf("%.2f h", c.Mean(func(o *sizestudy.Outcome) float64 { return o.Mean }).Mean/3600)
			}
			return percent(c.Mean(change))
		})
	}
	printf("The next tables show the 95th percentile of turnaround in the same way:\n\n")
	for _, t := range s.Traces {
		table(printf, s.Main, t, s.Loads, all, func(c *sizestudy.Cell) string {
			if c.Choice.Rule == sizestudy.Request {
				return fmt.Sprintf("%.1f h", c.Mean(func(o *sizestudy.Outcome) float64 { return o.P95 }).Mean/3600)
			}
			return percent(c.Mean(p95))
		})
	}
	printf("%s", everybodyText)
}

func (s *results) system(printf printer) {
	printf("## The machine\n\nThe tables show utilization in %%, and in brackets the processor-hours of all jobs, " +
		"divided by those under\n*user's request*.\n\n")
	all := append(everybody(), sizestudy.Choice{Rule: sizestudy.AtHead, Share: 1, Alone: true})
	for _, t := range s.Traces {
		table(printf, s.Main, t, s.Loads, all, func(c *sizestudy.Cell) string {
			return fmt.Sprintf("%.0f (%.2f)", 100*c.Mean(utilization).Mean, c.Mean(work).Mean)
		})
	}
	printf("%s", systemText)
}

func (s *results) fairness(printf printer) {
	printf("## Who gains\n\nThe tables show by how many %% the mean turnaround changes, compared with the same jobs " +
		"under *user's request*.\nThe first number is for the jobs that ask, the second for all others. Jobs that " +
		"can run at only one size never\nask, so they always count among the others.\n\n")
	var some []sizestudy.Choice
	for _, c := range choices() {
		if c.Rule.Advised() {
			some = append(some, c)
		}
	}
	for _, t := range s.Traces {
		table(printf, s.Main, t, s.Loads, some, func(c *sizestudy.Cell) string {
			return percent(c.Mean(askers)) + " / " + percent(c.Mean(others))
		})
	}
	printf("The next tables show the share in %% of users with ten jobs or more whose mean turnaround is more " +
		"than 5 %%\nlonger than under *user's request*:\n\n")
	for _, t := range s.Traces {
		table(printf, s.Main, t, s.Loads, some, func(c *sizestudy.Cell) string {
			return fmt.Sprintf("%.0f", 100*c.Mean(usersWorse).Mean)
		})
	}
	printf("%s", fairText)
}

func (s *results) hindsightTable(printf printer) {
	printf(hindsightText, len(s.Regrets[0].All))
	printf("| objective | advices a run | median regret, %% of turnaround from the advice | mean | nine of ten below " +
		"| median, %% of turnaround from the submission | mean | the best size was chosen, %% " +
		"|\n|---|---|---|---|---|---|---|---|\n")
	for _, r := range s.Regrets {
		cell := func(of func(*sizestudy.Regretted) float64) float64 { return 100 * meanOf(r.All, of).Mean }
		printf("| %s | %.0f | %.1f | %.1f | %.1f | %.1f | %.1f | %.0f |\n", r.Name,
			meanOf(r.All, func(r *sizestudy.Regretted) float64 { return float64(r.Advices) }).Mean,
			cell(func(r *sizestudy.Regretted) float64 { return r.Median }),
			cell(func(r *sizestudy.Regretted) float64 { return r.Mean }),
			cell(func(r *sizestudy.Regretted) float64 { return r.P90 }),
			cell(func(r *sizestudy.Regretted) float64 { return r.WholeMedian }),
			cell(func(r *sizestudy.Regretted) float64 { return r.WholeMean }),
			cell(func(r *sizestudy.Regretted) float64 { return r.Best }))
	}
	cost := meanOf(s.Regrets[0].All, func(r *sizestudy.Regretted) float64 { return r.CostMean })
	median := meanOf(s.Regrets[0].All, func(r *sizestudy.Regretted) float64 { return r.CostMedian })
	printf("\nThe served advice minimizes the job's own time plus the price of the processors that it takes. This sum "+
		"could have\nbeen better by %.1f %% in the median and %.1f %% in the mean. The rest of the regret comes from "+
		"processors\nthat the advice leaves to others on purpose.\n\n", 100*median.Mean, 100*cost.Mean)
}

func (s *results) assumptions(printf printer) {
	printf(assumptionsText, len(s.Others[0].Cells[0].Outcomes))
	for _, v := range s.Others {
		printf("### %s\n\n", strings.ToUpper(v.Name[:1])+v.Name[1:])
		for _, t := range s.Traces {
			table(printf, v.Cells, t, []float64{.5, .7, .95}, everybody()[1:],
				func(c *sizestudy.Cell) string { return percent(c.Mean(change)) })
		}
		for _, rule := range []sizestudy.Rule{sizestudy.AtHead, sizestudy.AtSubmit} {
			w := s.worst(v.Cells, rule)
			printf("%s, compared with the fixed rule against which it gains least:\n%+.1f %% (%.1f to %.1f), %s on %s "+
				"at load %v.\n\n",
				rule, 100*(w.Mean-1), 100*(w.Low-1), 100*(w.High-1), w.rule, w.trace, w.load)
		}
	}
}
