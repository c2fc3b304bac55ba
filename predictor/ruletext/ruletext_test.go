package ruletext_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/predictor/engine/pools"
	"github.com/waitcast/waitcast/predictor/engine/rules"
	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/forward"
	"github.com/waitcast/waitcast/predictor/ruletext"
)

const hour = 3600

// compare compares sentences with the expected ones.
func compare(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("words:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// pairs returns a comparison of 200 pairs of jobs from 40 situations. In the given number of pairs the younger job went
// first.
func pairs(first int) rules.Overtakes {
	return rules.Overtakes{Pairs: 200, Situations: 40, First: first}
}

// fitted returns the start rules of a pool whose fitted order has the loss 0.4, while first come, first served has 0.5.
func fitted(change func(*rules.Evidence, *rules.Priority)) pools.StartRules {
	e, p := &rules.Evidence{Situations: 500, Loss: .4, FirstCome: .5, Same: pairs(0)}, &rules.Priority{LogAge: 1}
	change(e, p)
	return pools.StartRules{Policy: forward.PriorityEASY, Source: pools.PolicyLearnt, InUse: true,
		Order: rules.Known{Situations: 600, Needed: 67, Priority: p, Evidence: e}}
}

const (
	evidence = "This order was fitted to 500 waits. The forecasts of these waits by this order have a loss of 0.40, " +
		"20 % less than those by first come, first served (0.50)."
	olderFirst = "Of jobs that differ in nothing else the older one goes first."
	alone      = " of 200 pairs such a job goes ahead of an older one that differs only in this, by a factor of at " +
		"least two."
)

// TestOrder checks the sentences about the order of starts.
func TestOrder(t *testing.T) {
	for name, c := range map[string]struct {
		of   pools.StartRules
		want []string
	}{
		"short limits, and larger jobs": {
			fitted(func(e *rules.Evidence, _ *rules.Priority) {
				e.Overtakes[rules.Limit].Less = pairs(184)
				e.Overtakes[rules.Size].More = pairs(100)
				e.Overtakes[rules.Size].Less = pairs(2)
				e.Overtakes[rules.Usage].Less = pairs(49) // less than a quarter
			}),
			[]string{
				"Jobs with shorter time limits almost always go first: in 92 %" + alone,
				"Larger jobs mostly go first: in 50 %" + alone, olderFirst, evidence,
			},
		},
		"the three strongest of five": {
			fitted(func(e *rules.Evidence, _ *rules.Priority) {
				e.Overtakes[rules.Size].Less = pairs(60)
				e.Overtakes[rules.ExpectedRuntime].Less = pairs(70)
				e.Overtakes[rules.OwnAhead].Less = pairs(120)
				e.Overtakes[rules.QueueWait].Less = pairs(90)
				e.Overtakes[rules.Usage].Less = pairs(80)
			}),
			[]string{
				"Jobs of users with fewer jobs ahead mostly go first: in 60 %" + alone,
				"Jobs of queues with shorter waits often go first: in 45 %" + alone,
				"Jobs of users who used less lately often go first: in 40 %" + alone, olderFirst, evidence,
			},
		},
		"too few pairs, and too few situations": {
			fitted(func(e *rules.Evidence, _ *rules.Priority) {
				e.Overtakes[rules.Limit].Less = rules.Overtakes{Pairs: 49, Situations: 40, First: 49}
				e.Overtakes[rules.Size].Less = rules.Overtakes{Pairs: 200, Situations: 19, First: 200}
			}),
			[]string{
				"Older jobs go first: nothing else lets a younger job go ahead in a quarter of the cases.", evidence,
			},
		},
		"the last first, without backfilling, in a large pool": {
			func() pools.StartRules {
				r := fitted(func(e *rules.Evidence, p *rules.Priority) { e.Same, p.Strict = pairs(200), true })
				r.InUse = false
				return r
			}(),
			[]string{
				"Of jobs that differ in nothing else the younger one goes first.",
				"No job starts ahead of the first one in this order.", evidence,
				"The forecasts do not use this order now, because the pool has too many jobs.",
			},
		},
		"no better than first come, first served": {
			fitted(func(e *rules.Evidence, _ *rules.Priority) {
				e.Loss = .495
				e.Overtakes[rules.Limit].Less = pairs(200)
			}),
			[]string{"No order of starts was found that forecasts waits clearly better than first come, first " +
				"served, on 500 waits."},
		},
		"no job waits at all": {
			fitted(func(e *rules.Evidence, _ *rules.Priority) { e.Loss, e.FirstCome = 0, 0 }),
			[]string{"No order of starts was found that forecasts waits clearly better than first come, first " +
				"served, on 500 waits."},
		},
		"nothing yet": {
			pools.StartRules{Policy: forward.EASY, Order: rules.Known{Situations: 37, Needed: 67}},
			[]string{
				"The forecasts assume first come, first served with backfilling (EASY).",
				"No order of starts was learnt: 37 waits of the sample are known so far, 67 are needed.",
			},
		},
		"a policy from the starts": {
			pools.StartRules{Policy: forward.PriorityFCFS, Source: pools.PolicyLearnt, Queues: "express\nwork",
				Order: rules.Known{Situations: 1, Needed: 67}},
			[]string{
				"The forecasts use the policy that was learnt from the starts: priorities without backfilling, " +
					"queues in the order express, work.",
				"No order of starts was learnt: 1 wait of the sample is known so far, 67 are needed.",
			},
		},
		"configured": {
			pools.StartRules{Policy: forward.FCFS, Source: pools.PolicyConfigured, Order: rules.Known{Needed: 67}},
			[]string{"The forecasts use the configured policy: first come, first served."},
		},
		"priorities of the jobs": {
			pools.StartRules{Policy: forward.PriorityEASY, Source: pools.PolicyPriorities},
			[]string{"The forecasts use the priorities that the scheduler reports: the highest goes first."},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := ruletext.Of(c.of, 0)
			compare(t, got.Words[:len(got.Words)-1], c.want) // the last sentence is about times
		})
	}
}

// seen returns the observations of a class of limits. Each half hour of the week had an hour of exposure, and the
// number of starts that rate returns for the day, from Monday on, and the half hour of the day.
func seen(class int, rate func(day, slot int) float64) rules.GateCounts {
	c := rules.GateCounts{Class: class}
	for s := range rules.Slots {
		c.Exposure[s] = 1
		c.Starts[s] = rate((s/48+3)%7, s%48) // instant 0 is a Thursday
	}
	return c
}

// known returns the start rules of a pool with the given observations of times. gates says whether the classes have
// gates.
func known(gates bool, classes ...rules.GateCounts) pools.StartRules {
	for i := range classes {
		classes[i].Gate = gates
	}
	return pools.StartRules{Gates: rules.GatesKnown{Starts: 1500, Needed: 500,
		Summary: &rules.GateSummary{Starts: 1500, Exposure: 336.4, Classes: classes}}}
}

// nights returns two starts in each half hour from 18:00 to 8:00 and at weekends.
func nights(day, slot int) float64 {
	if day < 5 && slot >= 2*8 && slot < 2*18 {
		return 0
	}
	return 2
}

// TestTimes checks the sentences about the times of starts.
func TestTimes(t *testing.T) {
	over4h := track.LimitClass(4*hour) + 1 // over 4.3 h
	long := track.LimitClass(20 * hour)    // over 17.1 h
	always := func(int, int) float64 { return 2 }
	const waited = " in which such jobs waited although they fitted, at other times "
	const found = "No time of the week was found at which jobs hardly ever start: 1,500 starts, and 336 h in " +
		"which jobs waited although they fitted."
	for name, c := range map[string]struct {
		of    pools.StartRules
		shift time.Duration
		want  []string
	}{
		"nights and weekends": {
			known(true, seen(2, always), seen(over4h, nights)), 0, []string{
				// weekdays: 5 x 28 half hours, weekends: 2 x 48
				"Jobs with time limits over 4.3 h start mainly on weekdays before 08:00 and from 18:00, and at " +
					"weekends: 472 starts in 236 h" + waited + "0 in 100 h.",
			},
		},
		"the clock of Berlin": {
			known(true, seen(over4h, nights)), time.Hour, []string{
				"Jobs with time limits over 4.3 h start mainly on weekdays before 09:00 and from 19:00, and at " +
					"weekends: 472 starts in 236 h" + waited + "0 in 100 h.",
			},
		},
		"every day, by a clock that is ahead by 5:45 h": {
			known(true, seen(5, always), seen(over4h, func(_, slot int) float64 { return float64(slot / 24) })),
			5*time.Hour + 45*time.Minute, []string{
				"Jobs with time limits over 4.3 h start mainly every day before 05:45 and from 17:45: " +
					"168 starts in 168 h" + waited + "0 in 168 h.",
			},
		},
		"from Friday night on": {
			known(true, seen(long, func(day, slot int) float64 {
				if day > 4 || day == 4 && slot >= 2*20 {
					return 3
				}
				return .01
			})), 0, []string{
				// 8 + 96 half hours of 3 starts; .01 x 232 is 2 starts
				"Jobs with time limits over 17 h start mainly on Fridays from 20:00, and at weekends: " +
					"312 starts in 104 h" + waited + "2 in 232 h.",
			},
		},
		"longer limits at weekends only": {
			known(true, seen(over4h, nights), seen(long, func(day, _ int) float64 {
				if day > 4 {
					return 4
				}
				return 0
			})), 0, []string{
				"Jobs with time limits over 4.3 h and up to 17 h start mainly on weekdays before 08:00 and from " +
					"18:00, and at weekends: 472 starts in 236 h" + waited + "0 in 100 h.",
				"Jobs with time limits over 17 h start mainly at weekends: " +
					"384 starts in 96 h" + waited + "0 in 240 h.",
			},
		},
		"jobs without a limit": {
			known(true, seen(5, always), seen(track.Unlimited, nights)), 0, []string{
				"Jobs without a time limit start mainly on weekdays before 08:00 and from 18:00, and at weekends: " +
					"472 starts in 236 h" + waited + "0 in 100 h.",
			},
		},
		"no difference":    {known(true, seen(over4h, always)), 0, []string{found}},
		"no gate in force": {known(false, seen(over4h, nights)), 0, []string{found}},
		"a difference that may be chance": { // 0 of 19 starts in 100 of 336 h
			known(true, seen(over4h, func(day, slot int) float64 { return nights(day, slot) * 19 / 472 })), 0,
			[]string{found},
		},
		"a lower rate that is not low": { // .8 against 2
			known(true, seen(over4h, func(day, slot int) float64 { return .8 + .6*nights(day, slot) })), 0,
			[]string{found},
		},
		"not looked for yet": {
			pools.StartRules{Gates: rules.GatesKnown{Starts: 37, Needed: 500}}, 0,
			[]string{"No times of the week without starts were learnt: 37 starts so far, 500 are needed."},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := ruletext.Of(c.of, c.shift.Seconds())
			words := got.Words[2:] // the sentences after those about the order
			if c.of.Order.Needed == 0 {
				words = got.Words[1:]
			}
			compare(t, words, c.want)
		})
	}
}

// TestTimesInNumbers checks the figures behind the sentence about nights and weekends.
func TestTimesInNumbers(t *testing.T) {
	over4h := track.LimitClass(4*hour) + 1
	all := ruletext.Of(known(true, seen(over4h, nights)), 0).Times
	if len(all) != 1 {
		t.Fatalf("%d times, want 1", len(all))
	}
	got := all[0]
	week := []time.Weekday{time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday}
	wantShut := ruletext.Interval{Days: week, From: 8 * time.Hour, To: 18 * time.Hour}
	if len(got.Shut) != 1 || !slices.Equal(got.Shut[0].Days, week) || got.Shut[0].From != wantShut.From ||
		got.Shut[0].To != wantShut.To {
		t.Errorf("shut %v, want %v", got.Shut, wantShut)
	}
	if n := len(got.Open); n != 3 || got.Open[2].To != 24*time.Hour || got.Open[2].Days[0] != time.Saturday {
		t.Errorf("open %v: want two times of weekdays, and weekends", got.Open)
	}
	if math.Abs(got.Over-256*60) > 1 || !math.IsInf(got.UpTo, 1) { // 60 s x 2^(16/2)
		t.Errorf("limits over %v up to %v, want over 256 min", got.Over, got.UpTo)
	}
	if got.OpenStarts != 472 || got.OpenHours != 236 || got.ShutStarts != 0 || got.ShutHours != 100 {
		t.Errorf("seen %+v, want 472 starts in 236 h, and none in 100 h", got)
	}
}

// TestWriterWritesNewsOnly proves that unchanged sentences are not written again, and that another clock changes all of
// them.
func TestWriterWritesNewsOnly(t *testing.T) {
	var w ruletext.Writer
	young := func(waits int) pools.StartRules {
		return pools.StartRules{Order: rules.Known{Situations: waits, Needed: 67}}
	}
	configured := pools.StartRules{Source: pools.PolicyConfigured}
	first := w.Write([]pools.StartRules{young(1), configured}, 0)
	second := w.Write([]pools.StartRules{young(2), configured}, 0)
	if first[configured] != second[configured] {
		t.Error("rules that have not changed are written again")
	}
	if second[young(1)] != nil || first[young(1)].Words[1] == second[young(2)].Words[1] {
		t.Errorf("rules that have changed are %+v, before %+v", second[young(2)], first[young(1)])
	}
	if len(first) != 2 || len(second) != 2 {
		t.Errorf("%d rules, then %d, want 2 each", len(first), len(second))
	}
	if third := w.Write([]pools.StartRules{configured}, 3600); third[configured] == second[configured] {
		t.Error("the rules of another clock are those of the one before")
	}
}
