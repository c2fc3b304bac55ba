// Command bench-reading measures the share of an import with learning that is spent on reading the log. For each format
// it writes the jobs of a trace to a log as a scheduler would. Then it follows and parses this log as the daemon does,
// and starts a daemon that learns the log. If mawk and mtail are installed, they read the same file. All figures are
// CPU time, so that other work on the machine hardly affects them. The output has the format of `go test -bench`.
package main

import (
	"cmp"
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
	"time"

	"golang.org/x/sys/unix"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/collector/tail"
	"github.com/waitcast/waitcast/history"
	"github.com/waitcast/waitcast/research/internal/checkout"
)

type options struct {
	daemon, trace, mode, only string
	copies                    int
}

// format is a format of logs, with programs for mawk and mtail that count its jobs and add up their runtimes or
// processors.
type format struct {
	name  string    // name in the configuration
	log   string    // name in research/cmd/genlogs
	mawk  [2]string // the field separator and the program
	mtail string    // a regular expression with a group "value"
}

func formats() []format {
	return []format{
		{"pbs", "pbs", [2]string{"[ =]", `/;E;/{n++; for(i=1;i<NF;i++) if($i=="end") s+=$(i+1)} END{print n, s}`},
			`^\S+ \S+;E;.* end=(?P<value>\d+)`},
		{"slurm-jobcomp", "jobcomp",
			[2]string{"[ =]", `{n++; for(i=1;i<NF;i++) if($i=="ProcCnt") s+=$(i+1)} END{print n, s}`},
			`^JobId=.* ProcCnt=(?P<value>\d+)`},
		{"slurm-sacct", "sacct", [2]string{"|", `{n++; s+=$14} END{print n, s}`},
			`^([^|]*\|){13}(?P<value>\d+)`},
		{"slurm-log", "ctld",
			[2]string{"[ =]", `/Allocate/{n++; for(i=1;i<NF;i++) if($i=="#CPUs") s+=$(i+1)} END{print n, s}`},
			`sched: Allocate .* #CPUs=(?P<value>\d+)`},
		{"sge-accounting", "sge", [2]string{":", `{n++; s+=$35} END{print n, s}`}, `^([^:]*:){34}(?P<value>\d+)`},
		{"lsf-acct", "lsf", [2]string{" ", `{n++; s+=$7} END{print n, s}`}, `^"JOB_FINISH" (\S+ ){5}(?P<value>\d+)`},
		{"swf", "swf", [2]string{" ", `{n++; s+=$5} END{print n, s}`}, `^\s*(-?\d+\s+){4}(?P<value>\d+)`},
	}
}

func main() {
	checkout.Enter()
	var o options
	flag.StringVar(&o.daemon, "daemon", "bin/waitcastd", "the daemon's binary")
	flag.StringVar(&o.trace, "trace", filepath.Join(cmp.Or(os.Getenv("WAITCAST_SHARED"), filepath.Join("..", "shared")),
		"traces", "KTH-SP2-1996-2.1-cln.swf.gz"), "the trace whose jobs are in the logs")
	flag.StringVar(&o.mode, "mode", "fast", "how the daemon learns: fast or exact")
	flag.StringVar(&o.only, "formats", "", "the formats that are measured, with commas; empty for all")
	flag.IntVar(&o.copies, "copies", 10, "copies of the trace in the log that is read but not learnt")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, &o); err != nil {
		fmt.Fprintln(os.Stderr, "bench-reading:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o *options) error {
	dir, err := os.MkdirTemp("", "bench-reading-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	generator := filepath.Join(dir, "genlogs")
	build := exec.CommandContext(ctx, "go", "build", "-C", "research", "-o", generator, "./cmd/genlogs")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building research/cmd/genlogs: %w\n%s", err, out)
	}
	for _, f := range formats() {
		if o.only != "" && !strings.Contains(","+o.only+",", ","+f.name+",") {
			continue
		}
		if err := f.measure(ctx, o, dir, generator); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return nil
}

// write lets the generator write a number of copies of the trace.
func (f *format) write(ctx context.Context, generator, path, trace string, copies int) error {
	to, err := os.Create(path)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, generator, f.log, fmt.Sprint(copies), trace)
	cmd.Stdout, cmd.Stderr = to, os.Stderr
	return errors.Join(cmd.Run(), to.Close())
}

func (f *format) measure(ctx context.Context, o *options, dir, generator string) error {
	one, many := filepath.Join(dir, f.log), filepath.Join(dir, f.log+"-many")
	if err := errors.Join(f.write(ctx, generator, one, o.trace, 1),
		f.write(ctx, generator, many, o.trace, o.copies)); err != nil {
		return err
	}
	small, large, err := f.readBoth(ctx, one, many)
	if err != nil {
		return err
	}
	learnt, err := learn(ctx, o, filepath.Join(dir, "state-"+f.log), f.name, one)
	if err != nil {
		return err
	}
	perLine := large.cpu.Seconds() / float64(large.lines)
	share := perLine * float64(small.lines) / learnt.Seconds()
	fmt.Printf("BenchmarkReading/%s 1 %.3f Mlines/s %.3f us/line %.2f import-CPU-s %.2f percent-of-import", f.name,
		1e-6/perLine, 1e6*perLine, learnt.Seconds(), 100*share)
	for _, p := range []struct {
		unit    string
		command func(path string) []string
	}{{"times-mawk", f.mawkCommand}, {"times-mtail", f.mtailCommand(dir)}} {
		cpu, err := spent(ctx, p.command(many))
		if err != nil {
			return err
		}
		if cpu > 0 {
			fmt.Printf(" %.2f %s", large.cpu.Seconds()/cpu.Seconds(), p.unit)
		}
	}
	fmt.Println()
	return errors.Join(os.Remove(one), os.Remove(many))
}

// readBoth reads the log that is learnt, and the longer one, of which it takes the best of three readings.
func (f *format) readBoth(ctx context.Context, one, many string) (small, large result, err error) {
	known, err := history.Named(history.Formats(time.Now), f.name)
	if err != nil {
		return small, large, err
	}
	if small, err = read(ctx, known, one); err != nil {
		return small, large, err
	}
	for range 3 {
		r, err := read(ctx, known, many)
		if err != nil {
			return small, large, err
		}
		if large.lines == 0 || r.cpu < large.cpu {
			large = r
		}
	}
	return small, large, nil
}

// result is the cost of reading a log.
type result struct {
	cpu   time.Duration
	lines int
}

// read follows and parses a log as the daemon does.
func read(ctx context.Context, f collector.Format, path string) (result, error) {
	var out result
	before, err := processor()
	if err != nil {
		return out, err
	}
	r, err := source.Open(source.Config{Name: "log", Format: f,
		Options: collector.Options{Cluster: "main", Location: time.UTC},
		Files:   tail.Config{Source: "log", Path: path, OneShot: true}}, nil, time.Now, tail.Options{})
	if err != nil {
		return out, err
	}
	defer func() { _ = r.Close() }() // nothing was written
	events, bad := 0, 0
	for {
		d, err := r.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return out, err
		}
		events, out.lines, bad = events+len(d.Events), out.lines+d.Lines, bad+len(d.Bad)
	}
	after, err := processor()
	if out.cpu = after - before; err == nil && (bad > 0 || events == 0) {
		err = fmt.Errorf("%s: %d events and %d bad lines of %d: the generator and the parser disagree", path, events,
			bad, out.lines)
	}
	return out, err
}

// processor returns the CPU time of this process so far, getrusage(2).
func processor() (time.Duration, error) {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("getrusage: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}

func (f *format) mawkCommand(path string) []string {
	return []string{"mawk", "-F", f.mawk[0], f.mawk[1], path}
}

// mtailCommand returns a function that returns the command for a file. mtail counts the jobs and adds up their values.
func (f *format) mtailCommand(dir string) func(path string) []string {
	program := filepath.Join(dir, f.log+".mtail")
	text := "counter jobs\ncounter total\n/" + strings.ReplaceAll(f.mtail, "/", `\/`) +
		"/ {\n  jobs++\n  total += $value\n}\n"
	if err := os.WriteFile(program, []byte(text), 0o600); err != nil {
		program = err.Error() // mtail then reports that there is no such file
	}
	return func(path string) []string {
		return []string{"mtail", "--one_shot", "--one_shot_format=prometheus", "--progs", program, "--logs", path}
	}
}

// spent returns the CPU time of a command, the best of three runs; 0 if the program is not installed.
func spent(ctx context.Context, words []string) (time.Duration, error) {
	if _, err := exec.LookPath(words[0]); err != nil {
		fmt.Fprintf(os.Stderr, "SKIP %s: it is not installed (apt-get install %[1]s)\n", words[0])
		return 0, nil
	}
	best := time.Duration(0)
	for range 3 {
		cmd := exec.CommandContext(ctx, words[0], words[1:]...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return 0, fmt.Errorf("%s: %w\n%s", strings.Join(words, " "), err, out)
		}
		if cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(); best == 0 || cpu < best {
			best = cpu
		}
	}
	return best, nil
}
