package backtest

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/predictor/engine"
)

// TestHowOften answers Downey's question of 1996, how often models should be updated, for the trees and on the first
// halves of three logs. It writes the table of research/docs/choices.md, and fails unless trees that are never trained
// again are the worst. It takes an hour of processor time.
func TestHowOften(t *testing.T) {
	if os.Getenv("WAITCAST_OFTEN") == "" {
		t.Skip("trains trees some hundred times: set WAITCAST_OFTEN=1")
	}
	for _, name := range []string{"KTH-SP2-1996-2.1-cln", "SDSC-SP2-1998-4.2-cln", "CTC-SP2-1996-3.1-cln"} {
		t.Run(name, func(t *testing.T) {
			trace, err := Open(refdata.Shared(t, "traces/"+name+".swf.gz"), name)
			if err != nil {
				t.Fatal(err)
			}
			trace.Jobs = trace.Jobs[:len(trace.Jobs)/2]
			var line []string
			never, best := math.NaN(), math.Inf(1)
			for _, every := range []int{math.MaxInt, 16000, 4000, 1000, 0, 250} {
				r, err := Run(trace, Options{Warmup: .2, Engine: engine.Config{Every: every}})
				if err != nil {
					t.Fatal(err)
				}
				loss := r.Method(Waitcast).LogPinball
				line = append(line, fmt.Sprintf("%d: %.4f / %.4f", every, loss["0.5"], loss["0.95"]))
				t.Logf("%s, %.0f s", line[len(line)-1], r.Seconds)
				if every == math.MaxInt {
					never = loss["0.5"]
				}
				best = min(best, loss["0.5"])
			}
			t.Log(strings.Join(line, " | "))
			if !(never > 1.05*best) {
				t.Errorf("never trained again they lose %.4f, at best %.4f: once would be enough", never, best)
			}
		})
	}
}
