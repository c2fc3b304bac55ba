// Command generators runs "waitcast generate" on logs and writes a page in Markdown. For every log, model, form and
// seed it compares the work, the load, the sizes and the runtimes of the generated jobs with those of the recorded
// jobs. It uses only the files that waitcast wrote, so the comparison does not depend on waitcast's code.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waitcast/waitcast/research/internal/checkout"
)

func main() {
	checkout.Enter()
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "generators:", err)
		os.Exit(1)
	}
}

// These are the bounds for generated workloads of the form log.
const (
	workBound = 0.3  // maximum difference in the mean work of a job, relative to the recorded jobs
	loadBound = 0.05 // maximum difference in the load with --load same, relative to the recorded load
	// ksBound is the maximum change of a KS distance by --load same, and the maximum increase of a KS distance from the
	// form paper to the form log.
	ksBound = 0.01
)

// run runs the command with the given arguments. It writes the page to stdout, or to the file that -out names.
func run(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("generators", flag.ContinueOnError)
	flags.SetOutput(stderr)
	shared := flags.String("shared", filepath.Join("..", "shared"), "folder with traces/, whose logs are taken where "+
		"none are named")
	program := flags.String("waitcast", filepath.Join("bin", "waitcast"), "the program that generates")
	models := flags.String("models", "lublin,markov,uniformlog", "models, separated by commas")
	forms := flags.String("forms", "log,paper", "forms, separated by commas")
	seeds := flags.String("seeds", "1,2,3,4,5", "seeds, separated by commas")
	out := flags.String("out", "", "file for the page, such as research/docs/generators.md; empty: standard output")
	if err := flags.Parse(args); err != nil {
		return err
	}
	logs := flags.Args()
	if len(logs) == 0 {
		found, err := filepath.Glob(filepath.Join(*shared, "traces", "*.swf.gz"))
		if err != nil {
			return err
		}
		if logs = found; len(logs) == 0 {
			return fmt.Errorf("no *.swf.gz in %s: name logs, or their folder's parent with -shared",
				filepath.Join(*shared, "traces"))
		}
	}
	var numbers []uint64
	for text := range strings.SplitSeq(*seeds, ",") {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return fmt.Errorf("-seeds: %q is no seed: write whole numbers, separated by commas", text)
		}
		numbers = append(numbers, seed)
	}
	var page bytes.Buffer
	begun := time.Now()
	s := study{program: *program, seeds: numbers, found: map[string]map[string]result{}}
	s.say = func(format string, args ...any) {
		fmt.Fprintf(stderr, "%6.0f s  %s\n", time.Since(begun).Seconds(), fmt.Sprintf(format, args...))
	}
	if err := s.write(&page, logs, strings.Split(*models, ","), strings.Split(*forms, ",")); err != nil {
		return err
	}
	if *out == "" {
		_, err := page.WriteTo(stdout)
		return err
	}
	return os.WriteFile(*out, page.Bytes(), 0o644) //nolint:gosec // it is a page for all
}

// introduction is the beginning of the page.
const introduction = `# Generated workloads beside their logs

<!-- Made by make generators; do not edit. -->

Made by ` + "`make generators`: `waitcast generate --from LOG --model M --form F --seed S`" + `, with as many jobs as
the log has, without and with ` + "`--load same`" + `, seeds %s. A separate program reads the files that the command
wrote and measures them. To measure other logs and seeds, run:
` + "`go run -C research ./cmd/generators -seeds 7,8 LOG.swf...`" + `.

- Mean work: the mean work of a job, divided by that of the recorded jobs. The cell has the mean over the seeds, the
  minimum and the maximum.
- KS: the Kolmogorov-Smirnov distance from the recorded sizes and runtimes. The cell has the maximum over the seeds.
- Load: the load with ` + "`--load same`" + `, divided by the recorded load. The cell has the value furthest from 1.
- Change: the change of a KS distance by ` + "`--load same`" + `. The cell has the maximum.

Form ` + "`log`" + ` has promises for every run: the mean work is within %.0f %% of the recorded one, the load is within
%.0f %%, and the change is at most %.2f. Form ` + "`paper`" + ` is the models as published. It is here for
comparison: the KS distances of form ` + "`log`" + ` may be larger than those of form ` + "`paper`" + ` by at most %.2f.
`

// study has what all runs share: the program to run, the seeds, and the results so far. missed is the number of missed
// promises: one for each row of the form log that misses a bound, and one if the comparison of the forms misses its
// bound.
type study struct {
	program string
	seeds   []uint64
	say     func(format string, args ...any)
	missed  int
	// found has the worst results, by form, and then by log and model.
	found map[string]map[string]result
}

// write runs the program for all logs, models and forms, and writes the page.
func (s *study) write(page *bytes.Buffer, logs, models, forms []string) error {
	fmt.Fprintf(page, introduction, strings.Trim(strings.ReplaceAll(fmt.Sprint(s.seeds), " ", ", "), "[]"),
		100*workBound, 100*loadBound, ksBound, ksBound)
	for _, form := range forms {
		fmt.Fprintf(page, "\n## Form %s\n\n| log | model | mean work | KS sizes | KS runtimes | load | change | |\n"+
			"|---|---|---|---|---|---|---|---|\n", form)
		for _, log := range logs {
			recorded, err := readJobs(log)
			if err != nil {
				return err
			}
			name, _, _ := strings.Cut(filepath.Base(log), ".swf")
			for _, model := range models {
				row, worst, err := s.row(log, recorded, model, form)
				if err != nil {
					return fmt.Errorf("%s, %s, form %s: %w", name, model, form, err)
				}
				if s.found[form] == nil {
					s.found[form] = map[string]result{}
				}
				s.found[form][name+", `"+model+"`"] = worst
				fmt.Fprintf(page, "| %s | `%s` | %s |\n", name, model, row)
				s.say("%s, %s, form %s: %s", name, model, form, row)
			}
		}
	}
	s.compareForms(page)
	fmt.Fprintf(page, "\nPromises missed: %d.\n", s.missed)
	return nil
}

// compareForms writes the largest increase of a KS distance from the form paper to the form log, if both forms were
// run.
func (s *study) compareForms(page *bytes.Buffer) {
	most := math.Inf(-1)
	for _, name := range slices.Sorted(maps.Keys(s.found["log"])) {
		paper, ok := s.found["paper"][name]
		if !ok {
			continue
		}
		log := s.found["log"][name]
		most = max(most, log.sizes-paper.sizes, log.runtimes-paper.runtimes)
	}
	if math.IsInf(most, -1) {
		return
	}
	verdict := "met"
	if most > ksBound {
		verdict = "**MISSED**"
		s.missed++
	}
	fmt.Fprintf(page, "\nFrom form `paper` to form `log` a KS distance grows at most by %.3f: %s.\n", most, verdict)
}

// row runs all seeds for one log, model and form. It returns the cells of the row in the table, and the worst result of
// all seeds.
func (s *study) row(log string, recorded *workload, model, form string) (cells string, worst result, err error) {
	var shares []float64
	worst.load = 1
	for _, seed := range s.seeds {
		args := []string{"generate", "--from", log, "--model", model, "--form", form,
			"--seed", strconv.FormatUint(seed, 10), "--jobs", strconv.Itoa(len(recorded.sizes))}
		plain, err := s.generate(args)
		if err != nil {
			return "", worst, err
		}
		same, err := s.generate(append(args, "--load", "same"))
		if err != nil {
			return "", worst, err
		}
		r, err := compareAll(recorded, plain, same)
		if err != nil {
			return "", worst, err
		}
		shares = append(shares, r.work)
		worst.worsen(r)
	}
	mean := 0.0
	for _, x := range shares {
		mean += x / float64(len(shares))
	}
	verdict := ""
	if form == "log" {
		verdict = "met"
		if slices.Min(shares) < 1-workBound || slices.Max(shares) > 1+workBound || !worst.calibrated() {
			verdict = "**MISSED**"
			s.missed++
		}
	}
	return fmt.Sprintf("%.2f (%.2f to %.2f) | %.3f | %.3f | %.3f | %.3f | %s", mean, slices.Min(shares),
		slices.Max(shares), worst.sizes, worst.runtimes, worst.load, worst.change, verdict), worst, nil
}
