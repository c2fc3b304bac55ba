package daemon

import (
	"errors"
	"slices"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/collector/tail"
	"github.com/waitcast/waitcast/job"
)

// TestAnswersMayReportThePast proves that earlier times are a warning in a log, and none in the answers of a polled
// scheduler: after an outage these report the ends of before.
func TestAnswersMayReportThePast(t *testing.T) {
	for _, polled := range []bool{false, true} {
		core, logged := observer.New(zapcore.WarnLevel)
		l := newLineLogger(zap.New(core))
		at := time.Unix(1e9, 0)
		l.report(&source.Delivery{
			Source: &source.Config{Name: "main/x", Polled: polled, Format: collector.Format{Order: collector.Live}},
			Events: []job.Event{{ID: "1", Time: at}, {ID: "2", Time: at.Add(-time.Hour)}},
		})
		if n := logged.FilterMessageSnippet("time runs backwards").Len(); (n > 0) == polled {
			t.Errorf("polled %t: %d warnings", polled, n)
		}
	}
}

// TestReadableAgain proves that a problem that kept a log from being read is logged once, and so is its end.
func TestReadableAgain(t *testing.T) {
	core, logged := observer.New(zapcore.InfoLevel)
	l := newLineLogger(zap.New(core))
	src := &source.Config{Name: "main/x"}
	problem := []tail.Problem{{Path: "/x", Reason: tail.Unreadable, Err: errors.New("denied")}}
	for _, d := range []source.Delivery{{}, {Problems: problem, Standing: problem}, {Standing: problem}, {}, {}} {
		d.Source = src
		l.report(&d)
	}
	var got []string
	for _, entry := range logged.All() {
		got = append(got, entry.Message)
	}
	if want := []string{"problem with a log", "the log can be read again"}; !slices.Equal(got, want) {
		t.Errorf("logged %q, want %q", got, want)
	}
}
