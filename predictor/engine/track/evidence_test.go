package track

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// countsOf returns the counts of a number of weeks in which five jobs wait. On each day, starts come only between the
// hour open and midnight.
func countsOf(open int, weeks int) *startCounts {
	c := newStartCounts()
	for hour := range 24 * 7 * weeks {
		at := float64(hour) * Hour
		c.advance(at)
		c.waiting = 5
		if hour%24 >= open {
			c.start(at)
			c.start(at + 1800)
		}
	}
	c.waiting = 0
	c.advance(float64(24*7*weeks) * Hour)
	return c
}

// TestHazardOfADay proves that the table learns hours in which nothing starts: in the morning a job waits until the
// evening, and in the evening it starts soon.
func TestHazardOfADay(t *testing.T) {
	h := countsOf(18, 8).hazard()
	morning, evening := 9*Hour, 18*Hour
	if got := h.Until(morning, .7); got < 9*Hour || got > 12*Hour {
		t.Errorf("at 09:00 a start is %v h away, want a little more than 9 h", got/Hour)
	}
	if got := h.Until(evening, .7); got > 3*Hour {
		t.Errorf("at 18:00 a start is %v h away, want at most 3 h", got/Hour)
	}
	if h.Rate(morning) > h.Rate(evening+1)/10 {
		t.Errorf("rates %v in the morning, %v in the evening", h.Rate(morning), h.Rate(evening+1))
	}
}

// TestHazardLaws proves that waiting is counted alike in one piece and in many, that the hazard until Until is the
// requested level, and that a higher level comes later.
func TestHazardLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole, pieces := newStartCounts(), newStartCounts()
		whole.waiting, pieces.waiting = 3, 3
		at := float64(rapid.IntRange(-2_000_000, 2_000_000).Draw(t, "from"))
		whole.at, pieces.at = at, at
		end := at
		for range rapid.IntRange(1, 20).Draw(t, "pieces") {
			end = math.Min(end+float64(rapid.IntRange(0, 20_000).Draw(t, "step")), at+longestGap)
			pieces.advance(end)
		}
		whole.advance(end)
		sum := 0.0
		for i := range whole.waited {
			if math.Abs(whole.waited[i]-pieces.waited[i]) > 1e-6 {
				t.Fatalf("slot %d: %v in one piece, %v in many", i, whole.waited[i], pieces.waited[i])
			}
			sum += whole.waited[i]
		}
		if want := 3 * (end - at) / slotSeconds; math.Abs(sum-want) > 1e-6 {
			t.Fatalf("counted %v slots, want %v", sum, want)
		}
		for range rapid.IntRange(0, 40).Draw(t, "starts") {
			whole.start(float64(rapid.IntRange(0, 700_000).Draw(t, "start")))
		}
		h := whole.hazard()
		from := float64(rapid.IntRange(-700_000, 700_000).Draw(t, "at"))
		low, high := h.Until(from, .2), h.Until(from, .7)
		if !(low >= 0 && low <= high && high <= Week) {
			t.Fatalf("levels .2 and .7 after %v and %v", low, high)
		}
		if low < Week {
			if got := hazardOver(h, from, low); math.Abs(got-.2) > 1e-3 {
				t.Fatalf("a hazard of %v after %v s, want .2", got, low)
			}
		}
	})
}

// hazardOver integrates the rate in small steps.
func hazardOver(h *WeekHazard, from, seconds float64) float64 {
	sum, at, end := 0.0, from, from+seconds
	for at < end {
		next := math.Min(end, (math.Floor(at/slotSeconds)+1)*slotSeconds)
		sum += h.Rate((at+next)/2) * (next - at) / slotSeconds
		at = next
	}
	return sum
}

// TestDayClock checks the clock of 40 starts, three quarters of which are within a quarter of an hour from 18:00 on.
func TestDayClock(t *testing.T) {
	var d dayTimes
	for i := range 10 {
		d.add(float64(i)*2*Hour - 3*Day)
	}
	if d.clock() != nil {
		t.Error("a clock of ten starts")
	}
	for i := range 30 {
		d.add(18*Hour + 1 + float64(i)*30 + 5*Day)
	}
	c := d.clock()
	seconds, share := c.UntilPeak(12*Hour + 40*Day)
	if want := 6 * Hour; math.Abs(seconds-want) > 60 || share < .75 || share > .8 {
		t.Errorf("the peak is in %v s with %v of the starts, want in %v with three quarters", seconds, share, want)
	}
	if seconds, _ := c.UntilPeak(19 * Hour); math.Abs(seconds-23*Hour) > 60 {
		t.Errorf("after the peak the next is in %v h, want 23", seconds/Hour)
	}
	if got := c.Until(12*Hour, .5); got < 6*Hour || got > 6*Hour+900 {
		t.Errorf("half of the starts have passed after %v s, want just after 18:00", got)
	}
}

// TestWindowsStay proves that the newest starts in a view do not change.
func TestWindowsStay(t *testing.T) {
	var n NewestStarts
	type seen struct{ window, copied []StartRecord }
	var views []seen
	for i := range 5 * MostStarts {
		n.record(StartRecord{At: float64(i)})
		w := n.Window()
		if len(w) != min(i+1, MostStarts) || w[len(w)-1].At != float64(i) {
			t.Fatalf("after start %d: %d starts, the last one of %v", i, len(w), w[len(w)-1].At)
		}
		if i%100 == 0 {
			views = append(views, seen{w, slices.Clone(w)})
		}
	}
	for _, v := range views {
		if !slices.Equal(v.window, v.copied) {
			t.Fatal("a window has changed")
		}
	}
	if c := cap(n.all); c > 2*MostStarts {
		t.Errorf("room for %d starts", c)
	}
}

// TestUserHistoryIsBounded proves that the size of a user's history is bounded, and that it keeps the newest entries.
func TestUserHistoryIsBounded(t *testing.T) {
	h := newUserHistory()
	q := &Queue{}
	for i := range 100 {
		j := &Job{Request: Request{Procs: i + 1, Limit: 60}, QueueState: q}
		h.started(j, LastStart{At: float64(i), Wait: float64(i)})
	}
	if len(h.waits) != lastWaits || len(h.requests) != mostRequests {
		t.Fatalf("%d waits, %d requests", len(h.waits), len(h.requests))
	}
	if mean, least, most := h.Waits(); mean != 95.5 || least != 92 || most != 99 {
		t.Errorf("waits of %v, from %v to %v, want 95.5, from 92 to 99", mean, least, most)
	}
	if got := h.OfRequest(0, 100, 60); got.Wait != 99 {
		t.Errorf("the newest request waited %v, want 99", got.Wait)
	}
	if got := h.OfRequest(0, 1, 60); !math.IsNaN(got.Wait) {
		t.Errorf("the first request is still known: %v", got)
	}
}
