package slurm

import "testing"

// TestCountNodes proves that the nodes of a list are counted by the rules of Slurm's hostlists (scontrol show
// hostnames), and that an unreadable list counts as 0.
func TestCountNodes(t *testing.T) {
	for list, want := range map[string]int{
		"n01": 1, "n[01-03]": 3, "n[01-03,07]": 4, "login,n[1-2]": 3, "r[0-1]n[0-3]": 8, "n[1-2]-ib,m5": 3,
		"n[0099-0101]": 3,
		"":             0, "(null)": 0, "None assigned": 0, "n[": 0, "n[1-": 0, "n[1-2": 0, "n[2-1]": 0, "n[]": 0,
		"n]": 0, "a,,b": 0, "a,": 0, "n[x]": 0, "n[0-999999999]": 0, "n[0-9999]m[0-9999]": 0,
		"n[0-99999999999999999999]": 0,
	} {
		if got := countNodes([]byte(list)); got != want {
			t.Errorf("%q: got %d, want %d", list, got, want)
		}
	}
}
