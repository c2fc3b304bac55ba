// Command sizestudy simulates the traces in the folder beside the repository with jobs that choose their sizes. It
// writes research/docs/size-advice.md and research/docs/size-advice.csv, which show the effect of advice on jobs that
// follow it and on other jobs. With -weights it instead tries weights of advice.Considerate on the first halves of the
// traces, and writes research/docs/size-advice-weights.csv.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/waitcast/waitcast/research/internal/checkout"
	"github.com/waitcast/waitcast/research/sizestudy"
)

// options has the values of the flags.
type options struct {
	shared, out          string
	seeds, jobs, workers int
	weights              bool
	keep, from           string
}

func main() {
	checkout.Enter()
	var o options
	flag.StringVar(&o.shared, "shared", "../shared", "folder with traces/")
	flag.StringVar(&o.out, "out", filepath.Join("research", "docs"), "folder to write to")
	flag.IntVar(&o.seeds, "seeds", 20, "seeds of each trace and load, 2 or more")
	flag.IntVar(&o.jobs, "jobs", 5000, "jobs of a stretch")
	flag.IntVar(&o.workers, "workers", 0, "simulations at once, 0 for as many as there are cores")
	flag.BoolVar(&o.weights, "weights", false, "try weights on the first halves")
	flag.StringVar(&o.keep, "keep", "", "file to keep the results in, so that the page can be written again by -from")
	flag.StringVar(&o.from, "from", "", "file with results that were kept: only write the page and the table")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "sizestudy:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	if o.seeds < 2 {
		return fmt.Errorf("-seeds %d: an interval needs 2 or more", o.seeds)
	}
	if o.from != "" {
		s, err := load(o.from)
		if err != nil {
			return err
		}
		return s.write(o.out)
	}
	var traces []*sizestudy.Trace
	for _, name := range []string{"KTH-SP2-1996-2.1-cln", "CTC-SP2-1996-3.1-cln", "SDSC-SP2-1998-4.2-cln"} {
		short := strings.Join(strings.Split(name, "-")[:2], "-")
		t, err := sizestudy.Open(short, filepath.Join(o.shared, "traces", name+".swf.gz"))
		if err != nil {
			return err
		}
		traces = append(traces, t)
	}
	if o.weights {
		return tryWeights(ctx, o, traces)
	}
	begin := time.Now()
	s, err := play(ctx, o, traces)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "played in %.0f s\n", time.Since(begin).Seconds())
	if o.keep != "" {
		if err := s.keep(o.keep); err != nil {
			return err
		}
	}
	return s.write(o.out)
}

// write writes the page and the table into the folder out.
func (s *results) write(out string) (err error) {
	if s.trials, err = readTrials(filepath.Join(out, "size-advice-weights.csv")); err != nil {
		return err
	}
	if err := writeCSV(filepath.Join(out, "size-advice.csv"), s.rows()); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, "size-advice.md"), []byte(s.page()), 0o644)
}
