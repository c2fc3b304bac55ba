package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/internal/duration"
)

// mostSizes is the maximum number of sizes in one request.
const mostSizes = 1024

// largestSize is the largest end of a range. No machine has more processors.
const largestSize = 1 << 30

// question converts the flags to a request.
func (f *sizeFlags) question() (*wire.SizeRequest, error) {
	q := &wire.SizeRequest{
		Min: f.min, Max: f.max, User: f.user, Account: f.account, QOS: f.qos,
		HoldSeconds: time.Duration(f.hold).Seconds(),
		Objective: wire.SizeObjective{Kind: f.by, Level: f.level, Deadline: f.deadline,
			PriceProcHour: f.priceProcHour, PriceHour: f.priceHour},
	}
	var err error
	if q.Places, err = places(f.queues, f.cluster); err != nil {
		return nil, err
	}
	if q.Sizes, err = sizes("sizes", f.sizes); err != nil {
		return nil, err
	}
	if f.gainGiven {
		q.LeastGain = &f.leastGain
	}
	if f.request != 0 {
		q.Request = &wire.SizeAsked{Procs: f.request}
		if len(q.Places) > 0 {
			q.Request.Place = q.Places[0]
		}
	}
	switch factor, isFactor := strings.CutSuffix(f.limit, "x"); {
	case isFactor:
		if q.TimeLimitFactor, err = console.ParseNumber(factor); err != nil {
			return nil,
				console.NewUsageError(fmt.Sprintf("--time %q: write a time limit, or a factor such as 1.5x", f.limit))
		}
	case f.limit != "":
		limit, err := parseLimit(f.limit, f.env)
		if err != nil {
			return nil, console.NewUsageError("--time: " + err.Error())
		}
		if q.TimeLimit = f.limit; unitless(f.limit) {
			q.TimeLimit = duration.String(limit)
		}
	}
	if err := f.running(q); err != nil {
		return nil, err
	}
	runtime, err := runtimeOf(f.runtime, f.amdahl, f.downey, f.history)
	if err != nil {
		return nil, err
	}
	if runtime == nil {
		return nil, console.NewUsageError("say how long the job runs: --runtime, --amdahl, --downey or --history")
	}
	q.Runtime = *runtime
	return q, nil
}

// running parses the flags that describe a running job.
func (f *sizeFlags) running(q *wire.SizeRequest) error {
	remaining, overhead := time.Duration(f.remaining).Seconds(), time.Duration(f.overhead).Seconds()
	if f.job == "" && f.holds == 0 {
		if remaining != 0 || overhead != 0 || f.doneGiven {
			return console.NewUsageError(
				"--remaining, --done and --overhead are about a job that runs: give --job or --holds")
		}
		return nil
	}
	q.Running = &wire.SizeRunning{JobID: f.job, Procs: f.holds, RemainingSeconds: remaining, OverheadSeconds: overhead}
	if f.doneGiven {
		q.Running.Done = &f.done
	}
	if f.request != 0 {
		return console.NewUsageError(
			"--procs is about a job to be submitted; a running one is compared with keeping its size")
	}
	return nil
}

// places parses queues, each of the form QUEUE or CLUSTER:QUEUE. A queue without a cluster is one of the given cluster.
func places(text, cluster string) ([]wire.Place, error) {
	if text == "" {
		if cluster == "" {
			return nil, nil
		}
		return []wire.Place{{Cluster: cluster}}, nil
	}
	var out []wire.Place
	for name := range strings.SplitSeq(text, ",") {
		p := wire.Place{Cluster: cluster, Queue: strings.TrimSpace(name)}
		if before, after, ok := strings.Cut(p.Queue, ":"); ok {
			p.Cluster, p.Queue = before, after
		}
		if p.Queue == "" {
			return nil, console.NewUsageError("--queue has an empty name")
		}
		out = append(out, p)
	}
	return out, nil
}

// sizes parses a list of sizes: numbers, doubling ranges 4..64 and full ranges 4-9.
func sizes(flag, text string) ([]int, error) {
	if text == "" {
		return nil, nil
	}
	bad := func(item string) error {
		return console.NewUsageError(
			fmt.Sprintf("--%s: %q is none; write numbers from 1, 4..64 (doubling) or 4-9 (each)", flag, item))
	}
	var out []int
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimSpace(item)
		from, to, doubling := strings.Cut(item, "..")
		each := false
		if !doubling {
			from, to, each = strings.Cut(item, "-")
		}
		low, err := strconv.Atoi(from)
		if err != nil || low < 1 {
			return nil, bad(item)
		}
		high := low
		if doubling || each {
			if high, err = strconv.Atoi(to); err != nil || high < low || high > largestSize {
				return nil, bad(item)
			}
		}
		for n := low; n <= high; {
			if len(out) == mostSizes {
				return nil, console.NewUsageError(fmt.Sprintf("--%s: more than %d sizes", flag, mostSizes))
			}
			out = append(out, n)
			switch {
			case !doubling:
				n++
			case n < high:
				n = min(2*n, high)
			default:
				n++
			}
		}
	}
	return out, nil
}

// runtimeOf parses how the runtime depends on the size. It returns nil if no flag is given.
func runtimeOf(table, amdahl, downey, history string) (*wire.Runtime, error) {
	given := 0
	for _, text := range []string{table, amdahl, downey, history} {
		if text != "" {
			given++
		}
	}
	switch {
	case given == 0:
		return nil, nil
	case given > 1:
		return nil, console.NewUsageError("give one of --runtime, --amdahl, --downey and --history")
	case table != "":
		return runtimeTable(table)
	case history != "":
		user, name, ok := strings.Cut(history, ":")
		if !ok || user == "" || name == "" {
			return nil, console.NewUsageError(fmt.Sprintf("--history %q: write USER:NAME", history))
		}
		return &wire.Runtime{History: &wire.RuntimeHistory{User: user, Name: name}}, nil
	case amdahl != "":
		numbers, t1, err := model("amdahl", amdahl, 1, "F,T1")
		if err != nil {
			return nil, err
		}
		return &wire.Runtime{Amdahl: &wire.RuntimeAmdahl{Serial: numbers[0], T1Seconds: t1}}, nil
	}
	numbers, t1, err := model("downey", downey, 2, "A,SIGMA,T1")
	if err != nil {
		return nil, err
	}
	return &wire.Runtime{Downey: &wire.RuntimeDowney{A: numbers[0], Sigma: numbers[1], T1Seconds: t1}}, nil
}

// runtimeTable parses a table such as 1:10h,2:5.5h.
func runtimeTable(text string) (*wire.Runtime, error) {
	out := &wire.Runtime{}
	for item := range strings.SplitSeq(text, ",") {
		size, time, ok := strings.Cut(strings.TrimSpace(item), ":")
		procs, err := strconv.Atoi(size)
		if !ok || err != nil {
			return nil,
				console.NewUsageError(
					fmt.Sprintf("--runtime: %q is none; write PROCS:RUNTIME, as in 1:10h,2:5.5h", item))
		}
		d, err := duration.Parse(time)
		if err != nil {
			return nil, console.NewUsageError(fmt.Sprintf("--runtime, %d processors: %v", procs, err))
		}
		out.Table = append(out.Table, wire.RuntimePoint{Procs: procs, Seconds: d.Seconds()})
	}
	return out, nil
}

// model parses n numbers and the runtime on one processor, separated by commas. It returns the runtime in seconds. form
// is the expected form, for messages.
func model(flag, text string, n int, form string) ([]float64, float64, error) {
	parts := strings.Split(text, ",")
	if len(parts) != n+1 {
		return nil, 0, console.NewUsageError(fmt.Sprintf("--%s %q: write %s", flag, text, form))
	}
	numbers := make([]float64, n)
	for i := range numbers {
		var err error
		if numbers[i], err = console.ParseNumber(parts[i]); err != nil {
			return nil, 0, console.NewUsageError(fmt.Sprintf("--%s: %q is no number; write %s", flag, parts[i], form))
		}
	}
	t1, err := duration.Parse(parts[n])
	if err != nil {
		return nil, 0, console.NewUsageError(fmt.Sprintf("--%s, T1: %v", flag, err))
	}
	return numbers, t1.Seconds(), nil
}
