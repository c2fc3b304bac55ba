package daemon

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.uber.org/zap"

	"github.com/waitcast/waitcast/api"
	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/modelstore"
)

// minToken is the minimum length of a token in bytes: one that cannot be guessed. One that is made here has 26 letters
// and digits, 130 bits.
const minToken = 16

// adminToken returns the administrators' token from its file, which is made if it is missing. Without a path there is
// no admin access.
func adminToken(path string, log *zap.Logger) (string, error) {
	if path == "" {
		return "", nil
	}
	token, err := readToken(path, log)
	if errors.Is(err, fs.ErrNotExist) {
		token = rand.Text()
		err = writeWhole(path, token+"\n")
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

// writeWhole makes or replaces a file that only its owner reads, whole or not at all.
func writeWhole(path, content string) (err error) {
	temporary, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temporary.Name()))
		}
	}()
	_, err = temporary.WriteString(content)
	if err = errors.Join(err, temporary.Sync(), temporary.Close()); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), path)
}

// quarantine is the api.QuarantineFunc. The store keeps so few lines that they are filtered here.
func (w *webAPI) quarantine(ctx context.Context, q api.QuarantineQuery) (*wire.Quarantine, error) {
	ever, all, err := w.badLines(ctx)
	if errors.Is(err, modelstore.ErrClosed) {
		return nil, errReloading
	}
	if err != nil {
		return nil, err
	}
	out := &wire.Quarantine{BadLines: []wire.BadLine{}, Kept: int64(len(all)), Dropped: max(0, ever-int64(len(all)))}
	for i := range all {
		b := &all[i]
		clusterName, _, _ := strings.Cut(b.Source, "/")
		if q.Cluster != "" && clusterName != q.Cluster || q.Reason != "" && b.Reason != q.Reason {
			continue
		}
		if out.Matching++; out.Matching <= int64(q.Limit) {
			out.BadLines = append(out.BadLines, badLine(b))
		}
	}
	slices.Reverse(out.BadLines)
	return out, nil
}

// badLines returns how many lines ever were in quarantine, and those that still are, newest first.
func (w *webAPI) badLines(ctx context.Context) (ever int64, all []modelstore.BadLine, err error) {
	for _, store := range w.stores {
		n, err := store.CountBadLines(ctx)
		if err != nil {
			return 0, nil, err
		}
		lines, err := store.BadLines(ctx, 0)
		if err != nil {
			return 0, nil, err
		}
		ever, all = ever+n, append(all, lines...)
	}
	if len(w.stores) > 1 {
		slices.SortStableFunc(all, func(a, b modelstore.BadLine) int { return b.At.Compare(a.At) })
	}
	return ever, all, nil
}

func badLine(b *modelstore.BadLine) wire.BadLine {
	return wire.BadLine{
		At: b.At, Source: b.Source, Path: escaped([]byte(b.Path)), Line: b.Line, Reason: b.Reason,
		Message: escaped([]byte(b.Message)), Text: escaped(b.Text),
	}
}

// escaped makes text of any bytes. A backslash is doubled; each byte of a rune that is not printable, or not UTF-8,
// becomes \xNN.
func escaped(b []byte) string {
	var out strings.Builder
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		switch {
		case r == '\\':
			out.WriteString(`\\`)
		case r == utf8.RuneError && size <= 1, !strconv.IsPrint(r):
			for _, c := range b[:size] {
				fmt.Fprintf(&out, `\x%02x`, c)
			}
		default:
			out.Write(b[:size])
		}
		b = b[size:]
	}
	return out.String()
}
