package outlook

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
)

// TestYields proves that a forecast lets other goroutines, such as those that answer requests, run far more often than
// every 10 ms, when the Go scheduler would take its processor away.
func TestYields(t *testing.T) {
	o := small()
	o.Workers = 1
	c := newCluster(t, o, 64, 14, 6)
	c.observe(t, 3*day)
	s := State{Now: c.machine.Now(), Pools: []Pool{{Name: "all", Procs: 64}}}
	for i := range 1000 {
		s.Waiting = append(s.Waiting,
			Job{ID: uint64(1<<40 + i), Queue: "short", User: "a", Procs: 1, Limit: 600, Submit: s.Now - float64(i)})
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var turns atomic.Int64
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			default:
				turns.Add(1)
				runtime.Gosched()
			}
		}
	}()
	_, err := c.f.Forecast(context.Background(), &s)
	close(done)
	<-ended
	if err != nil {
		t.Fatal(err)
	}
	// 16 replicas with a thousand lifetimes each give 500 turns. Without the yields there are a hundred in a second.
	if n := turns.Load(); n < 400 {
		t.Errorf("others ran %d times", n)
	}
}
