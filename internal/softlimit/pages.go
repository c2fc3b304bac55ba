package softlimit

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// dropInterval is the time between two calls of dropPages. The next use of a page takes about a microsecond more, for
// 16 pages together. A daemon that answers uses a few hundred such groups.
const dropInterval = time.Minute

// DropUnused returns the unused pages of the program itself to the system from time to time, until ctx ends. They stay
// in the page cache of the system, from which the program takes those that it uses again. Much of a program is used
// only at the start.
func DropUnused(ctx context.Context) {
	tick := time.NewTicker(dropInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			dropPages()
		}
	}
}

// dropPages returns the unmodified pages of the program to the system. If that fails, they stay.
func dropPages() {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	text, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return
	}
	for _, m := range unmodified(text, program) {
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.from, m.to-m.from, unix.MADV_DONTNEED)
	}
}

// mapping is a range of addresses.
type mapping struct{ from, to uintptr }

// unmodified returns the mappings of a file that are not writable and equal the file, according to proc_pid_smaps(5).
// After MADV_DONTNEED these have the content of the file again. A mapping with an anonymous page has other content: the
// loader or a debugger has changed it.
func unmodified(smaps []byte, file string) (all []mapping) {
	var newest mapping
	candidate := false
	for lines := bufio.NewScanner(bytes.NewReader(smaps)); lines.Scan(); {
		var m mapping
		var mode, offset, device string
		var inode int
		line := lines.Text()
		if n, _ := fmt.Sscanf(line, "%x-%x %s %s %s %d", &m.from, &m.to, &mode, &offset, &device, &inode); n == 6 {
			newest = m
			candidate = strings.HasSuffix(line, " "+file) &&
				strings.HasPrefix(mode, "r-") && strings.HasSuffix(mode, "p")
			continue
		}
		if value, ok := strings.CutPrefix(line, "Anonymous:"); ok && candidate && strings.TrimSpace(value) == "0 kB" {
			all = append(all, newest)
		}
	}
	return all
}
