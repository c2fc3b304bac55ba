package pipeline

import (
	"bytes"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline/loadforecast"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// loadConfig returns the configuration of a cluster with a load forecast.
func loadConfig() Config {
	cfg := testConfig()
	cfg.Load = true
	return cfg
}

// asHistory returns the events as if they had been read from a log later than they happened.
func asHistory(events []job.Event) []job.Event {
	out := slices.Clone(events)
	for i := range out {
		out[i].Live = false
	}
	return out
}

// readAll passes deliveries to the writer. The last one reaches the end of the log, and readAll returns the load
// forecast that is then made.
func readAll(t *testing.T, p *Pipeline, ds []*source.Delivery) *loadforecast.Outlook {
	t.Helper()
	ds[len(ds)-1].CaughtUp = true
	take(t, p, ds...)
	p.publish()
	p.writers["c"].load.Wait()
	return p.View("c").Outlook()
}

// savedOf returns the stored state of the load forecast.
func savedOf(t *testing.T, s modelstore.Store) []byte {
	t.Helper()
	all, err := s.Models(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all[loadKey("c")].Data
}

// TestRestoredLoadGoesOn proves that a restored daemon makes the same load forecast as the stopped one, with the same
// number of learned outcomes.
func TestRestoredLoadGoesOn(t *testing.T) {
	events := asHistory(workload(t, 300, 4))
	store := newStore(t)
	p, src := newPipeline(loadConfig(), store, collector.Live)
	restore(t, p, "one")
	ds := deliveries(src, events, 90, 4)
	before := readAll(t, p, ds)
	if before == nil || len(before.Cluster.Points) == 0 || before.Outcomes[2] == 0 {
		t.Fatalf("the first process forecasts %+v: it proves little", before)
	}
	if err := p.finish(); err != nil {
		t.Fatal(err)
	}
	p.Close()
	if len(savedOf(t, store)) == 0 {
		t.Fatal("nothing is saved of the load at an orderly end")
	}
	again, _ := newPipeline(loadConfig(), store, collector.Live)
	restore(t, again, "one")
	defer again.Close()
	again.writers["c"].load.Wait()
	after := again.View("c").Outlook()
	if after == nil {
		t.Fatal("there is no forecast after a restore")
	}
	if !after.At.Equal(before.At) {
		t.Fatalf("it is for %v, that before was for %v", after.At, before.At)
	}
	if d := differences(before.Forecast, after.Forecast); d != "" {
		t.Errorf("forecasts before (-) and after (+) a restart: %s", d)
	}
	if d := differences(before.Outcomes, after.Outcomes); d != "" {
		t.Errorf("outcomes before (-) and after (+) a restart: %s", d)
	}
}

// TestRestoreWithoutTheLoad proves that the cluster is restored and has a load forecast even if the stored state of the
// load forecast is missing, damaged, or older than the cluster's.
func TestRestoreWithoutTheLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector, which sees the same in TestRestoredLoadGoesOn")
	}
	events := asHistory(workload(t, 120, 4))
	for name, spoil := range map[string]func(data []byte) []byte{
		"missing":  func([]byte) []byte { return nil },
		"no bytes": func([]byte) []byte { return []byte("x") },
		"cut":      func(data []byte) []byte { return data[:len(data)/2] },
		"damaged": func(data []byte) []byte {
			data = bytes.Clone(data)
			data[len(data)/2] ^= 1
			return data
		},
		"whole": func(data []byte) []byte { return data },
	} {
		t.Run(name, func(t *testing.T) {
			store := openStore(t, filepath.Join(t.TempDir(), "test.db"))
			defer func() { _ = store.Close() }()
			p, src := newPipeline(loadConfig(), store, collector.Live)
			restore(t, p, "one")
			ds := deliveries(src, events, 90, 4)
			readAll(t, p, ds[:len(ds)/2])
			if err := p.finish(); err != nil {
				t.Fatal(err)
			}
			data := savedOf(t, store)
			take(t, p, ds[len(ds)/2:]...) // then the process is killed
			p.Close()
			want := lanes(t, p)
			model := modelstore.SavedModel{Name: loadKey("c"), Seq: 1, Data: spoil(data)}
			if err := store.Commit(t.Context(), modelstore.Batch{Models: []modelstore.SavedModel{model}}); err != nil {
				t.Fatal(err)
			}
			core, logs := observer.New(zapcore.WarnLevel)
			again := mustNew(New(loadConfig(), store, p.now, zap.New(core), NewMetrics(prometheus.NewRegistry())))
			again.AddSource(*src)
			restore(t, again, "one")
			defer again.Close()
			again.writers["c"].load.Wait()
			if d := differences(want, lanes(t, again)); d != "" {
				t.Errorf("the picture differs: %.1000s", d)
			}
			if again.View("c").Outlook() == nil {
				t.Error("there is no forecast")
			}
			if complains := logs.Len() > 0; complains != (name != "missing" && name != "whole") {
				t.Errorf("logged %v", logs.All())
			}
		})
	}
}

// TestLoadOfAnOldStore proves that the load forecast continues from a state that an older program stored among the
// checkpoints. When the state is saved next, it is stored as a saved model with the number of the newest event.
func TestLoadOfAnOldStore(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector, which sees the same in TestRestoredLoadGoesOn")
	}
	store := newStore(t)
	p, src := newPipeline(loadConfig(), store, collector.Live)
	restore(t, p, "one")
	before := readAll(t, p, deliveries(src, asHistory(workload(t, 300, 4)), 90, 4))
	if err := p.finish(); err != nil {
		t.Fatal(err)
	}
	p.Close()
	old := modelstore.Batch{
		Checkpoints: []modelstore.Checkpoint{{Source: oldLoadKey("c"), Data: savedOf(t, store)}},
		Models:      []modelstore.SavedModel{{Name: loadKey("c")}},
	}
	if err := store.Commit(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	again, _ := newPipeline(loadConfig(), store, collector.Live)
	restore(t, again, "one")
	again.writers["c"].load.Wait()
	after := again.View("c").Outlook()
	if after == nil || !cmp.Equal(before.Forecast, after.Forecast) {
		t.Fatalf("the old store is continued with the forecast %+v, want %+v", after, before)
	}
	if err := again.finish(); err != nil {
		t.Fatal(err)
	}
	again.Close()
	checkpoints, err := store.Checkpoints(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	models, err := store.Models(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, there := checkpoints[oldLoadKey("c")]
	if m := models[loadKey("c")]; there || len(m.Data) == 0 || m.Seq != again.seq {
		t.Errorf("the old checkpoint is there: %v; %d bytes are saved of event %d, want %d", there, len(m.Data), m.Seq,
			again.seq)
	}
}

// TestLoadEndsWithItsPipeline proves that a closed pipeline makes no load forecasts.
func TestLoadEndsWithItsPipeline(t *testing.T) {
	p, src := newPipeline(loadConfig(), nil, collector.Live)
	events := workload(t, 300, 4)
	take(t, p, deliveries(src, events[:500], 90, 4)...)
	p.Close()
	before, _ := p.View("c").LoadForecasts()
	take(t, p, deliveries(src, events[500:], 90, 4)...)
	p.writers["c"].load.Wait()
	if after, _ := p.View("c").LoadForecasts(); after != before {
		t.Errorf("%d forecasts before Close, %d after more events", before, after)
	}
}

// TestLoadChangesNothingElse proves that entries, rows and all other state are the same with and without a load
// forecast.
func TestLoadChangesNothingElse(t *testing.T) {
	events := mangle(workload(t, 150, 6), 6)
	run := func(cfg Config) kept {
		store := newStore(t)
		p, src := newPipeline(cfg, store, collector.Live)
		defer p.Close()
		restore(t, p, "one")
		take(t, p, deliveries(src, events, 90, 6)...)
		return keeps(t, store, p)
	}
	if d := differences(run(testConfig()), run(loadConfig())); d != "" {
		t.Errorf("without (-) and with (+): %.2000s", d)
	}
}

// TestViewWithoutALoadForecast proves that the methods of a view work for a cluster without a load forecast.
func TestViewWithoutALoadForecast(t *testing.T) {
	v := &readmodel.View{}
	made, failures := v.LoadForecasts()
	if v.ForecastsLoad() || v.Outlook() != nil || made != 0 || failures != 0 {
		t.Errorf("%v, %v, %d, %d where the load is not forecast", v.ForecastsLoad(), v.Outlook(), made, failures)
	}
}
