package ask

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/waitcast/waitcast/job/waittime"
)

// TestEveryLevelIsServed proves that each level of a forecast has a field in the JSON of quantiles and of instants, so
// that a new level is not forgotten in answers.
func TestEveryLevelIsServed(t *testing.T) {
	levels := waittime.Levels()
	waits := make([]float64, len(levels))
	for i, p := range levels {
		waits[i] = 1000 * p
	}
	epoch := time.Unix(0, 0).UTC()
	var q map[string]float64
	var at map[string]time.Time
	for value, to := range map[any]any{quantiles(waits): &q, instants(waits, epoch): &at} {
		text, err := json.Marshal(value)
		if err == nil {
			err = json.Unmarshal(text, to)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(q) != len(levels) || len(at) != len(levels) {
		t.Fatalf("%d quantiles and %d instants for %d levels", len(q), len(at), len(levels))
	}
	for _, p := range levels {
		name := fmt.Sprintf("p%g", math.Round(100*p))
		if q[name] != 1000*p || at[name].Sub(epoch).Seconds() != 1000*p {
			t.Errorf("%s: %g s and %v, want %g s", name, q[name], at[name], 1000*p)
		}
	}
}
