package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// tools are the paths of the two programs and of their folder.
type tools struct{ work, daemon, command string }

// build builds both programs.
func build(ctx context.Context, work string) (*tools, error) {
	t := &tools{work: work, daemon: filepath.Join(work, "waitcastd"), command: filepath.Join(work, "waitcast")}
	for program, from := range map[string]string{t.daemon: "./cmd/daemon", t.command: "./cmd/waitcast"} {
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, from).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("building %s: %w\n%s", from, err, out)
		}
	}
	return t, nil
}

// env returns the environment of every program. From the caller's environment it takes only the search path of
// programs.
func (t *tools) env() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.work, "TZ=UTC", "LC_ALL=C", "TMPDIR=" + t.work}
}

// output is what a program wrote.
type output struct {
	code           int
	stdout, stderr string
}

func (t *tools) call(ctx context.Context, dir, stdin, program string, args ...string) (*output, error) {
	path := map[string]string{"waitcast": t.command, "waitcastd": t.daemon}[program]
	cmd := exec.CommandContext(ctx, path, args...)
	var stdout, stderr strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Dir, cmd.Env = strings.NewReader(stdin), &stdout, &stderr, dir, t.env()
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	return &output{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}, nil
}

// run runs a program, which must succeed.
func (t *tools) run(ctx context.Context, dir, program string, args ...string) (string, error) {
	out, err := t.call(ctx, dir, "", program, args...)
	if err != nil {
		return "", err
	}
	if out.code != 0 {
		return out.stderr, fmt.Errorf("%s %s: exit code %d", program, strings.Join(args, " "), out.code)
	}
	return out.stdout, nil
}

// command is one call of a program.
type command struct {
	program string
	args    []string
	stdin   string
	// files are the names of the files that it writes.
	files []string
	// quiet leaves the output out, because it is random, or contains paths and versions.
	quiet bool
	// timed leaves out the parts that show how long the work took: standard error, and the first line of a text output.
	timed bool
}

func call(program, args string) command {
	return command{program: program, args: strings.Fields(args)}
}

func (c command) input(text string) command      { c.stdin = text; return c }
func (c command) writes(files ...string) command { c.files = files; return c }
func (c command) codeOnly() command              { c.quiet = true; return c }
func (c command) tellsTime() command             { c.timed = true; return c }

// perform runs commands and records exit codes and outputs.
func (c *chapter) perform(ctx context.Context, t *tools, dir, kind string, extra []string, all []command) error {
	for i, cmd := range all {
		out, err := t.call(ctx, dir, cmd.stdin, cmd.program, append(slices.Clone(extra), cmd.args...)...)
		if err != nil {
			return fmt.Errorf("%s %s: %w", cmd.program, strings.Join(cmd.args, " "), err)
		}
		text := fmt.Sprintf("%s %s\nexit code %d\n", cmd.program, strings.Join(cmd.args, " "), out.code)
		if cmd.timed && !strings.HasPrefix(out.stdout, "{") {
			_, out.stdout, _ = strings.Cut(out.stdout, "\n")
		}
		if !cmd.quiet {
			text += normalized(out.stdout)
		}
		if !cmd.quiet && !cmd.timed {
			text += "stderr:\n" + digits(logTime.ReplaceAllString(out.stderr, ""))
		}
		for _, file := range cmd.files {
			data, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				return fmt.Errorf("%s %s: %w", cmd.program, strings.Join(cmd.args, " "), err)
			}
			text += file + ":\n" + normalized(string(data))
		}
		c.add(fmt.Sprintf("%s/%02d %s %s", kind, i, cmd.program, first(cmd.args)), text)
	}
	return nil
}

func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// normalized masks the prose in an output. JSON is masked as in answers. Workloads, except their headers, and tables
// with commas are not masked. Of all other text, only words with a digit stay.
func normalized(text string) string {
	if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
		return maskJSON([]byte(text), dropped...)
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		isRecord := len(line) > 0 && line[0] != ';' && strings.Trim(line, "-0123456789. \n") == ""
		switch {
		case isRecord, strings.Count(line, ",") > 2 && !strings.Contains(line, ", "):
			out.WriteString(line)
		default:
			out.WriteString(digits(line))
		}
	}
	return out.String()
}

// dropped are JSON members that are left out. Some contain the version or a duration. fitted_at is the number of events
// at which a model was last fitted, which depends on how many events were read together.
var dropped = []string{"version", "took_seconds", "fitted_at"} //nolint:gochecknoglobals // never written

// logTime matches the wall-clock time at the beginning of a log line.
var logTime = regexp.MustCompile(`(?m)^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\S*`) //nolint:gochecknoglobals // never written

// offlineCommands returns commands that read own.swf and own.pbs without a daemon.
func offlineCommands() []command {
	const swf = "own.swf"
	list := []command{
		call("waitcast", "version").codeOnly(),
		call("waitcast", "help").codeOnly(),
		call("waitcast", "wait --help").codeOnly(),
		call("waitcast", "nothing"),
		call("waitcast", "completion bash").codeOnly(), call("waitcast", "token new --help").codeOnly(),
		call("waitcast", "fit "+swf+" --seed 1"),
		call("waitcast", "fit "+swf+" --seed 1 --json"),
		call("waitcast", "fit "+swf+" --seed 1 --clean --sequential --status 1 --json"),
		call("waitcast", "fit "+swf+" --model lifetime --seed 2 --group a=*s --json"),
		call("waitcast", "fit missing.swf --seed 1"),
		call("waitcast", "fit"),
		call("waitcast", "generate --jobs 60 --seed 1 --model lublin --from "+swf),
		call("waitcast", "generate --jobs 60 --seed 1 --model markov --from "+swf),
		call("waitcast", "generate --jobs 60 --seed 1 --model uniformlog --arrivals recorded --from "+swf),
		call("waitcast", "generate --set nothing"),
		call("waitcast", "compare own.swf other.swf"),
		call("waitcast", "compare own.swf other.swf --json"),
		call("waitcast", "compare own.swf"),
		call("waitcast", "resample own.swf --seed 3 --length 8d --load 1.2"),
		call("waitcast", "resample own.swf --seed 3 --length 8d --feedback easy --patience 4h --json"),
		call("waitcast", "resample own.swf --seed 3 --length 8d --favor wide=3 --stationary --rare 0"),
	}
	for _, set := range []string{
		"paper", "paper-batch", "paper-interactive", "lublin99", "lublin99-batch", "lublin99-interactive",
	} {
		list = append(list, call("waitcast", "generate --procs 128 --jobs 60 --seed 5 --set "+set))
	}
	for _, attribute := range []string{"interarrival", "runtime", "estimate", "size"} {
		list = append(list, call("waitcast", "shake own.swf --seed 2 --fraction 0.2 --degree 4 --attribute "+attribute))
	}
	list = append(list,
		call("waitcast", "shake own.swf --seed 2 --relative 0.5 --level user"),
		call("waitcast", "shake own.swf --degree none"))
	for _, policy := range []string{"fcfs", "easy", "conservative", "priority", "nothing"} {
		list = append(list, call("waitcast", "simulate own.swf --policy "+policy),
			call("waitcast", "simulate own.swf --json --load 0.9 --kill --estimates recent --policy "+policy))
	}
	list = append(list,
		call("waitcast", "simulate own.swf --rules pyss --plot queue.svg --warm-up 0.1").writes("queue.svg"),
		call("waitcast",
			"study own.swf --policy fcfs,easy --load 0.8,0.9 --shakes 3 --out study.csv --points points.csv").
			writes("study.csv", "points.csv").tellsTime(),
		call("waitcast", "backtest own.swf --json --predictions predictions.csv --report report.html").
			writes("predictions.csv").tellsTime(),
		call("waitcast", "backtest own.swf").tellsTime(),
		call("waitcast", "backtest own.swf --mode head --json").tellsTime(),
		call("waitcast", "backtest own.swf --mode nothing"),
		call("waitcastd", "--version").codeOnly(),
		call("waitcastd", "--help").codeOnly(),
		call("waitcastd", "nothing"),
		call("waitcastd", "--json"),
		call("waitcastd", "--one-shot --format pbs own.pbs"),
		call("waitcastd", "--one-shot --format pbs --json own.pbs"),
		call("waitcastd", "--one-shot --format swf --json own.swf"),
		call("waitcastd", "--one-shot --format slurm-sacct own.pbs"),
		call("waitcastd", "--one-shot --format nothing own.pbs"),
		call("waitcastd", "--config missing.yaml"),
		call("waitcastd", "--config broken.yaml"),
		call("waitcastd", "check --config broken.yaml"),
	)
	return list
}

// askingCommands returns the commands that ask the daemon. w is its world.
func askingCommands(w *world) []command {
	const script = "#!/bin/bash\n#SBATCH -p long\n#SBATCH -n 8\n#SBATCH -t 3:00:00\n#SBATCH --mem=4G\ntrue\n"
	const pbs = "#!/bin/sh\n#PBS -q short\n#PBS -l nodes=2:ppn=4,walltime=0:30:00\ntrue\n"
	var list []command
	for _, args := range []string{
		"accuracy", "accuracy -q long --made live --since 2d", "accuracy --size 2-8", "forecast --hours 24",
		"forecast -q wide --days 3", "jobs", "jobs -q wide --limit 5",
		"jobs " + w.waiting[0], "jobs 999999", "models", "models long", "models nowhere", "now",
		"now -q short -u user03", "quarantine", "quarantine --reason time", "log-level",
		"size -q short,long --sizes 1,2,4..32 --runtime 1:10h,2:5.5h,64:30m -t 1.5x",
		"size -q long --min 8 --max 32 --amdahl 0.02,40h --by quantile --level 0.9",
		"size -q long --sizes 2,8 --downey 20,0.5,30h -t 24h --by cost --price-hour 2 --price-proc-hour 0.1",
		"size -q short --sizes 1,2,4 --history user02:case7 -t 2x",
		"size -q short", "wait -q short -n 16 -t 2h30m", "wait -q short,long -n 4,8,16 -t 3h,12h",
		"wait -q wide -n 64 -t 1-12:00 -u user01 -A proj0", "wait -q nowhere -n 1 -t 1h",
		"wait -q short -n 100000 -t 1h", "wait -q long -n 8 --runtime 1:10h,16:1h -t 2h", "wait -n 1",
		"generate --live --model users --jobs 20 --seed 4",
		"generate --live --model markov --hours 12 --seed 4 --format jsonl",
	} {
		list = append(list, call("waitcast", args))
		list = append(list, call("waitcast", args+" --json"))
	}
	return append(list,
		call("waitcast", "wait -").input(script),
		call("waitcast", "wait - --json -- --time=30").input(script),
		call("waitcast", "wait - --json").input(pbs),
		call("waitcast", "import --format pbs --json past.pbs"),
		call("waitcast", "import --format pbs past.pbs"),
		call("waitcast", "import --format swf past.pbs"),
		call("waitcast", "models short --json"), call("waitcast", "log-level warn --for 10m").codeOnly(),
		call("waitcast", "now --url http://127.0.0.1:1"), call("waitcast", "now --token-file missing"),
	)
}

// storeCommands returns the commands for a database whose daemon has stopped.
func storeCommands() []command {
	return []command{
		call("waitcast", "store info --from data/waitcast.db").codeOnly(),
		call("waitcast", "store info --from data/waitcast.db --json").codeOnly(),
		call("waitcast", "store info --from missing.db"),
		call("waitcast", "store backup --from data/waitcast.db saved.db --json").codeOnly(),
		call("waitcast", "store backup --from data/waitcast.db saved.db"),
		call("waitcast", "store restore saved.db --to data/waitcast.db"),
		call("waitcast", "store restore saved.db --to other.db").codeOnly(),
		call("waitcast", "store copy --from data/waitcast.db --to copied.db").codeOnly(),
		call("waitcast", "store copy --from data/waitcast.db --to copied.db").codeOnly(),
		call("waitcastd", "check --config waitcastd.yaml").codeOnly(),
		call("waitcastd", "bundle --config waitcastd.yaml").codeOnly(),
		call("waitcastd", "demo --for 1s --listen 127.0.0.1:0 --open=false").codeOnly(),
	}
}
