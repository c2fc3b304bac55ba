package memsize

import "testing"

// TestParse proves that the sizes that people write for schedulers are read as powers of 1024, and that an ambiguous
// one is refused.
func TestParse(t *testing.T) {
	for text, want := range map[string]int64{
		"1K": 1 << 10, "4000M": 4000 << 20, "64G": 64 << 30, "64g": 64 << 30, "64gb": 64 << 30, "64 GiB": 64 << 30,
		"1.5T": 3 << 39, "0G": 0, "2P": 2 << 50, " 8GB ": 8 << 30,
	} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("Parse(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "64", "G", "-1G", "NaNG", "infG", "1GG", "1KM", "64B", "1e3G", "0x1G", "99999999P", "1 2G", "1Gx", "1_0G",
	} {
		if got, err := Parse(text); err == nil {
			t.Errorf("Parse(%q) = %d, want an error", text, got)
		}
	}
	v := Value(3 << 29)
	if s := v.String(); s != "1.5G" {
		t.Errorf("1.5 GiB is written %q", s)
	}
	if err := v.Set(v.String()); err != nil || v != 3<<29 {
		t.Errorf("read back as %d, %v", v, err)
	}
}
