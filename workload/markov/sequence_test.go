package markov

import (
	"math/rand/v2"
	"strconv"
	"testing"
)

// TestNodesAreBounded proves that the unresolved jobs bound the number of nodes: of a run of ended jobs between them,
// at most two nodes are kept.
func TestNodesAreBounded(t *testing.T) {
	m, err := New(0)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	var open []string
	most := 0
	for i := range 20000 {
		key := strconv.Itoa(i)
		if err := m.Submitted(key); err != nil {
			t.Fatal(err)
		}
		open = append(open, key)
		for len(open) > 50 || rng.IntN(3) == 0 && len(open) > 0 {
			at := rng.IntN(len(open))
			if rng.IntN(5) == 0 {
				err = m.NeverRan(open[at])
			} else {
				err = m.Ended(open[at], 1+rng.IntN(64), float64(rng.IntN(5000)))
			}
			if err != nil {
				t.Fatal(err)
			}
			open[at] = open[len(open)-1]
			open = open[:len(open)-1]
		}
		held := 0
		for at := m.head; at != none; at = m.nodes[at].next {
			held++
		}
		if limit := 3*len(open) + 2; held > limit {
			t.Fatalf("job %d: %d nodes held for %d unresolved jobs, at most %d expected", i, held, len(open), limit)
		}
		most = max(most, held)
	}
	if len(m.nodes) > 3*51+2 {
		t.Errorf("%d nodes allocated for at most %d in use", len(m.nodes), most)
	}
}
