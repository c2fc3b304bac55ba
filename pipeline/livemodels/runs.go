package livemodels

import (
	"hash/fnv"
	"slices"
	"time"

	"github.com/waitcast/waitcast/workload/speedup"
)

// program returns the hash that identifies a user's jobs with a given name. It is 0 if the user or the name is unknown.
func program(user, name string) uint64 {
	if user == "" || name == "" {
		return 0
	}
	hash := fnv.New64a()
	for _, part := range [...]string{user, "\x00", name} {
		_, _ = hash.Write([]byte(part)) // never fails
	}
	return max(1, hash.Sum64())
}

// mostRuns is the maximum number of runs of one program that are used. If there are more, the newest are used.
const mostRuns = 1000

// Runs returns sizes and runtimes of a user's newest jobs with the given name that ran, in the order of their ends.
// Only jobs in the history are found, at most mostRuns.
func (v *HistoryView) Runs(user, name string) []speedup.Point {
	want := program(user, name)
	if want == 0 {
		return nil
	}
	var out []speedup.Point
	for i := len(v.blocks) - 1; i >= 0 && len(out) < mostRuns; i-- {
		block := v.blocks[i]
		for k := len(block) - 1; k >= 0 && len(out) < mostRuns; k-- {
			if r := &block[k]; r.program == want && r.procs > 0 && r.runtime > 0 {
				out = append(out, speedup.Point{Procs: int(r.procs), Seconds: toMillis(r.runtime)})
			}
		}
	}
	slices.Reverse(out)
	return out
}

// Run is a job that ran and left.
type Run struct {
	Procs   int
	Limit   time.Duration // 0 for none
	Seconds float64
}

// ReachedLimit reports whether the run lasted at least 99 % of its time limit, so that it may have been killed.
func (r *Run) ReachedLimit() bool { return r.Limit > 0 && r.Seconds >= .99*r.Limit.Seconds() }

// Programs has the runs of one user by the names of the jobs. It has hashes instead of the names.
type Programs struct {
	user string
	runs map[uint64][]Run
}

// Programs returns the newest runs of a user's jobs that have names, at most mostRuns of each name.
func (v *HistoryView) Programs(user string) *Programs {
	out := &Programs{user, map[uint64][]Run{}}
	number, ok := v.numbers[userHash(user)]
	if !ok || user == "" {
		return out
	}
	for _, block := range slices.Backward(v.blocks) {
		for _, r := range slices.Backward(block) {
			if r.user != number || r.program == 0 || r.runtime <= 0 || len(out.runs[r.program]) == mostRuns {
				continue
			}
			limit := time.Duration(float64(r.estimate) * float64(time.Second))
			out.runs[r.program] = append(out.runs[r.program], Run{int(r.procs), limit, toMillis(r.runtime)})
		}
	}
	return out
}

// Of returns the runs of the jobs with a name, the newest first. Callers must not change the slice.
func (p *Programs) Of(name string) []Run { return p.runs[program(p.user, name)] }

// Others returns the number of programs that have at least the given number of runs, not counting those with the given
// names.
func (p *Programs) Others(least int, names []string) int {
	n := 0
	for _, runs := range p.runs {
		if len(runs) >= least {
			n++
		}
	}
	for _, name := range names {
		if len(p.Of(name)) >= least {
			n--
		}
	}
	return n
}
