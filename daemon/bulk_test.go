package daemon

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/waitcast/waitcast/pipeline/livemodels"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/collector/swflog"
	"github.com/waitcast/waitcast/collector/tail"
	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/pipeline"
)

// TestBulkEqualsFold proves on every real trace that reading whole jobs in bulk gives the same report as folding
// events.
func TestBulkEqualsFold(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine that reads a trace: not with -short")
	}
	traces, err := filepath.Glob(filepath.Join(refdata.Shared(t, "traces"), "*.swf.gz"))
	if err != nil || len(traces) == 0 {
		t.Fatalf("no traces: %v", err)
	}
	for _, path := range traces {
		t.Run(filepath.Base(path), func(t *testing.T) {
			if os.Getenv("WAITCAST_LONG") == "" && filepath.Base(path)[:3] != "KTH" {
				t.Skip("only KTH-SP2 without WAITCAST_LONG")
			}
			newOne := func() *oneShot {
				return &oneShot{
					cluster: pipeline.ClusterConfig{Name: "c"}, log: zap.NewNop(), lines: newLineLogger(zap.NewNop()),
					sources: []source.Config{{
						Name: "c/swf", Format: swflog.Format(), Options: collector.Options{Cluster: "c"},
						Files: tail.Config{Source: "c/swf", Path: path, Rotated: []string{}, OneShot: true},
					}},
				}
			}
			ctx := context.Background()
			one := newOne()
			folded, err := one.fold(ctx, pipeline.Config{Clusters: []pipeline.ClusterConfig{one.cluster}})
			if err != nil {
				t.Fatal(err)
			}
			bulk, err := newOne().readBulk(ctx, livemodels.Config{}, 0)
			if err != nil {
				t.Fatal(err)
			}
			want, got := report(folded), report(bulk)
			// Only the fold counts events that are out of order, from records that are not in order of submission.
			want.Counts.OutOfOrder, got.Counts.OutOfOrder = 0, 0
			if d := cmp.Diff(want, got, cmpopts.EquateApprox(1e-12, 0)); d != "" {
				t.Errorf("fold (-) and bulk (+) differ:\n%s", d)
			}
		})
	}
}
