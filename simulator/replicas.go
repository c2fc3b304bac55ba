package simulator

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
)

// Replicas runs n replicas of a simulation on several goroutines and returns what each gave, in order. Each replica
// gets a random generator of its own, made from the seed and the replica's number, and the scratch memory of the
// goroutine it runs on, made by scratch: a simulator to copy the state into, say. The result depends on neither the
// number of workers nor which of them ran what, as long as run puts its scratch memory into the same state first.
//
// Workers 0 are as many as there are cores. An error of run ends the work; of several, that of the first replica is
// returned. So does the end of the context, with its error.
func Replicas[S, R any](
	ctx context.Context, n, workers int, seed uint64, scratch func() S,
	run func(s S, replica int, rng *rand.Rand) (R, error),
) ([]R, error) {
	return HurriedReplicas(ctx, n, workers, nil, seed, scratch, run)
}

// HurriedReplicas is Replicas with one goroutine more from when hurry is closed: whoever closes it waits for the
// result, and leaves a core to it. nil is never.
func HurriedReplicas[S, R any](
	ctx context.Context, n, workers int, hurry <-chan struct{}, seed uint64, scratch func() S,
	run func(s S, replica int, rng *rand.Rand) (R, error),
) ([]R, error) {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	out := make([]R, n)
	errs := make([]error, n)
	var next atomic.Int64
	var failed atomic.Bool
	work := func() {
		s, source := scratch(), rand.NewPCG(0, 0)
		rng := rand.New(source)
		for !failed.Load() && ctx.Err() == nil {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			source.Seed(seed, uint64(i))
			if out[i], errs[i] = run(s, i, rng); errs[i] != nil {
				failed.Store(true)
			}
		}
	}
	var wg, more sync.WaitGroup
	for range min(workers, n) {
		wg.Go(work)
	}
	done := make(chan struct{})
	if hurry != nil {
		more.Go(func() {
			select {
			case <-hurry:
				work()
			case <-done:
			}
		})
	}
	wg.Wait()
	close(done)
	more.Wait()
	for i, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("replica %d: %w", i, err)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, errors.Join(errors.New("replicas not finished"), err)
	}
	return out, nil
}
