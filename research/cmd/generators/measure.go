package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os/exec"
	"strings"

	"github.com/waitcast/waitcast/swf"
	"github.com/waitcast/waitcast/workload/compare"
)

// workload has the measures of a workload file, over the jobs that ran and have processors. first and last are the
// first and the last submission, in seconds. A runtime of 0 is 1 s in runtimes. work is in processor-seconds.
type workload struct {
	sizes, runtimes   []float64
	first, last, work float64
}

// readJobs reads and measures the log at path.
func readJobs(path string) (*workload, error) {
	f, err := swf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	w, err := measure(f.Reader)
	if err == nil && len(w.sizes) == 0 {
		err = errors.New("no job that ran and has processors")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return w, nil
}

// measure reads a workload file and measures its jobs.
func measure(reader *swf.Reader) (*workload, error) {
	w := &workload{first: math.Inf(1), last: math.Inf(-1)}
	for {
		var r swf.Record
		if err := reader.Next(&r); errors.Is(err, io.EOF) {
			return w, nil
		} else if err != nil {
			return nil, err
		}
		if !r.Ran() || r.Procs() <= 0 || r.Submit < 0 {
			continue
		}
		w.sizes, w.runtimes = append(w.sizes, float64(r.Procs())), append(w.runtimes, float64(max(r.Runtime, 1)))
		w.work += float64(r.Procs()) * float64(r.Runtime)
		w.first, w.last = min(w.first, float64(r.Submit)), max(w.last, float64(r.Submit))
	}
}

// meanWork returns the mean work of a job in processor-seconds.
func (w *workload) meanWork() float64 { return w.work / float64(len(w.sizes)) }

// load returns the work divided by the time from the first to the last submission, which is a number of processors. It
// is the offered load multiplied by the processors of the machine.
func (w *workload) load() float64 { return w.work / (w.last - w.first) }

// generate runs the program with the given arguments, and measures the jobs that it writes.
func (s *study) generate(args []string) (*workload, error) {
	var said bytes.Buffer
	command := exec.CommandContext(context.Background(), s.program, args...)
	command.Stderr = &said
	text, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", s.program, strings.Join(args, " "), err, said.String())
	}
	return measure(swf.NewReader(bytes.NewReader(text)))
}

// result has the comparison of generated workloads with their log.
type result struct {
	work            float64 // mean work divided by the recorded mean work
	sizes, runtimes float64 // KS distances without --load
	load            float64 // load with --load same, divided by the recorded load
	change          float64 // largest change of a KS distance by --load same
}

// compareAll compares two generated workloads, without and with --load same, with the log recorded.
func compareAll(recorded, plain, same *workload) (r result, err error) {
	r.work, r.load = plain.meanWork()/recorded.meanWork(), same.load()/recorded.load()
	for _, x := range []struct {
		recorded, plain, same []float64
		ks                    *float64
	}{
		{recorded.sizes, plain.sizes, same.sizes, &r.sizes},
		{recorded.runtimes, plain.runtimes, same.runtimes, &r.runtimes},
	} {
		if *x.ks, err = compare.KS(x.plain, x.recorded); err != nil {
			return r, err
		}
		scaled, err := compare.KS(x.same, x.recorded)
		if err != nil {
			return r, err
		}
		r.change = max(r.change, math.Abs(scaled-*x.ks))
	}
	return r, nil
}

// worsen replaces each value except work by that of the other result, if that is worse.
func (r *result) worsen(other result) {
	r.sizes, r.runtimes = max(r.sizes, other.sizes), max(r.runtimes, other.runtimes)
	r.change = max(r.change, other.change)
	if math.Abs(other.load-1) > math.Abs(r.load-1) || math.IsNaN(other.load) {
		r.load = other.load
	}
}

// calibrated reports whether --load same keeps the load and the distributions within the bounds.
func (r *result) calibrated() bool { return math.Abs(r.load-1) <= loadBound && r.change <= ksBound }
