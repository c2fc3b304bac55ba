package pipeline

import (
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// TestStalledLog proves that a log counts as stalled from the second answer of the scheduler on, if the first has
// changes that the log lacks, until the log has a new line; and that a part of the scheduler that does not answer is a
// condition until the next answer with it.
func TestStalledLog(t *testing.T) {
	now := at(0)
	p := mustNew(New(testConfig(), &memory{}, func() time.Time { return now }, zap.NewNop(),
		NewMetrics(prometheus.NewRegistry())))
	of := collector.Options{Cluster: "c"}
	log := &source.Config{Name: "c/log", Options: of,
		Format: collector.Format{Name: "test", Order: collector.Live, InTurn: true}}
	polled := &source.Config{Name: "c/squeue", Options: of, Polled: true,
		Format: collector.Format{Name: "listing", Order: collector.Live, Lists: true}}
	p.AddSource(*log)
	p.AddSource(*polled)
	line := source.Delivery{Source: log, Lines: 1, CaughtUp: true}
	quiet := source.Delivery{Source: polled, Lines: 1, CaughtUp: true, Answered: true}
	unlogged, outage := quiet, quiet
	unlogged.Unlogged = true
	outage.Outage = "sacctmgr show qos fails"
	for i, step := range []struct {
		d    source.Delivery
		want []readmodel.ConditionName
	}{
		{line, nil}, {quiet, nil},
		{unlogged, nil}, {line, nil}, {quiet, nil}, // the log was late
		{unlogged, nil}, {quiet, []readmodel.ConditionName{readmodel.SourceStalled}},
		{unlogged, []readmodel.ConditionName{readmodel.SourceStalled}},
		{line, nil}, {quiet, nil}, {unlogged, nil},
		{unlogged, []readmodel.ConditionName{readmodel.SourceStalled}},
		{line, nil}, {outage, []readmodel.ConditionName{readmodel.AccountingLost}}, {quiet, nil},
	} {
		now = now.Add(30 * time.Second)
		take(t, p, &step.d)
		var got []readmodel.ConditionName
		for _, c := range p.Conditions() {
			if c.Name != readmodel.SourceReading {
				got = append(got, c.Name)
			}
		}
		if !slices.Equal(got, step.want) {
			t.Errorf("step %d: conditions %v, want %v", i, got, step.want)
		}
	}
}
