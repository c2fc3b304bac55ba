package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"github.com/waitcast/waitcast/research/sizestudy"
	"github.com/waitcast/waitcast/simulator"
)

func change(o *sizestudy.Outcome) float64 { return o.Change }

// find returns the cell of a trace and a load whose choice has the rule, share and objective of c. If there is none, it
// returns a cell without outcomes.
func find(cells []sizestudy.Cell, trace string, load float64, c sizestudy.Choice) *sizestudy.Cell {
	for i := range cells {
		k := &cells[i]
		if k.Trace == trace && k.Load == load && k.Choice.Rule == c.Rule && k.Choice.Share == c.Share &&
			selfish(k.Choice) == selfish(c) {
			return k
		}
	}
	return &sizestudy.Cell{Trace: trace, Load: load, Choice: c}
}

// ratio is the ratio of two mean turnarounds, as an interval, with the trace, the load and the fixed rule of the
// comparison.
type ratio struct {
	trace string
	load  float64
	rule  sizestudy.Rule
	interval
}

type interval = simulator.Interval

// worst compares one rule of advice for all jobs with each fixed rule on the same workloads. It returns the comparison
// that is worst for the given rule: that with the largest ratio of the rule's turnaround to the fixed rule's.
func (s *results) worst(cells []sizestudy.Cell, rule sizestudy.Rule) (worst ratio) {
	for i := range cells {
		fixed := &cells[i]
		if fixed.Choice.Rule.Advised() {
			continue
		}
		own := find(cells, fixed.Trace, fixed.Load, sizestudy.Choice{Rule: rule, Share: 1})
		ratios := make([]float64, len(own.Outcomes))
		for k := range ratios {
			ratios[k] = own.Outcomes[k].Mean / fixed.Outcomes[k].Mean
		}
		r, err := simulator.Confidence(ratios, sizestudy.Level)
		if err == nil && r.Mean > worst.Mean {
			worst = ratio{fixed.Trace, fixed.Load, fixed.Choice.Rule, r}
		}
	}
	return worst
}

// rows returns the table of all cells for the CSV file, with a header.
func (s *results) rows() [][]string {
	rows := [][]string{{
		"assumptions", "trace", "load", "rule", "objective", "share_asking", "seeds", "mean_turnaround_seconds",
		"p95_turnaround_seconds", "mean_wait_seconds",
		"utilization", "work", "change", "change_low", "change_high", "p95_change", "p95_change_low", "p95_change_high",
		"askers_change", "askers_low", "askers_high", "others_change", "others_low", "others_high", "users_worse",
		"users_worse_low", "users_worse_high",
	}}
	rows = append(rows, cellRows("study", s.Main)...)
	for _, v := range s.Others {
		rows = append(rows, cellRows(v.Name, v.Cells)...)
	}
	return rows
}

func cellRows(name string, cells []sizestudy.Cell) (rows [][]string) {
	for i := range cells {
		c := &cells[i]
		objective := ""
		switch {
		case selfish(c.Choice):
			objective = "own finish"
		case c.Choice.Rule.Advised():
			objective = "served"
		}
		row := []string{name, c.Trace, fmt.Sprint(c.Load), c.Choice.Rule.String(), objective,
			fmt.Sprint(c.Choice.Share), strconv.Itoa(len(c.Outcomes))}
		for _, of := range []func(*sizestudy.Outcome) float64{
			func(o *sizestudy.Outcome) float64 { return o.Mean }, func(o *sizestudy.Outcome) float64 { return o.P95 },
			func(o *sizestudy.Outcome) float64 { return o.Wait },
		} {
			row = append(row, fmt.Sprintf("%.0f", c.Mean(of).Mean))
		}
		row = append(row, fmt.Sprintf("%.4f", c.Mean(utilization).Mean), fmt.Sprintf("%.4f", c.Mean(work).Mean))
		for _, of := range []func(*sizestudy.Outcome) float64{change, p95, askers, others, usersWorse} {
			v := c.Mean(of)
			row = append(row, fmt.Sprintf("%.4f", v.Mean), fmt.Sprintf("%.4f", v.Low), fmt.Sprintf("%.4f", v.High))
		}
		rows = append(rows, row)
	}
	return rows
}

func utilization(o *sizestudy.Outcome) float64 { return o.Utilization }
func work(o *sizestudy.Outcome) float64        { return o.Work }
func p95(o *sizestudy.Outcome) float64         { return o.P95Change }
func askers(o *sizestudy.Outcome) float64      { return o.Askers }
func others(o *sizestudy.Outcome) float64      { return o.Others }
func usersWorse(o *sizestudy.Outcome) float64  { return o.Worse }

// readTrials reads the file that -weights writes. It returns no trials if the file does not exist.
func readTrials(path string) (trials []sizestudy.Trial, err error) {
	f, err := os.Open(path) //nolint:gosec // where the caller wants it
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for line, row := range rows {
		if line == 0 {
			continue
		}
		var x [7]float64
		for i := range x {
			if len(row) != len(x) {
				return nil, fmt.Errorf("%s:%d: %d columns, want %d; make it anew with -weights", path, line+1,
					len(row), len(x))
			}
			if x[i], err = strconv.ParseFloat(row[i], 64); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", path, line+1, err)
			}
		}
		trials = append(trials, sizestudy.Trial{
			Weights: sizestudy.Weights{Base: x[0], Waiting: x[1], Lately: x[2]}, Submit: x[3], Head: x[4], Regret: x[6],
		})
	}
	return trials, nil
}
