package ruletext_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/predictor/backtest"
	"github.com/waitcast/waitcast/predictor/engine"
	"github.com/waitcast/waitcast/predictor/engine/rules"
	"github.com/waitcast/waitcast/predictor/ruletext"
)

// TestKTH proves that the rules of a real site are found and put into words: on the SP2 of KTH jobs of more than 4 h
// started from 18:00 and at weekends, and short jobs went first, as an earlier study of the log found.
func TestKTH(t *testing.T) {
	trace, err := backtest.Open(refdata.Shared(t, "traces/KTH-SP2-1996-2.1-cln.swf.gz"), "KTH")
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(engine.Config{Cores: 2, First: len(trace.Jobs)}) // without trees
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	const newest = 2000 // a third of these are situations
	e.BeginReplay(engine.Replay{Submissions: len(trace.Jobs), Newest: newest, Older: 1})
	trace.Replay(e, func(int, engine.Forecast) {})
	const summerTime = 7200 // of Sweden; the log ends in August
	r := ruletext.Of(e.View(0).StartRules(trace.Jobs[0].Queue), trace.Epoch+summerTime)
	t.Log(strings.Join(r.Words, "\n"))
	shorter := func(e ruletext.Effect) bool { return e.Attribute == rules.Limit && !e.More && e.Share > .5 }
	if !slices.ContainsFunc(r.Effects, shorter) {
		t.Errorf("effects %+v: want that shorter limits go first, mostly", r.Effects)
	}
	for i, found := range r.Times {
		if found.Over < 3.5*hour || found.Over > 5*hour {
			continue
		}
		words := r.Words[len(r.Words)-len(r.Times)+i]
		if !strings.Contains(words, "on weekdays from 18:00") || !strings.Contains(words, "and at weekends:") {
			t.Errorf("%q: want from 18:00, and at weekends", words)
		}
		return
	}
	t.Errorf("times %+v: want some of limits over about 4 h", r.Times)
}
