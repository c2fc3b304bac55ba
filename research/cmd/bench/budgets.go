package main

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/waitcast/waitcast/research/benchtext"
)

// budget is one promised speed or size.
type budget struct {
	name, what string
	by         command
	// benchmark is the name of the benchmark in the package; if several match, the worst counts. unit is the unit of
	// the benchmark's result that is used. The field times is a factor on the value. The field in has the unit of the
	// product, as the table of budgets shows it.
	benchmark string
	unit      string
	times     float64
	limit     float64
	least     bool // the limit is a minimum instead of a maximum
	in        string
}

// command is a command that measures. Its words contain COUNT in place of the number of repetitions.
type command struct {
	words  string
	tools  []string
	traces bool
	read   func(string) string // converts the output to benchmark lines; nil if the output already has this form
}

const counting = " -count COUNT"

// text returns the command with a number of repetitions. If count is 0, it returns the command without that number, as
// pages show it.
func (c command) text(count int) string {
	if count == 0 {
		return strings.ReplaceAll(strings.ReplaceAll(c.words, counting+"0", ""), counting, "")
	}
	return strings.ReplaceAll(c.words, "COUNT", strconv.Itoa(count))
}

func benchmark(pkg, name string) command {
	return command{words: "go test -run ^$ -bench " + name + counting + " ./" + pkg}
}

// brief returns a benchmark with few iterations and many repetitions. For short work, the best repetition is one
// without interruptions.
func brief(turns int, pkg, name string) command {
	return command{words: fmt.Sprintf("go test -run ^$ -bench %s -benchtime %dx%s ./%s", name, turns,
		counting+"0", pkg)}
}

func onTraces(c command) command {
	c.traces = true
	return c
}

const (
	milli = 1e-6 // milliseconds per nanosecond
	whole = 1e-9
)

// budgets returns the budgets in section 10 of the design, and those of later work. Some limits come from other
// programs, which were measured once on a similar machine: mtail read 0.24 M lines/s of such a file, and pyss simulated
// 5,200 jobs/s of KTH-SP2.
func budgets() []budget {
	imports := command{words: "./research/bench-import", tools: []string{"mawk", "zcat"}, traces: true,
		read: readImport}
	past := command{words: "./research/bench-history", tools: []string{"mawk", "zcat"}, traces: true, read: readHistory}
	reading := command{words: "go run -C research ./cmd/bench-reading", tools: []string{"mawk"}, traces: true}
	answers := command{words: "go run -C research ./cmd/bench-http", tools: []string{"wrk"}}
	latency := command{words: "go test -run ^$ -bench ^BenchmarkLatency$ -benchtime 1x" + counting + " ./daemon"}
	delay := command{
		words: "go test -run ^$ -bench ^BenchmarkRealSlurmDelay$ -benchtime 15x ./client/slurm",
		tools: []string{"slurmctld", "sbatch"},
	}
	tail, six := brief(3, "predictor/headqueue", "^BenchmarkTail1000x10000$"),
		brief(3, "predictor/headqueue", "^BenchmarkSixQuantiles1000$")
	trees := benchmark("predictor/boost", "^BenchmarkTrain$")
	// This benchmark runs only once, because it takes some minutes.
	queues := command{words: "go test -run ^$ -bench ^BenchmarkManyQueues$ -benchtime 1x -timeout 60m ./daemon"}
	return []budget{
		{"import", "cold import of a workload file to fitted models: ten times mtail's lines", imports, "Import/swf",
			"Mlines/s", 1, 2.4, true, "M lines/s"},
		{"import", "the same of PBS accounting", imports, "Import/pbs", "Mlines/s", 1, 2.4, true, "M lines/s"},
		{"reading", "CPU time of reading a log (following and parsing), as a part of an import of it with learning, " +
			"the worst of seven formats", reading, "Reading/", "percent-of-import", 1, 5, false, "%"},
		{"latency", "log line to new forecast, 99th percentile", latency, "Latency", "p99-ms", 1, 100,
			false, "ms"},
		{"delay", "longest delay of a submission by Slurm's plugin, whatever the daemon does", delay, "RealSlurmDelay/",
			"delay-ms", 1, 200, false, "ms"},
		{"http", "`GET /v1/wait`, 10,000 running and 20,000 queued jobs, highest rate", answers,
			"HTTP/plain/varied", "req/s", 1, 5000, true, "/s"},
		{"http", "99th percentile of its time, 16 connections without a pause", answers,
			"HTTP/plain/varied", "p99-ms", 1, 5, false, "ms"},
		{"http", "the same at a steady rate near 5,000/s, or the highest rate reached", answers, "HTTP/plain/paced",
			"p99-ms", 1, 5, false, "ms"},
		{"http", "`GET /v1/wait` over TLS, highest rate", answers, "HTTP/tls/varied", "req/s", 1, 5000, true, "/s"},
		{"http", "99th percentile of its time over TLS", answers, "HTTP/tls/varied", "p99-ms", 1, 5, false, "ms"},
		{"http", "99th percentile over TLS at the steady rate", answers, "HTTP/tls/paced", "p99-ms", 1, 5,
			false, "ms"},
		{"refresh", "full refresh of that cluster's forecasts, 100 EASY replicas, limits in round numbers",
			benchmark("predictor/forward", "^BenchmarkSurface$"), "Surface/RoundLimits", "ns/op", whole, 5, false, "s"},
		{"refresh", "the same with any limits, and with outages", benchmark("predictor/forward", "^BenchmarkSurface$"),
			"Surface/(Any|Out)", "ns/op", whole, 5, false, "s"},
		{"exact", "exact probability that at least n' processors are free at one instant, for every n' up to " +
			"10,000, with 1,000 running jobs; the worst of three machines", tail, "Tail1000x10000/", "ns/op", milli, 10,
			false, "ms"},
		{"exact", "six exact quantiles of the time until 1,000 processors are free, with 1,000 running jobs; the " +
			"worst of four", six, "SixQuantiles1000/exact/", "ns/op", milli, 20, false, "ms"},
		{"exact", "six quantiles at any size by saddlepoint, the worst of five", six, "SixQuantiles1000/saddlepoint/",
			"ns/op", milli, 1, false, "ms"},
		{"easy", "EASY simulation of KTH-SP2, parse included: 100 times pyss",
			onTraces(brief(1, "simulator", "^BenchmarkTrace$/^EASY$/KTH")), "Trace/EASY/KTH", "jobs/s", 1e-6, .5,
			true, "M jobs/s"},
		{"history", "a daemon learns SDSC-SP2, CTC-SP2 and LANL-CM5, each from its file with `fast`, the slowest of " +
			"these", past, "History/(SDSC|CTC|LANL)", "jobs/s", 1, 2500, true, "jobs/s"},
		{"history", "the same of a million jobs", past, "History/million", "s", 1, 600, false, "s"},
		{"history", "memory while it learns them", past, "History/million", "MiB", 1, 512, false, "MiB"},
		{"training", "a whole training, by the clock: both sets of trees at six levels on 60,000 rows of 150 " +
			"features, two cores", benchmark("predictor/engine/training", "^BenchmarkTraining$"), "Training", "ns/op",
			whole, 4, false, "s"},
		{"training", "one training of 200 trees of 20 leaves on 60,000 rows of 40 features; each tree uses half of " +
			"the rows and half of the features", trees, "Train/half", "ns/op", whole, 2, false, "s"},
		{"training", "the same; each tree uses all rows and features", trees, "Train/all", "ns/op", whole, 2, false,
			"s"},
		{"queues",
			"memory of a daemon that has read 30,000 jobs of 30,000 users in 10,000 queues and has answered the " +
				"first requests", queues, "ManyQueues", "MiB", 1, 256, false, "MiB"},
		{"queues", "reading that log, as a multiple of the same jobs in 2 queues", queues, "ManyQueues",
			"times-as-long", 1, 2, false, "times"},
		{"queues", "a scrape of that daemon, the slower one of the first two", queues, "ManyQueues", "scrape-s", 1,
			1, false, "s"},
		{"queues", "its `/metrics`", queues, "ManyQueues", "metrics-MB", 1, 5, false, "MB"},
		{"update", "all models of a queue and of the cluster learn one job",
			brief(2000, "pipeline/livemodels", "^BenchmarkUpdate$"), "Update", "ns/op", 1e-3, 20, false, "us"},
		{"fit", "every model of the papers fitted to 100,000 jobs",
			benchmark("workload/lifetime", "^BenchmarkFitAll100k$"), "FitAll100k", "ns/op", whole, 1, false, "s"},
		{"generate", "a million jobs drawn and written, the slowest model",
			benchmark("workload/lifetime", "^BenchmarkGenerate1M$"), "Generate1M", "ns/op", whole, 2, false, "s"},
		{"resample", "a million jobs resampled from users",
			onTraces(benchmark("workload/users", "^BenchmarkResampleMillion$")), "ResampleMillion", "ns/op", whole,
			2, false, "s"},
	}
}

// commands returns the commands of the budgets whose names match, without duplicates.
func commands(list []budget, names *regexp.Regexp) []command {
	var out []command
	seen := map[string]bool{}
	for i := range list {
		if b := &list[i]; names.MatchString(b.name) && !seen[b.by.text(0)] {
			seen[b.by.text(0)] = true
			out = append(out, b.by)
		}
	}
	return out
}

// figure returns the worst of the matching benchmarks. Of each benchmark it uses the best run, because slower runs are
// caused by other work on the machine.
func (b *budget) figure(results []benchtext.Result) (float64, bool) {
	match, err := regexp.Compile(`(^|\.)` + b.benchmark)
	best := map[string]float64{}
	for i := range results {
		key := results[i].Key()
		v, ok := results[i].Values[b.unit]
		if err != nil || !ok || !match.MatchString(key) {
			continue
		}
		v *= b.times
		if before, ok := best[key]; !ok || b.least == (v > before) {
			best[key] = v
		}
	}
	worst := math.NaN()
	for _, v := range best {
		if math.IsNaN(worst) || b.least == (v < worst) {
			worst = v
		}
	}
	return worst, len(best) > 0
}

func (b *budget) write(v float64) string { return fmt.Sprintf("%.3g %s", round(v), b.in) }

// round prevents numbers above a thousand from being printed with an exponent.
func round(v float64) any {
	if v >= 1000 {
		return plain(v)
	}
	return v
}

// plain is a whole number that is printed as digits.
type plain float64

// Format implements fmt.Formatter.
func (p plain) Format(s fmt.State, _ rune) { fmt.Fprintf(s, "%.0f", float64(p)) }

func (b *budget) promise() string {
	if b.least {
		return "at least " + b.write(b.limit)
	}
	return "at most " + b.write(b.limit)
}

// verdict returns "held" if the limit was met, otherwise "MISS". It returns "MISS under load" if other work loaded the
// machine, because a measured time is then too long. Sizes (in MiB) do not depend on the load.
func (b *budget) verdict(v float64, loaded bool) string {
	switch missed := b.least == (v < b.limit) && v != b.limit; {
	case missed && loaded && b.unit != "MiB":
		return "MISS under load"
	case missed:
		return "MISS"
	}
	return "held"
}

// loaded reports whether a load exceeds the number of a machine's cores. Both are texts.
func loaded(load, machine string) bool {
	var cores int
	_, _ = fmt.Sscanf(machine, "%d cores", &cores) // 0 if the text has no number
	l, err := strconv.ParseFloat(load, 64)
	return err == nil && cores > 0 && l > float64(cores)
}

// readImport extracts the figures from the output of research/bench-import.
func readImport(text string) string {
	var out strings.Builder
	for _, r := range [...]struct {
		name, unit string
		line       *regexp.Regexp
	}{
		{"Import/swf", "Mlines/s", regexp.MustCompile(`(?m)^round \d+: .*\(([\d.]+) M lines/s\)`)},
		{"Import/pbs", "Mlines/s", regexp.MustCompile(`(?m)^one-shot, PBS: .*\(([\d.]+) M lines/s\)`)},
		{"Import/jobcomp", "Mlines/s", regexp.MustCompile(`(?m)^one-shot, jobcomp: .*\(([\d.]+) M lines/s\)`)},
	} {
		for _, m := range r.line.FindAllStringSubmatch(text, -1) {
			fmt.Fprintf(&out, "Benchmark%s 1 %s %s\n", r.name, m[1], r.unit)
		}
	}
	return out.String()
}

// readHistory extracts the figures from the output of research/bench-history.
func readHistory(text string) string {
	line := regexp.MustCompile(
		`(?m)^history (\S+), \S+: \d+ jobs, ([\d.]+) s \((\d+) jobs/s\), .* (\d+) MiB, database (\d+) MB`)
	var out strings.Builder
	for _, m := range line.FindAllStringSubmatch(text, -1) {
		fmt.Fprintf(&out, "BenchmarkHistory/%s 1 %s s %s jobs/s %s MiB %s MB\n", m[1], m[2], m[3], m[4], m[5])
	}
	return out.String()
}
