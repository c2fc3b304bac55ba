package clean_test

import (
	"testing"

	"github.com/waitcast/waitcast/workload/clean"
	"github.com/waitcast/waitcast/workload/users"
)

// TestLeastOfNewestDay proves that a running flurry does not raise its own threshold, and that the days before it do.
func TestLeastOfNewestDay(t *testing.T) {
	const day = 86400.0
	submits := func(n int, from float64) []users.Job {
		jobs := make([]users.Job, n)
		for i := range jobs {
			jobs[i].Submit = from + float64(i)
		}
		return jobs
	}
	burst := submits(400, 3.5*day)
	if got := clean.Least(burst); got != 200 {
		t.Errorf("with nothing before it %v jobs are a flurry, want 200", got)
	}
	var all []users.Job
	for d := range 3 {
		all = append(all, submits(100, float64(d)*day)...)
	}
	if got := clean.Least(append(all, burst...)); got != 301 {
		t.Errorf("after days of 100 jobs %v are a flurry, want 301", got)
	}
}
