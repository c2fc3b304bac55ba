// Command fastreplay measures fast replays (engine.Replay) on the traces in the folder beside the repository, and
// prints tables in Markdown. It reports how many jobs are learnt per second, including the reading of the trace, with
// the processor time and the peak memory. With -losses it replays the first half of each trace fast, and reports the
// loss of the forecasts for the second half, divided by the loss of an engine that replayed the first half in full.
// Each run is a process of its own.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/gob"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/waitcast/waitcast/predictor/backtest"
	"github.com/waitcast/waitcast/research/fastreplay"
	"github.com/waitcast/waitcast/research/internal/checkout"
)

// options has the values of the flags.
type options struct {
	shared, traces string
	copies         int
	losses         bool
	keep           string

	// The fields below are set in a process that performs a single run.
	trace       string
	half, exact bool
}

// measured is the result of one run with its times and memory.
type measured struct {
	fastreplay.Result
	Read   time.Duration // time for reading the trace
	Memory int64         // in MiB
}

// softLimit is the memory limit in bytes near which Go collects garbage more often. A million jobs with their events
// need 260 MiB of it; a daemon has such jobs in its store instead.
const softLimit = 400 << 20

func main() {
	checkout.Enter()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "fastreplay:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	var o options
	flags := flag.NewFlagSet("fastreplay", flag.ContinueOnError)
	flags.StringVar(&o.shared, "shared", cmp.Or(os.Getenv("WAITCAST_SHARED"), filepath.Join("..", "shared")),
		"folder with traces/")
	flags.StringVar(&o.traces, "traces", "SDSC-SP2-1998-4.2-cln,CTC-SP2-1996-3.1-cln,LANL-CM5-1994-4.1-cln,"+
		"KTH-SP2-1996-2.1-cln,SDSC-Par-1996-3.1-cln,DOST-ASTI_COARE-Saliksik-2020-cln", "names, separated by commas")
	flags.IntVar(&o.copies, "copies", 35, "shifted copies of KTH-SP2 that are learned from as one log; 0 for none")
	flags.BoolVar(&o.losses, "losses", false, "compare the losses too; exact replays take minutes each")
	flags.StringVar(&o.keep, "keep", "", "folder that keeps exact replays for another time")
	flags.StringVar(&o.trace, "one", "", "file of a trace: make one run, and write it to standard output")
	flags.BoolVar(&o.half, "half", false, "of -one: replay the first half, and follow the second")
	flags.BoolVar(&o.exact, "exact", false, "of -one: follow all in full")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.trace != "" {
		m, err := one(&o)
		if err != nil {
			return err
		}
		return gob.NewEncoder(stdout).Encode(m)
	}
	if o.keep != "" {
		if err := os.MkdirAll(o.keep, 0o755); err != nil {
			return err
		}
	}
	if err := speeds(ctx, &o, stdout); err != nil || !o.losses {
		return err
	}
	return losses(ctx, &o, stdout)
}

// one performs the run that the options describe in this process.
func one(o *options) (*measured, error) {
	debug.SetMemoryLimit(softLimit)
	began := time.Now()
	t, err := backtest.Open(o.trace, strings.TrimSuffix(filepath.Base(o.trace), ".swf.gz"))
	if err != nil {
		return nil, err
	}
	if o.copies > 1 {
		if t, err = fastreplay.Copies(t, o.copies); err != nil {
			return nil, err
		}
	}
	m := &measured{Read: time.Since(began)}
	cut := len(t.Jobs)
	if o.half {
		cut /= 2
	}
	r, err := fastreplay.Run(t, fastreplay.Options{Cut: cut, Exact: o.exact})
	if err != nil {
		return nil, err
	}
	m.Result, m.Memory = *r, fastreplay.PeakMemory()
	return m, nil
}

// apart performs one run in a process of its own. name is the trace, and args are further arguments.
func apart(ctx context.Context, o *options, name string, args ...string) (*measured, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(o.shared, "traces", name+".swf.gz")
	c := exec.CommandContext(ctx, self, append([]string{"-one", path}, args...)...) //nolint:gosec // this program
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return decode(out)
}

func decode(data []byte) (*measured, error) {
	m := new(measured)
	return m, gob.NewDecoder(bytes.NewReader(data)).Decode(m)
}

// speeds prints a table that shows how fast whole traces are learnt.
func speeds(ctx context.Context, o *options, to io.Writer) error {
	_, _ = fmt.Fprint(to, "| log | jobs | seconds | jobs per second | processor seconds | peak memory |\n"+
		"|---|---|---|---|---|---|\n")
	row := func(name, trace string, args ...string) error {
		m, err := apart(ctx, o, trace, args...)
		if err != nil {
			return err
		}
		seconds := (m.Read + m.Learned).Seconds()
		_, err = fmt.Fprintf(to, "| %s | %d | %.1f | %.0f | %.1f | %d MiB |\n", name, m.Jobs, seconds,
			float64(m.Jobs)/seconds, m.CPU.Seconds(), m.Memory)
		return err
	}
	for _, name := range o.names() {
		if err := row(name, name, "-copies", "0"); err != nil {
			return err
		}
	}
	if o.copies > 1 {
		const kth = "KTH-SP2-1996-2.1-cln"
		return row(fmt.Sprintf("%s, %d copies", kth, o.copies), kth, "-copies", strconv.Itoa(o.copies))
	}
	return nil
}

// losses prints a table of the losses on the second halves after fast replays, divided by those after exact replays.
func losses(ctx context.Context, o *options, to io.Writer) error {
	_, _ = fmt.Fprint(to, "\n| log | replayed | then scored | loss .5 | .75 | .9 | .95 |\n"+
		"|---|---|---|---|---|---|---|\n")
	for _, name := range o.names() {
		exact, err := o.exactly(ctx, name)
		if err != nil {
			return err
		}
		fast, err := apart(ctx, o, name, "-copies", "0", "-half")
		if err != nil {
			return err
		}
		for _, scored := range []int{1000, len(fast.Losses)} {
			ratios, n := fastreplay.Ratios(fast.Losses[:min(scored, len(fast.Losses))], exact.Losses)
			_, _ = fmt.Fprintf(to, "| %s | %d | %d | %.3f | %.3f | %.3f | %.3f |\n", name, fast.Jobs, n,
				ratios[0], ratios[1], ratios[2], ratios[3])
		}
	}
	return nil
}

// exactly returns the result of the exact replay of a trace. If the folder o.keep has the result of an earlier run, it
// is not run again. Otherwise the new result is stored there, if keep names a folder.
func (o *options) exactly(ctx context.Context, name string) (*measured, error) {
	file := filepath.Join(o.keep, name+".exact")
	if o.keep != "" {
		if data, err := os.ReadFile(file); err == nil { //nolint:gosec // the caller names it
			return decode(data)
		}
	}
	m, err := apart(ctx, o, name, "-copies", "0", "-half", "-exact")
	if err != nil || o.keep == "" {
		return m, err
	}
	var out bytes.Buffer
	if err := gob.NewEncoder(&out).Encode(m); err != nil {
		return nil, err
	}
	return m, os.WriteFile(file, out.Bytes(), 0o600)
}

func (o *options) names() []string { return strings.Split(o.traces, ",") }
