package engine

import (
	"sync"
	"testing"

	"github.com/waitcast/waitcast/predictor/engine/track"
)

// TestSavedWhileItIsRead proves, with the race detector, that engine and views can be saved and copied while other
// goroutines query the views. They share maps, and an earlier version of saving wrote to these maps.
func TestSavedWhileItIsRead(t *testing.T) {
	e := quick(t, Config{Downey: true})
	defer e.Close()
	for i, h := range happenings(9, 400) {
		h.tell(e)
		if i%60 != 59 {
			continue
		}
		v := e.View(h.at)
		var readers sync.WaitGroup
		for procs := range 3 {
			readers.Go(func() {
				for n := range 20 {
					r := track.Request{Queue: "short", User: "u1", Procs: 1 + procs*5 + n%3, Limit: 600 + 60*float64(n)}
					v.Forecast(&r)
					v.Pivots(&r)
				}
			})
		}
		_, err := e.MarshalBinary()
		check(t, err)
		_, err = v.MarshalBinary()
		check(t, err)
		c, err := e.Copy()
		check(t, err)
		readers.Wait()
		c.Close()
	}
}
