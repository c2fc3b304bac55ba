package main

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/waitcast/waitcast/research/sizestudy"
)

// mostRegret is the bound of the median regret, as a share of the turnaround. Weights are acceptable only if their
// regret is below it.
const mostRegret = .1

// alike is the relative difference in turnaround up to which weights count as equally good as the best ones.
const alike = .01

// tryWeights tries many weights on the first halves of the traces, and writes the results to a CSV file.
func tryWeights(ctx context.Context, o options, traces []*sizestudy.Trace) error {
	weights := []sizestudy.Weights{{}}
	for _, base := range []float64{3, 10, 20, 40} {
		for _, waiting := range []float64{1, 2, 4, 8} {
			for _, lately := range []float64{0, 2, 4} {
				weights = append(weights, sizestudy.Weights{Base: base, Waiting: waiting, Lately: lately})
			}
		}
	}
	grid := sizestudy.Grid{Traces: traces, Jobs: o.jobs, Loads: []float64{.5, .7, .9}, Seeds: o.seeds,
		Workers: o.workers}
	trials, err := grid.Try(ctx, weights)
	if err != nil {
		return err
	}
	rows := [][]string{{"base", "waiting", "lately", "submission", "head", "both", "median_regret"}}
	for i := range trials {
		t := &trials[i]
		rows = append(rows, []string{
			fmt.Sprint(t.Base), fmt.Sprint(t.Waiting), fmt.Sprint(t.Lately), fmt.Sprintf("%.4f", t.Submit),
			fmt.Sprintf("%.4f", t.Head), fmt.Sprintf("%.4f", t.Score()), fmt.Sprintf("%.4f", t.Regret),
		})
	}
	best, serve, ok := sizestudy.Best(trials, mostRegret, alike)
	fmt.Fprintf(os.Stderr, "best with a median regret below %v: %+v (found %v); to be served: %+v; served: %+v\n",
		mostRegret, best, ok, serve, sizestudy.Chosen())
	return writeCSV(filepath.Join(o.out, "size-advice-weights.csv"), rows)
}

// weightsTable prints the table from which the weights were chosen.
func (s *results) weightsTable(printf printer) {
	printf("%s", weightsText)
	_, serve, ok := sizestudy.Best(s.trials, mostRegret, alike)
	if !ok {
		printf("The weights have not been tried again since. `go run -C research ./cmd/sizestudy -weights` tries " +
			"them.\n\n")
		return
	}
	sorted := slices.Clone(s.trials)
	slices.SortStableFunc(sorted, func(a, b sizestudy.Trial) int { return cmp.Compare(a.Score(), b.Score()) })
	printf("| base | waiting | lately | turnaround over the requests', at submission | at the head | both | median " +
		"regret, %% |\n|---|---|---|---|---|---|---|\n")
	shown := 0
	for i, t := range sorted {
		served := t.Weights == sizestudy.Chosen()
		below := t.Regret < mostRegret
		// Show the first and the last trial, the served one, and the best acceptable ones.
		if i > 0 && i < len(sorted)-1 && !served && (!below || shown >= 8) {
			continue
		}
		note := ""
		if below {
			shown++
		} else {
			note = " (too much)"
		}
		if served {
			note += ", **served**"
		}
		printf("| %v | %v | %v | %.3f | %.3f | %.4f | %.1f%s |\n", t.Base, t.Waiting, t.Lately, t.Submit, t.Head,
			t.Score(), 100*t.Regret, note)
	}
	printf("\n%d were tried; the table has the best, those that may be served, and the worst. ", len(sorted))
	if serve.Weights != sizestudy.Chosen() {
		printf("By the rule %v, %v and %v are to be served; the served ones are older. ", serve.Base, serve.Waiting,
			serve.Lately)
	}
	printf("The optimum is flat: weights off by a factor 2 cost a few per cent. All of them are in " +
		"[size-advice-weights.csv](size-advice-weights.csv).\n\n")
}

func writeCSV(path string, rows [][]string) error {
	f, err := os.Create(path) //nolint:gosec // where the caller wants it
	if err != nil {
		return err
	}
	if err := csv.NewWriter(f).WriteAll(rows); err != nil {
		_ = f.Close()
		return fmt.Errorf("%s: %w", path, err)
	}
	return f.Close()
}
