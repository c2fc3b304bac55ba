package daemon_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/daemon"
)

// TestAdminToken proves that the token is generated once, that only its owner can read the file, that a restart keeps
// it, and that a file without a token prevents the start.
func TestAdminToken(t *testing.T) {
	s := importSite(t, 128)
	d := s.start(t)
	d.stop()
	file := filepath.Join(s.dir, "admin-token")
	info, err := os.Stat(file)
	must(t, err)
	token := s.token(t)
	if info.Mode().Perm() != 0o600 || len(token) < 26 {
		t.Errorf("mode %v, %d characters", info.Mode(), len(token))
	}
	other := importSite(t, 128)
	other.start(t).stop()
	if other.token(t) == token {
		t.Error("two daemons have made the same token")
	}
	must(t, os.Chmod(file, 0o644)) //nolint:gosec // that is what is warned of
	d = s.start(t)
	d.wantLog("chmod", file)
	if s.token(t) != token {
		t.Error("a restart changes the token")
	}
	d.stop()
	write(t, file, "short\n")
	err = daemon.Run(t.Context(), s.load(t), daemon.Options{})
	if err == nil || !strings.Contains(err.Error(), "admin_token_file") || !strings.Contains(err.Error(), file) {
		t.Errorf("a file without a token: %v", err)
	}
}
