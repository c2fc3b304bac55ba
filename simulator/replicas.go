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

// Replicas runs n replicas of a simulation on several goroutines and returns their results, in order. Each replica gets
// its own random generator, made from the seed and the replica's number, and the scratch memory of its goroutine, made
// by scratch, for example a simulator into which the state is copied. The result depends neither on the number of
// workers nor on which of them ran which replica, as long as run puts its scratch memory into the same state first.
//
// With 0 workers there are as many as cores. An error of run ends the work. Of several errors, that of the first
// replica is returned. The end of the context also ends the work, with its error.
func Replicas[S, R any](
	ctx context.Context, n, workers int, seed uint64, scratch func() S,
	run func(s S, replica int, rng *rand.Rand) (R, error),
) ([]R, error) {
	return HurriedReplicas(ctx, n, workers, nil, seed, scratch, run)
}

// HurriedReplicas is Replicas with one more goroutine once hurry is closed: the caller that closes it waits for the
// result, so its core is free. nil means never.
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
