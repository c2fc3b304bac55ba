// Command prior measures the errors of simulations in the first submissions of the traces beside the repository, and
// writes predictor/engine/ensemble/prior.json. Forecasts of a new daemon start from these errors. The file has the
// errors over all logs and, for the backtest of each log, the errors over all other logs.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/predictor/backtest"
	"github.com/waitcast/waitcast/predictor/engine"
	"github.com/waitcast/waitcast/predictor/engine/ensemble"
	"github.com/waitcast/waitcast/research/internal/checkout"
)

// first is the number of submissions of each log that count.
const first = 1000

func main() {
	checkout.Enter()
	shared := flag.String("shared", "../shared", "folder with traces/")
	out := flag.String("out", "predictor/engine/ensemble/prior.json", "file to write")
	flag.Parse()
	if err := run(*shared, *out); err != nil {
		fmt.Fprintln(os.Stderr, "prior:", err)
		os.Exit(1)
	}
}

// logs returns the traces with recorded waits.
func logs() []string {
	return []string{"KTH-SP2-1996-2.1-cln", "CTC-SP2-1996-3.1-cln", "SDSC-SP2-1998-4.2-cln",
		"SDSC-Par-1996-3.1-cln", "DOST-ASTI_COARE-Saliksik-2020-cln"}
}

func run(shared, out string) error {
	found := map[string]ensemble.Prior{}
	for _, name := range logs() {
		trace, err := backtest.Open(filepath.Join(shared, "traces", name+".swf.gz"), name)
		if err != nil {
			return err
		}
		if found[name], err = errorsOf(trace); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	priors := ensemble.Priors{Origin: fmt.Sprintf("made by research/cmd/prior: the first %d submissions of each log", first),
		All: pool(found, ""), Without: map[string]ensemble.Prior{}}
	for name := range found {
		priors.Without[name] = pool(found, name)
	}
	text, err := json.MarshalIndent(priors, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(out, append(text, '\n'), 0o644) //nolint:gosec // a table that everybody may read
}

// errorsOf returns quantiles of the simulation's errors in the first submissions of a log, by class of the forecast
// (ensemble.EarlyClassOf). It removes the other jobs from trace.
func errorsOf(trace *backtest.Trace) (ensemble.Prior, error) {
	trace.Jobs = trace.Jobs[:min(first, len(trace.Jobs))]
	var all ensemble.Prior
	_, err := backtest.Run(trace, backtest.Options{
		Engine: engine.Config{Synchronous: true},
		Predict: func(j *backtest.Job, method string, quantiles []float64) error {
			if method == ensemble.Names()[ensemble.Simulation] && j.Scored() {
				said := waittime.Log(quantiles[0])
				class := ensemble.EarlyClassOf(said)
				all[class] = append(all[class], waittime.Log(j.Wait())-said)
			}
			return nil
		},
	})
	for class := range all {
		slices.Sort(all[class])
		all[class] = evenQuantiles(all[class])
	}
	return all, err
}

// pool joins the errors of all logs, except those of the log whose name is the argument without. Each log has the same
// weight.
func pool(found map[string]ensemble.Prior, without string) ensemble.Prior {
	var all ensemble.Prior
	for name, one := range found {
		if name == without {
			continue
		}
		for class := range all {
			all[class] = append(all[class], one[class]...)
		}
	}
	for class := range all {
		slices.Sort(all[class])
		all[class] = evenQuantiles(all[class])
		for i, v := range all[class] {
			all[class][i] = math.Round(v*1000) / 1000
		}
	}
	return all
}

// evenQuantiles returns the quantiles of sorted values at 1/40, 3/40 and so on.
func evenQuantiles(sorted []float64) []float64 {
	const n = 20
	out := make([]float64, n)
	for i := range out {
		out[i] = sorted[min(len(sorted)-1, int((float64(i)+.5)/n*float64(len(sorted))))]
	}
	return out
}
