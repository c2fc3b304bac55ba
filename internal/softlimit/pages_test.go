package softlimit

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestUnmodified proves that only mappings of the program are returned that are neither writable nor shared, and of
// which no page was changed, as after relocations of a position-independent program or by a debugger.
func TestUnmodified(t *testing.T) {
	smaps := func(lines ...string) (text string) {
		for _, line := range lines {
			header, anonymous, _ := strings.Cut(line, "|")
			text += header + "\nSize:      100 kB\nRss:        80 kB\nPrivate_Dirty:  0 kB\nAnonymous:   " + anonymous +
				" kB\nLazyFree:     0 kB\nVmFlags: rd mr mw me\n"
		}
		return text
	}
	text := smaps(
		"00400000-01589000 r-xp 00000000 fe:00 10685970                           /usr/bin/waitcastd|0",
		"01589000-02751000 r--p 01189000 fe:00 10685970                           /usr/bin/waitcastd|0",
		"02751000-02752000 r--p 02351000 fe:00 10685970                           /usr/bin/waitcastd|4",
		"02752000-02800000 rw-p 02352000 fe:00 10685970                           /usr/bin/waitcastd|0",
		"02800000-02900000 r--s 00000000 fe:00 10685970                           /usr/bin/waitcastd|0",
		"02900000-02a00000 r--p 00000000 fe:00 10685971                           /usr/lib/other|0",
		"330380400000-330386800000 rw-p 00000000 00:00 0 |70440",
		"7f7aa9b90000-7f7aa9ee0000 r--p 00000000 00:00 0 |0",
	)
	want := []mapping{{0x400000, 0x1589000}, {0x1589000, 0x2751000}}
	if got := unmodified([]byte(text), "/usr/bin/waitcastd"); !slices.Equal(got, want) {
		t.Errorf("%x, want %x", got, want)
	}
}

// TestDropPages proves that fewer pages of the program are resident afterwards, and that the program still works.
func TestDropPages(t *testing.T) {
	resident := func() (kib int) {
		text, err := os.ReadFile("/proc/self/status")
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range []string{"RssFile:", "RssShmem:"} { // the second for files in memory (tmpfs)
			_, after, _ := strings.Cut(string(text), kind)
			part := 0
			if _, err := fmt.Sscan(after, &part); err != nil {
				t.Skipf("the kernel does not report %s %v", kind, err)
			}
			kib += part
		}
		return kib
	}
	before := resident()
	dropPages()
	if after := resident(); after >= before {
		t.Errorf("%d KiB before, %d KiB after", before, after)
	}
}
