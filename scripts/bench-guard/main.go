// Command bench-guard runs a few benchmarks with a fixed number of iterations. It compares their measures that do not
// depend on the machine's speed (allocations, bytes, counts of work) with a baseline in the repository. It fails if a
// measure is more than 1/5 higher, or is missing on one side. Apart from the scheduling of goroutines, nothing in the
// benchmarks is random.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"

	"github.com/waitcast/waitcast/internal/benchtext"
)

// watched are the benchmarks. They need no data from outside the repository.
var watched = [...]struct{ pkg, bench, turns string }{
	{"./predictor/headqueue", "^BenchmarkTail1000x10000$|^BenchmarkSixQuantiles1000$", "2x"},
	{"./predictor/headqueue", "^BenchmarkQueue$/^(20|1000)_running", "2x"},
	{"./predictor/engine", "^(BenchmarkView|BenchmarkEvent|BenchmarkForecast)$/^Small$", "50x"},
	{"./predictor/engine", "^(BenchmarkSave|BenchmarkCopy)$/^Small$", "2x"},
	{"./predictor/forward", "^BenchmarkWaits$", "20x"},
	{"./predictor/boost", "^BenchmarkTrain$/^half$", "1x"},
	{"./predictor/boost", "^BenchmarkLevels$", "1x"},
	{"./predictor/residual", ".", "100x"},
	{"./simulator", "^BenchmarkReplica$", "1x"},
	{"./pipeline", "^BenchmarkTake$", "1x"},
	{"./pipeline/livemodels", "^(BenchmarkUpdate|BenchmarkPublish)$", "2000x"},
	{"./collector/pbs", ".", "5000x"},
	{"./collector/slurm", ".", "5000x"},
	{"./api", "^BenchmarkWait$/^running=100,/explain", "100x"},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench-guard:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("bench-guard", flag.ContinueOnError)
	baseline := flags.String("baseline", filepath.Join("scripts", "bench-guard", "baseline.txt"),
		"what it is compared with")
	renew := flags.Bool("renew", false, "write the baseline anew")
	tolerance := flags.Float64("tolerance", .2, "by what part something may grow")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return err
	}
	text, err := measure(ctx)
	if err != nil {
		return err
	}
	now, _, err := benchtext.Read(bytes.NewReader(text))
	if err != nil {
		return err
	}
	if *renew {
		return os.WriteFile(*baseline, text, 0o644) //nolint:gosec // it is in the repository
	}
	file, err := os.Open(*baseline)
	if err != nil {
		return fmt.Errorf("%w (make it with make bench-guard RENEW=-renew)", err)
	}
	defer func() { _ = file.Close() }() // nothing was written
	before, _, err := benchtext.Read(file)
	if err != nil {
		return fmt.Errorf("%s: %w", *baseline, err)
	}
	return tell(out, compare(benchtext.Medians(before), benchtext.Medians(now), *tolerance))
}

// measure builds each package's tests once, and runs all benchmarks, two at a time. It returns their output in the
// order of the list, without parts that depend on time or place.
func measure(ctx context.Context) ([]byte, error) {
	dir, err := os.MkdirTemp("", "bench-guard-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	printed := make([][]byte, len(watched))
	failed := make([]error, len(watched))
	built := map[string]func() (string, error){}
	for _, w := range watched {
		if built[w.pkg] == nil {
			built[w.pkg] = sync.OnceValues(func() (string, error) { return build(ctx, dir, w.pkg) })
		}
	}
	var wg sync.WaitGroup
	places := make(chan struct{}, 2)
	for i, w := range watched {
		wg.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			binary, err := built[w.pkg]()
			if err != nil {
				failed[i] = err
				return
			}
			// The number of processors is fixed, because work that is divided among them needs memory for each.
			cmd := exec.CommandContext(ctx, binary, "-test.run", "^$", "-test.bench", w.bench, "-test.benchtime",
				w.turns, "-test.benchmem", "-test.cpu", "2")
			cmd.Dir, cmd.Stderr = w.pkg, os.Stderr
			if printed[i], failed[i] = cmd.Output(); failed[i] != nil {
				failed[i] = fmt.Errorf("%s of %s: %w\n%s", w.bench, w.pkg, failed[i], printed[i])
			}
		})
	}
	wg.Wait()
	return lasting(bytes.Join(printed, nil)), errors.Join(failed...)
}

// build builds the test program of a package as make test does: not vetted, and without symbols, which is cheaper to
// link.
func build(ctx context.Context, dir, pkg string) (string, error) {
	binary := filepath.Join(dir, strings.ReplaceAll(strings.TrimPrefix(pkg, "./"), "/", "-"))
	out, err := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-s", "-o", binary,
		pkg).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go test -c %s: %w\n%s", pkg, err, out)
	}
	return binary, nil
}

// lasting returns the lines of benchmarks, and of the packages before them, with only those units that are counts.
func lasting(text []byte) []byte {
	var out bytes.Buffer
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "pkg: ") {
			out.WriteString(line)
			continue
		}
		fields := strings.Fields(line)
		if len(fields) < 4 || len(fields)%2 != 0 || !strings.HasPrefix(line, "Benchmark") {
			continue
		}
		kept := fields[:2:2]
		for i := 2; i < len(fields); i += 2 {
			if counts(fields[i+1]) {
				kept = append(kept, fields[i], fields[i+1])
			}
		}
		out.WriteString(strings.Join(kept, "\t") + "\n")
	}
	return out.Bytes()
}
