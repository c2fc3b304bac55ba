package simulator

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/waitcast/waitcast/internal/panics"
)

// Replicas runs n replicas of a simulation on several goroutines and returns their results, in order. Each replica
// gets its own random generator, which depends on the seed and the replica's number. It also gets the scratch memory
// of its goroutine, which the function scratch created. Scratch memory may be a simulator into which run copies the
// state. The results do not depend on the number of workers or on the worker that ran a replica, if run first puts
// the scratch memory into the same state each time.
//
// With 0 workers there is one for each core. An error of run ends the work. Of several errors, Replicas returns the
// one of the first replica. The end of the context also ends the work; then Replicas returns the error of the
// context.
func Replicas[S, R any](
	ctx context.Context, n, workers int, seed uint64, scratch func() S,
	run func(s S, replica int, rng *rand.Rand) (R, error),
) ([]R, error) {
	return HurriedReplicas(ctx, n, workers, nil, seed, scratch, run)
}

// HurriedReplicas does the same as Replicas. Once hurry is closed, it uses one more goroutine: the caller that closes
// hurry waits for the result, so its core is free. A nil hurry is never closed.
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
	var wg, more panics.Group
	for range min(workers, n) {
		wg.Go(work)
	}
	done := make(chan struct{})
	end := sync.OnceFunc(func() { close(done) })
	defer end() // also if a replica has panicked
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
	end()
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
