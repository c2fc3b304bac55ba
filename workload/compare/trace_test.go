package compare_test

import (
	"math"
	"testing"

	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/swf"
	"github.com/waitcast/waitcast/workload/compare"
)

// columns holds the columns that Zakay counts: jobs with processors > 0 and runtime >= 0, in the order of the log.
type columns struct{ submit, runtime, limit, procs []float64 }

func readTrace(t testing.TB, name string) columns {
	t.Helper()
	f, err := swf.Open(refdata.Shared(t, "traces/"+name+".swf.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var c columns
	var r swf.Record
	for f.Next(&r) == nil {
		if r.Allocated > 0 && r.Runtime >= 0 {
			c.submit = append(c.submit, float64(r.Submit))
			c.runtime = append(c.runtime, float64(r.Runtime))
			c.limit = append(c.limit, float64(r.TimeLimit))
			c.procs = append(c.procs, float64(r.Allocated))
		}
	}
	return c
}

// TestStackDepthOfZakaysTableVI compares with column "Orig." of Zakay's Table VI for the four available logs, within
// 1.5 % (LANL 5 %, because its log is another version).
func TestStackDepthOfZakaysTableVI(t *testing.T) {
	for name, want := range map[string]struct{ runtime, limit, procs, tolerance float64 }{
		"KTH-SP2-1996-2.1-cln":  {35.25, 6.46, 3.83, .015},
		"CTC-SP2-1996-3.1-cln":  {28.01, 4.51, 3.44, .015},
		"SDSC-SP2-1998-4.2-cln": {25.13, 4.09, 2.89, .015},
		"LANL-CM5-1994-4.1-cln": {36.01, 2.53, 1.15, .05},
	} {
		t.Run(name, func(t *testing.T) {
			c := readTrace(t, name)
			for what, x := range map[string]struct {
				values          []float64
				tolerance, want float64
			}{
				"runtime": {c.runtime, compare.DefaultTolerance, want.runtime},
				"limit":   {c.limit, compare.DefaultTolerance, want.limit}, "procs": {c.procs, 0, want.procs},
			} {
				l, err := compare.StackDepth(x.values, x.tolerance)
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%s: %.3f, paper %.2f (%+.2f %%)", what, l.Depth, x.want, 100*(l.Depth/x.want-1))
				if math.Abs(l.Depth/x.want-1) > want.tolerance {
					t.Errorf("%s: mean depth %.3f, paper %.2f", what, l.Depth, x.want)
				}
			}
		})
	}
}

// TestHurstOfZakaysTableVII compares with column "Original H" of Zakay's Table VII, within 0.07.
func TestHurstOfZakaysTableVII(t *testing.T) {
	for name, want := range map[string]float64{
		"KTH-SP2-1996-2.1-cln": .666, "CTC-SP2-1996-3.1-cln": .617, "SDSC-SP2-1998-4.2-cln": .638,
		"LANL-CM5-1994-4.1-cln": .690,
	} {
		t.Run(name, func(t *testing.T) {
			c := readTrace(t, name)
			for _, width := range []float64{2 * 3600, compare.HurstBin, 6 * 3600} {
				counts, err := compare.Counts(c.submit, 0, width)
				if err != nil {
					t.Fatal(err)
				}
				f, err := compare.Hurst(counts, compare.HurstOptions{})
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("bins of %v s: H %.3f (R2 %.3f, %d points), paper %.3f", width, f.H, f.R2, len(f.Points), want)
				if width == compare.HurstBin && math.Abs(f.H-want) > .07 {
					t.Errorf("H %.3f, paper %.3f", f.H, want)
				}
			}
		})
	}
}
