package pipeline

import (
	"testing"

	"github.com/waitcast/waitcast/internal/codec/codectest"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/pipeline/livemodels"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/cluster/changes"
)

// saves returns the saved bytes of a part of a snapshot.
func saves(t *testing.T, part codec.Savable) []byte {
	t.Helper()
	data, err := part.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestModelsCodec proves that saved models do not depend on whether views of them were made, that they are restored
// unchanged, and that truncated bytes are refused.
func TestModelsCodec(t *testing.T) {
	cfg := testConfig()
	empty := func() *livemodels.Models {
		m, err := livemodels.New(cfg.Models, livemodels.Site{})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	looked, quiet := empty(), empty()
	state := cluster.New("c", 128)
	for _, ev := range workload(t, 300, 33) {
		state.Apply(ev, &cluster.Hooks{Changed: func(c cluster.Change) {
			for _, m := range []*livemodels.Models{looked, quiet} {
				if err := m.Learn(changes.Of(c, nil)); err != nil {
					t.Fatal(err)
				}
			}
			looked.View()
		}})
	}
	want := saves(t, quiet)
	if d := cmp.Diff(want, saves(t, looked)); d != "" {
		t.Fatal("looking at the models changed what is saved of them")
	}
	restored := empty()
	if err := restored.UnmarshalBinary(want); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, saves(t, restored)); d != "" {
		t.Fatal("restored models are saved otherwise")
	}
	a, _ := quiet.View().Law("a", 4)
	b, ok := restored.View().Law("a", 4)
	if !ok || a.Model != b.Model {
		t.Fatalf("restored law %+v, want %+v", b.Model, a.Model)
	}
	codectest.Check(t, want, func() codec.Savable { return empty() })
}
