package tail

import (
	"os"
	"testing"
	"time"
)

func mkdir(path string) error { return os.Mkdir(path, 0o755) }

func (r *rig) link(to string) {
	r.t.Helper()
	r.ok(os.Symlink(to, r.path("new")))
	r.rename("new", "log")
}

// TestSymlinkSwitch proves that when a symbolic link is switched to another file, the former target is finished first,
// even if the link was switched while no tailer ran.
func TestSymlinkSwitch(t *testing.T) {
	hazard(t, func(r *rig) {
		r.write("a", "1\n")
		r.link("a")
		r.want("a:1:1")
		r.write("a", "2\n")
		r.write("b", "3\n")
		r.link("b")
		r.want("a:2:2 b:1:3")
		r.close()
		r.write("b", "4\n")
		r.write("c", "5\n")
		r.link("c")
		r.want("b:2:4 c:1:5")
		r.start()
		r.want("")
	})
}

// TestSymlinkSwitchTwiceWhileDown proves that after two switches while no tailer ran, the file in between is found by
// its pattern.
func TestSymlinkSwitchTwiceWhileDown(t *testing.T) {
	hazard(t, func(r *rig) {
		r.cfg.Rotated = []string{"acct-*"}
		r.write("acct-1", "1\n")
		r.link("acct-1")
		r.want("acct-1:1:1")
		r.close()
		r.write("acct-2", "2\n")
		r.write("acct-3", "3\n")
		r.link("acct-3")
		r.want("acct-2:1:2 acct-3:1:3")
		r.start()
		r.want("")
	})
}

// TestSymlinkSwitchedLate proves that if the writer begins the next file before the link is switched, the unread rest
// of the former file is read first.
func TestSymlinkSwitchedLate(t *testing.T) {
	hazard(t, func(r *rig) {
		r.cfg.Rotated = []string{"acct-*"}
		r.write("acct-1", "1\n")
		r.link("acct-1")
		r.want("acct-1:1:1")
		r.write("acct-1", "2\n")
		r.ok(os.Chtimes(r.path("acct-1"), time.Unix(10, 0), time.Unix(10, 0)))
		r.write("acct-2", "3\n")
		r.ok(os.Chtimes(r.path("acct-2"), time.Unix(20, 0), time.Unix(20, 0)))
		r.want("acct-1:2:2 acct-2:1:3")
		r.link("acct-2")
		r.write("acct-2", "4\n")
		r.want("acct-2:2:4")
	})
}
