package markov_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/waitcast/waitcast/workload/markov"
)

// TestJointSizes proves that with joint sizes long runtimes meet large sizes as often as in the log, and that sizes
// keep their shares. In this log jobs of 1 processor run for 16 s, and one in ten for 4096 s. Jobs of 8 processors do
// the opposite, and a size stays for five jobs on average. Without rules the association is lost.
func TestJointSizes(t *testing.T) {
	m, err := markov.New(0)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	large := false
	for range 50_000 {
		if rng.IntN(5) == 0 {
			large = !large
		}
		procs, seconds := 1, 16.
		if large {
			procs = 8
		}
		if large != (rng.IntN(10) == 0) {
			seconds = 4096
		}
		if err := m.Append(procs, seconds); err != nil {
			t.Fatal(err)
		}
	}
	chains := m.Chains()
	shares := func(options ...markov.Option) (largeShare, longOfLarge, stays float64) {
		g, err := markov.NewGenerator(chains, rand.New(rand.NewPCG(1, 1)), options...)
		if err != nil {
			t.Fatal(err)
		}
		var n, both, same float64
		before := 0
		const jobs = 100_000
		for range jobs {
			procs, seconds := g.Next()
			if procs == 8 {
				n++
				if seconds == 4096 {
					both++
				}
			}
			if procs == before {
				same++
			}
			before = procs
		}
		return n / jobs, both / n, same / jobs
	}
	share, long, stays := shares(markov.WithJointSizes())
	if math.Abs(share-.5) > .03 || math.Abs(long-.9) > .03 || stays < .65 {
		t.Errorf("joint: %.3f of 8 processors, want .5; %.3f of them long, want .9; %.3f of the size before", share,
			long, stays)
	}
	if _, long, _ := shares(markov.WithoutRules()); math.Abs(long-.5) > .03 {
		t.Errorf("without rules: %.3f of the large jobs are long, want .5", long)
	}
}

// TestJointSizesWantPairs proves that chains that were written and read again have no pairs of states.
func TestJointSizesWantPairs(t *testing.T) {
	m, err := markov.New(0)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Append(2, 10); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(m.Chains())
	if err != nil {
		t.Fatal(err)
	}
	var read markov.Chains
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	if _, err := markov.NewGenerator(&read, rand.New(rand.NewPCG(1, 1)), markov.WithJointSizes()); !errors.Is(err,
		markov.ErrEmpty) {
		t.Errorf("%v", err)
	}
}

// TestJointSizesOfStretches proves that drawn pairs of states are as frequent as in the log even if sizes and runtimes
// both stay for long, so that the chains themselves already carry the association. Here a size stays for 50 jobs on
// average. Of each size one job in three has the other size's runtime, which stays for ten jobs.
func TestJointSizesOfStretches(t *testing.T) {
	m, err := markov.New(0)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	large, other := false, false
	for range 100_000 {
		if rng.IntN(50) == 0 {
			large = !large
		}
		if rng.IntN(10) == 0 {
			other = rng.IntN(3) == 0
		}
		procs, seconds := 1, 16.
		if large {
			procs = 64
		}
		if large != other {
			seconds = 4096
		}
		if err := m.Append(procs, seconds); err != nil {
			t.Fatal(err)
		}
	}
	g, err := markov.NewGenerator(m.Chains(), rand.New(rand.NewPCG(1, 1)), markov.WithJointSizes())
	if err != nil {
		t.Fatal(err)
	}
	const jobs = 400_000
	var both, large64 float64
	for range jobs {
		procs, seconds := g.Next()
		if procs == 64 {
			large64++
			if seconds == 4096 {
				both++
			}
		}
	}
	if share, long := large64/jobs, both/large64; math.Abs(share-.5) > .04 || math.Abs(long-2./3) > .03 {
		t.Errorf("%.3f of 64 processors, want .5; %.3f of them long, want .667", share, long)
	}
}
