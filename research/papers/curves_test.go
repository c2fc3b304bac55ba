package papers

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCurvesFile proves that without the file of the curves the error says how to make it, and that with the file the
// table has the roughness of a curve and the step from 12 to 13.
func TestCurvesFile(t *testing.T) {
	d := Data{Folder: t.TempDir()}
	var missing *MissingError
	if _, err := d.predictionWindow(); !errors.As(err, &missing) {
		t.Fatalf("%v", err)
	}
	text := strings.Join(curveHeader(), ",") + "\n"
	for _, row := range []string{"window,12,10", "window,13,15", "window,14,10",
		"badness,0,8", "badness,1,8", "badness,2,8"} {
		text += row + ",9,8,10,1,1\n"
	}
	path := filepath.Join(d.Folder, curvesFile)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	table, err := d.predictionWindow()
	if err != nil || table.Rows[0].Ours != "+50.0 %, +0.0 %" || table.Cells[0][2] != "10.0 to 15.0" {
		t.Errorf("%v: %+v", err, table)
	}
	if table, err = d.badnessFactor(); err != nil || table.Cells[0][1] != "3" || table.Cells[0][3] != "0.00 %" {
		t.Errorf("%v: %+v", err, table)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(text, "15", "x", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := d.badnessFactor(); err == nil || !strings.Contains(err.Error(), curvesFile+":3:") {
		t.Errorf("%v", err)
	}
}

// TestDepthReadings compares depths in a stack with those worked out by hand for 100, 200, 104, 200 and 300. The 104 is
// within 5 % of the 100, which is then directly below the top and moves to the top. So the second 200 is found directly
// below the top too.
func TestDepthReadings(t *testing.T) {
	values := []float64{100, 200, 104, 200, 300}
	for _, c := range []struct {
		reading depthReading
		want    float64
	}{
		{depthReading{}, 1}, {depthReading{from: 1}, 2}, {depthReading{missAtEnd: true}, (0 + 1 + 1 + 1 + 2) / 5.},
	} {
		if got := c.reading.depth(values); got != c.want {
			t.Errorf("%+v: %v, want %v", c.reading, got, c.want)
		}
	}
	// If 104 replaces 100, then 109 is within 5 % of the value in the stack, although it is not within 5 % of 100. In
	// the second case 95 is within 5 % of 100, but 100 is not within 5 % of 95.
	kept, renewed := depthReading{missAtEnd: true}, depthReading{missAtEnd: true, renew: true}
	values = []float64{100, 104, 109}
	if a, b := kept.depth(values), renewed.depth(values); a != 1./3 || b != 0 {
		t.Errorf("with the value kept %v, want 1/3; with the value renewed %v, want 0", a, b)
	}
	down := depthReading{missAtEnd: true, from: 1}
	up := depthReading{missAtEnd: true, from: 1, ofValue: true}
	if a, b := down.depth([]float64{100, 95}), up.depth([]float64{100, 95}); a != 1 || b != 1.5 {
		t.Errorf("tolerance of the stack's value: %v, want 1; of the new one: %v, want 1.5", a, b)
	}
}
