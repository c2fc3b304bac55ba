package source

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// asking records the times at which a scheduler was polled, in the time of testing/synctest.
type asking struct {
	begun time.Time
	at    []time.Duration
}

// ask polls for the duration long, at an interval of 15 s. Each call takes a fifth of a second. wanted is called with
// the time since the beginning.
func ask(t *testing.T, long time.Duration, fails bool, wanted func(time.Duration) bool) *asking {
	t.Helper()
	a := &asking{begun: time.Now()}
	p := NewPoller(Config{Name: "c/asked"}, PollConfig{Target: "x", Interval: 15 * time.Second}, PollOptions{
		Wanted: func() bool { return wanted(time.Since(a.begun)) },
		Ask: func(ctx context.Context, _ time.Time) Answer {
			a.at = append(a.at, time.Since(a.begun))
			_ = pause(ctx, 200*time.Millisecond)
			if fails {
				return Answer{Err: errors.New("no")}
			}
			return Answer{}
		},
	})
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	for {
		if _, err := p.Next(ctx); err != nil {
			return a
		}
	}
}

// perInterval fails if any stretch of time has more polls than one per interval and one early poll.
func (a *asking) perInterval(t *testing.T) {
	t.Helper()
	const shortest = 15 * time.Second * 9 / 10
	for i := range a.at {
		for j := i + 2; j < len(a.at); j++ {
			if took, least := a.at[j]-a.at[i], time.Duration(j-i-1)*shortest; took < least {
				t.Errorf("questions %d to %d took %v, want at least %v", i, j, took, least)
			}
		}
	}
}

// TestEarlyQuestion proves that a wanted poll is made within about a second, and postpones the next one.
func TestEarlyQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := ask(t, 60*time.Second, false, func(at time.Duration) bool {
			return at > 4*time.Second && at < 6*time.Second
		})
		if len(a.at) < 3 || a.at[1] < 5*time.Second || a.at[1] > 5500*time.Millisecond {
			t.Fatalf("asked at %v, want the second question a second after 4 s", a.at)
		}
		if gap := a.at[2] - a.at[1]; gap < 20*time.Second { // due at 13.5 s or later, delayed by 13.5 s or more
			t.Errorf("the question after the early one comes %v later", gap)
		}
		a.perInterval(t)
	})
}

// TestQuestionsThatAreAlwaysWanted proves that if a poll is always wanted, there is still one per interval on average,
// neither more nor fewer.
func TestQuestionsThatAreAlwaysWanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const long = 2 * time.Hour
		a := ask(t, long, false, func(time.Duration) bool { return true })
		a.perInterval(t)
		// An interval is drawn between 13.5 and 16.5 s. The sum of 480 of them has a standard deviation of 19 s. Five
		// standard deviations are 6 polls.
		if n, most := len(a.at), int(long/(15*time.Second))+2+6; n > most || n < most*8/10 {
			t.Errorf("%d questions in %v, want at most %d", n, long, most)
		}
	})
}

// TestNoEarlyQuestionAfterAFailure proves that a scheduler that does not answer is not polled early.
func TestNoEarlyQuestionAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := ask(t, 10*time.Minute, true, func(time.Duration) bool { return true })
		for i := 1; i < len(a.at); i++ {
			if gap := a.at[i] - a.at[i-1]; gap < 13*time.Second {
				t.Errorf("asked again after %v", gap)
			}
		}
		if len(a.at) < 4 {
			t.Errorf("asked at %v only", a.at)
		}
	})
}
