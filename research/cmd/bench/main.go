// Command bench measures the promised speeds of waitcast. It runs the benchmarks and scripts in a table of budgets, and
// writes the value, the limit, the command and the machine of each budget into docs/performance.md.
package main

import (
	"bytes"
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
	"regexp"
	"runtime"
	"strings"

	"github.com/waitcast/waitcast/research/benchtext"
	"github.com/waitcast/waitcast/research/internal/checkout"
)

type options struct {
	run        *regexp.Regexp
	page, kept string
	shared     string
	count      int
}

func main() {
	checkout.Enter()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func parse(args []string) (*options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	names := flags.String("run", ".", "which budgets, a regular expression on their names")
	flags.StringVar(&o.page, "page", filepath.Join("docs", "performance.md"), "the page")
	flags.StringVar(&o.kept, "kept", filepath.Join("research", "cmd", "bench", "newest.txt"),
		"what was printed last of each command, for benchstat and for the rows that are not measured now")
	flags.StringVar(&o.shared, "shared", cmp.Or(os.Getenv("WAITCAST_SHARED"), filepath.Join("..", "shared")),
		"folder with the traces")
	flags.IntVar(&o.count, "count", 3, "how often each benchmark runs; the table has the best")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	var err error
	o.run, err = regexp.Compile(*names)
	return &o, err
}

func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	kept, err := readKept(o.kept)
	if err != nil {
		return err
	}
	list := budgets()
	for _, command := range commands(list, o.run) {
		why, err := missing(command, o.shared)
		if err != nil {
			return err
		}
		if why != "" {
			kept[command.text(0)] = skipped + why + "\n"
			fmt.Fprintf(os.Stderr, "SKIP %s: %s\n", command.text(0), why)
			continue
		}
		begin := machine()
		text, err := command.measure(ctx, o.count)
		if err != nil {
			return fmt.Errorf("%s: %w\n%s", command.text(0), err, text)
		}
		kept[command.text(0)] = begin + text
	}
	if err := writeKept(o.kept, kept); err != nil {
		return err
	}
	return write(o.page, list, kept)
}

// missing returns what a command needs and is not available. It returns an empty text if the command has everything.
func missing(c command, shared string) (string, error) {
	for _, tool := range c.tools {
		if _, err := exec.LookPath(tool); err != nil {
			return tool + " is missing", nil
		}
	}
	if !c.traces {
		return "", nil
	}
	_, err := os.Stat(filepath.Join(shared, "traces"))
	if errors.Is(err, os.ErrNotExist) {
		return "the traces are missing", nil
	}
	return "", err
}

// measure runs a command and returns its benchmark lines. It copies the output to standard error meanwhile.
func (c command) measure(ctx context.Context, count int) (string, error) {
	args := strings.Fields(c.text(count))
	for i, a := range args {
		args[i] = strings.Trim(a, "'")
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&out, os.Stderr), os.Stderr
	err := cmd.Run()
	text := out.String()
	if c.read != nil {
		text = c.read(text)
	}
	if _, _, bad := benchtext.Read(strings.NewReader(text)); err == nil && bad != nil {
		err = bad
	}
	var lines strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "Benchmark") && len(strings.Fields(line)) > 3 || strings.HasPrefix(line, "pkg: ") {
			lines.WriteString(line)
		}
	}
	return lines.String(), err
}

// machine describes the machine and its load in lines "key: value".
func machine() string {
	return fmt.Sprintf("machine: %d cores, %s, Go %s, %s/%s\nload: %s\n", runtime.NumCPU(), model(),
		strings.TrimPrefix(runtime.Version(), "go"), runtime.GOOS, runtime.GOARCH, load())
}

func model() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	for line := range strings.Lines(string(text)) {
		if key, value, _ := strings.Cut(line, ":"); strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}

// load returns the load of the last minute, proc_loadavg(5).
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Fields(string(text))[0]
}
