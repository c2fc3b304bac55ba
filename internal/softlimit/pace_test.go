package softlimit

import (
	"context"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"
)

// TestPaceFollowsTheCost proves that a process with cheap collections ends with the least garbage, that one with
// expensive collections has the maximum within three intervals and keeps it, and that a process in between ends where
// collections take the CPU time between the two thresholds.
func TestPaceFollowsTheCost(t *testing.T) {
	// work simulates intervals of a process that allocates, in MB a second, and whose collections take a time, in
	// seconds. It returns the CPU time of collections in the second half, in cores.
	work := func(p *pace, intervals int, live, allocated, collection float64) (cores float64) {
		garbage, late := 0.0, 0
		for i := range intervals {
			spent := 0.0
			allowed := live * float64(p.percent) / 100
			for garbage += allocated; garbage >= allowed; garbage -= allowed {
				spent += collection
			}
			p.record(spent)
			if i >= intervals/2 {
				cores, late = cores+spent, late+1
			}
		}
		return cores / float64(late)
	}
	p := pace{most: 50, percent: 50}
	if cores := work(&p, 200, 45, 1, .04); p.percent != leastPercent || cores >= cheap {
		t.Errorf("idle: %d %% and %.3f cores", p.percent, cores)
	}
	if work(&p, 3, 180, 200, .15); p.percent != 50 {
		t.Errorf("three intervals after the load began: %d %%", p.percent)
	}
	if work(&p, 100, 180, 200, .15); p.percent != 50 {
		t.Errorf("under load: %d %%", p.percent)
	}
	if cores := work(&p, 2000, 180, 20, .15); p.percent <= leastPercent || cores < cheap || cores > dear {
		t.Errorf("in between: %d %% and %.3f cores", p.percent, cores)
	}
	p = pace{most: 10, percent: 10}
	if work(&p, 100, 45, 1, .04); p.percent != 10 {
		t.Errorf("a maximum below the minimum gave %d %%", p.percent)
	}
}

// TestPace proves that the percentage is in force, falls in an idle process, and is the maximum again when the context
// ends.
func TestPace(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	inForce := func() int {
		percent := debug.SetGCPercent(100)
		debug.SetGCPercent(percent)
		return percent
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			Pace(ctx, 50)
			close(done)
		}()
		synctest.Wait()
		if got := inForce(); got != 50 {
			t.Errorf("at first it is %d %%", got)
		}
		<-time.After(10 * paceInterval)
		synctest.Wait()
		if got := inForce(); got >= 50 || got < leastPercent {
			t.Errorf("after ten idle intervals it is %d %%", got)
		}
		stop()
		<-done
		if got := inForce(); got != 50 {
			t.Errorf("afterwards it is %d %%", got)
		}
	})
}
