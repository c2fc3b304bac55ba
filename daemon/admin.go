package daemon

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"unicode"

	"go.uber.org/zap"

	"github.com/waitcast/waitcast/internal/wholefile"
)

// minToken is the minimum length of a token in bytes. A shorter token could be guessed. A generated token has 26
// letters and digits, which are 130 random bits.
const minToken = 16

// adminToken returns the administrators' token from its file. It generates the token and the file if the file is
// missing. If path is empty, there is no admin access.
func adminToken(path string, log *zap.Logger) (string, error) {
	if path == "" {
		return "", nil
	}
	token, err := readToken(path, log)
	if errors.Is(err, fs.ErrNotExist) {
		token = rand.Text()
		err = wholefile.WriteBytes(path, 0o600, []byte(token+"\n"))
	}
	if err != nil {
		return "", fmt.Errorf("admin_token_file: %w", err)
	}
	return token, nil
}

func readToken(path string, log *zap.Logger) (string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(content))
	if len(token) < minToken || strings.ContainsFunc(token, unicode.IsSpace) {
		return "", fmt.Errorf("%s holds no token of %d characters or more: write one, or remove the file and one is "+
			"made",
			path, minToken)
	}
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o037 != 0 {
		log.Warn("the admin token can be read by others than the daemon's user and group: chmod 0640 or 0600",
			zap.String("admin_token_file", path), zap.Stringer("mode", info.Mode().Perm()))
	}
	return token, nil
}
