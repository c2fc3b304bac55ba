package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/waitcast/waitcast/api"
	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/modelstore"
)

// quarantine returns the newest bad lines that match the query, up to its limit, the oldest of them first. It is the
// api.QuarantineFunc. The store keeps only few bad lines, so quarantine reads all of them and filters them itself.
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

// badLines returns the number of lines that were ever put in quarantine, and the lines that are still there, newest
// first.
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

// escaped returns bytes as printable text. A backslash is doubled. Each byte of a rune that is not printable, and each
// byte that is not UTF-8, becomes \xNN.
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
