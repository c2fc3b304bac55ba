package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/waitcast/waitcast/research/sizestudy"
)

// results has all results that the page shows.
type results struct {
	Seeds, Jobs int
	Traces      []string
	Loads       []float64
	Main        []sizestudy.Cell
	Others      []variant
	Regrets     []regret
	trials      []sizestudy.Trial // empty if no weights have been tried
}

// variant has the cells of the study under other assumptions.
type variant struct {
	Name  string
	Part  sizestudy.Part
	Model sizestudy.Model
	Cells []sizestudy.Cell
}

// regret has the regrets of advice with one objective, on the whole first trace.
type regret struct {
	Name string
	All  []sizestudy.Regretted // by seed
}

// variants returns the other assumptions under which the study is repeated, without cells.
func variants() []variant {
	const part = sizestudy.SecondHalf
	return []variant{
		{Name: "sizes within a factor 4 of the recorded one", Part: part, Model: sizestudy.Model{Within: 4}},
		{Name: "programs of low variance (sigma up to 1)", Part: part, Model: sizestudy.Model{MaxSigma: 1}},
		{Name: "users who misjudge their runtimes (by a factor 2 or more in a third of the jobs)", Part: part,
			Model: sizestudy.Model{Error: .7}},
		{Name: "stretches from both halves of the traces", Part: sizestudy.Whole},
	}
}

func selfish(c sizestudy.Choice) bool { return c.Alone }

func choices() []sizestudy.Choice {
	var all []sizestudy.Choice
	for _, r := range sizestudy.Rules() {
		switch {
		case !r.Advised():
			all = append(all, sizestudy.Choice{Rule: r, Share: 1})
		case r == sizestudy.AtBoth:
			all = append(all, sizestudy.Choice{Rule: r, Share: 1})
		default:
			for _, share := range []float64{1, .5, .2} {
				all = append(all, sizestudy.Choice{Rule: r, Share: share})
			}
		}
	}
	for _, share := range []float64{1, .2} {
		all = append(all, sizestudy.Choice{Rule: sizestudy.AtHead, Share: share, Alone: true})
	}
	return all
}

// everybody returns the choices in which all jobs follow a rule, without those that minimize only the job's own finish.
func everybody() (all []sizestudy.Choice) {
	for _, c := range choices() {
		if c.Share == 1 && !selfish(c) {
			all = append(all, c)
		}
	}
	return all
}

// play performs all runs of the study and returns their results.
func play(ctx context.Context, o options, traces []*sizestudy.Trace) (*results, error) {
	s := &results{Seeds: o.seeds, Jobs: o.jobs, Loads: []float64{.5, .6, .7, .8, .9, .95}, Others: variants()}
	for _, t := range traces {
		s.Traces = append(s.Traces, t.Name)
	}
	grid := sizestudy.Grid{
		Traces: traces, Part: sizestudy.SecondHalf, Jobs: o.jobs, Loads: s.Loads, Choices: choices(), Seeds: o.seeds,
		Workers: o.workers,
	}
	var err error
	if s.Main, err = grid.Run(ctx); err != nil {
		return nil, err
	}
	fmt.Fprintln(os.Stderr, "the grid is played")
	for i := range s.Others {
		v := &s.Others[i]
		few := grid
		few.Part, few.Loads, few.Choices, few.Model, few.Seeds = v.Part, []float64{.5, .7, .95}, everybody(), v.Model,
			max(2, o.seeds/2)
		if v.Cells, err = few.Run(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", v.Name, err)
		}
		fmt.Fprintln(os.Stderr, v.Name)
	}
	s.Regrets, err = hindsight(ctx, traces[0], max(2, o.seeds/4))
	return s, err
}

// hindsight returns the regrets of advice with two objectives: the objective that the daemon serves, and the job's own
// finish alone. It simulates a whole trace with the recorded times between submissions.
func hindsight(ctx context.Context, t *sizestudy.Trace, seeds int) ([]regret, error) {
	regrets := []regret{{Name: "the advice that is served"}, {Name: "the job's own finish alone"}}
	for seed := range uint64(seeds) { //nolint:gosec // 2 or more
		w, err := t.Make(sizestudy.Whole, 0, 0, seed, sizestudy.Model{})
		if err != nil {
			return nil, err
		}
		for i, o := range []sizestudy.Settings{{Objective: sizestudy.Served}, {Objective: sizestudy.Selfish}} {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			r, err := w.Regrets(seed, o.Objective)
			if err != nil {
				return nil, fmt.Errorf("hindsight, seed %d: %w", seed, err)
			}
			regrets[i].All = append(regrets[i].All, sizestudy.Summarize(r))
		}
	}
	return regrets, nil
}

// load reads the results that keep has stored.
func load(path string) (*results, error) {
	text, err := os.ReadFile(path) //nolint:gosec // what the caller names
	if err != nil {
		return nil, err
	}
	s := new(results)
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// keep stores the results at path.
func (s *results) keep(path string) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644) //nolint:gosec // no secret
}
