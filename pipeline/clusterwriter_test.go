package pipeline

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/pipeline/livemodels"
)

// newWriter returns the writer of the first cluster in the configuration. It writes no journal.
func newWriter(t testing.TB, cfg Config) *clusterWriter {
	t.Helper()
	l, err := newClusterWriter(cfg.Clusters[0], &cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestRefusedConfiguration proves that a configured value that a model or the engine refuses causes an error that names
// the key. It is not replaced by a default.
func TestRefusedConfiguration(t *testing.T) {
	pool := []cluster.PoolConfig{{Name: "p", Policy: "backfill"}}
	for want, change := range map[string]func(*Config){
		"models.markov_forget":                    func(c *Config) { c.Models.Forget = 1 },
		`policy: there is no policy "fifo"`:       func(c *Config) { c.Clusters[0].Policy = "fifo" },
		`pools: p: policy: there is no policy`:    func(c *Config) { c.Clusters[0].Pools = pool },
		"the forecasting engine refuses its conf": func(c *Config) { c.Engine.Without = []string{"no such group"} },
	} {
		cfg := testConfig()
		change(&cfg)
		p, err := New(cfg, nil, nil, zap.NewNop(), NewMetrics(prometheus.NewRegistry()))
		if p != nil || err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "cluster c") {
			t.Errorf("error %v, want one of cluster c with %q", err, want)
		}
	}
	if _, err := NewBulk(testConfig().Clusters[0], livemodels.Config{Forget: -1}, 0); err == nil {
		t.Error("no error for a negative Forget")
	}
}
