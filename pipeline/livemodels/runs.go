package livemodels

import (
	"hash/fnv"
	"slices"

	"github.com/waitcast/waitcast/workload/speedup"
)

// program identifies the jobs of one user with one name; 0 if either is not known.
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

// mostRuns is how many runs of one program are looked at, the newest.
const mostRuns = 1000

// Runs returns sizes and runtimes of a user's newest jobs of a name that ran, in order of their ends, the newest last:
// none where the history does not reach them.
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
