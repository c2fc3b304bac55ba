package engine

import (
	"math"
	"slices"
	"testing"

	"github.com/waitcast/waitcast/job"
)

// TestBeginTime proves that a job cannot start before its begin time, and that its wait from then on depends on the
// state of the machine at that time: ann's 1,000 processors are in use for 1,000 s.
func TestBeginTime(t *testing.T) {
	e, now := experienced(t)
	full := of("ann", "q", 1000)
	full.Limit = 3000
	e.Submit(now, 200, full)
	e.Start(now, 200, true)
	v := e.View(now)
	for _, c := range []struct{ begin, want float64 }{{0, 1000}, {400, 1000}, {2500, 2500}} {
		r := of("ann", "q", 4)
		if r.Limit = 3000; c.begin > 0 {
			r.Begin = now + c.begin
		}
		f := v.Forecast(&r)
		if w := simulated(t, &f); math.Abs(w-c.want) > .25*c.want {
			t.Errorf("from %v s on: simulated %v s, want about %v", c.begin, w, c.want)
		}
		if f.Quantiles[0] < c.begin || !slices.IsSorted(f.Quantiles) {
			t.Errorf("from %v s on: served %v", c.begin, f.Quantiles)
		}
		if c.begin == 0 {
			continue
		}
		for l, q := range f.Quantiles {
			if b, el := f.Blocked[l], f.Eligible[l]; b < c.begin || b > q || el > q {
				t.Errorf("from %v s on: %v blocked and %v eligible of %v", c.begin, b, el, q)
			}
		}
		if f.Cause() != job.OnHold {
			t.Errorf("from %v s on: the cause is %v", c.begin, f.Cause())
		}
	}
}

// TestBeginTimeLaws proves three laws. A past begin time changes no forecast. On an idle machine, a future begin time
// delays the whole forecast by the time until then. No wait is learnt from the start of a job with a future begin time.
func TestBeginTimeLaws(t *testing.T) {
	e, now := experienced(t)
	v := e.View(now)
	r := of("ann", "q", 4)
	plain := v.Forecast(&r)
	r.Begin = now - 1
	if f := v.Forecast(&r); !slices.Equal(f.Quantiles, plain.Quantiles) || f.Cause() != plain.Cause() {
		t.Errorf("a begin time that is over: %v, without one %v", f.Quantiles, plain.Quantiles)
	}
	const later = 512
	r.Begin = now + later
	f := v.Forecast(&r)
	for l, q := range plain.Quantiles {
		if f.Quantiles[l] != q+later || f.Eligible[l] != q || f.Blocked[l] != later {
			t.Errorf("level %d: %v, %v blocked, %v eligible; want %v more than %v", l, f.Quantiles[l], f.Blocked[l],
				f.Eligible[l], later, q)
		}
	}
	late := e.SubmitAt(v, now, now+1, 300, r)
	if !slices.Equal(late.Quantiles, f.Quantiles) {
		t.Errorf("submitted: %v, asked before %v", late.Quantiles, f.Quantiles)
	}
	learnt := e.learnt()
	e.Hold(now+1, 300, Hold{Until: r.Begin})
	e.Release(now+later, 300)
	data, err := e.MarshalBinary()
	check(t, err)
	again := quick(t, Config{Capacity: 1000})
	check(t, again.UnmarshalBinary(data))
	for _, one := range []*Engine{e, again} {
		one.Start(now+later, 300, true)
		one.End(now+later+10, 300)
		if got := one.learnt(); got != learnt {
			t.Errorf("%d waits learnt, want %d as before", got, learnt)
		}
		if got := one.View(now + later + 10).Users.Find("ann").LastStart.Wait; got >= math.Log(60+later) {
			t.Errorf("the user's last wait is exp(%v) - 60 s, which includes the time until the begin time", got)
		}
	}
}
