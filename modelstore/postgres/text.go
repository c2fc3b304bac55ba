package postgres

import (
	"encoding/hex"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/waitcast/waitcast/modelstore"
)

// escape is the prefix of a text that is written as hexadecimal digits.
const escape = `\x`

// toText converts s to a form that PostgreSQL can store. The text of a log may have any encoding.
func toText(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 && !strings.HasPrefix(s, escape) {
		return s
	}
	return escape + hex.EncodeToString([]byte(s))
}

// fromText undoes toText.
func fromText(s string) string {
	digits, escaped := strings.CutPrefix(s, escape)
	if !escaped {
		return s
	}
	b, err := hex.DecodeString(digits)
	if err != nil { // an administrator wrote the text by hand
		return s
	}
	return string(b)
}

// nanos returns an instant in the form that the database stores, which is NULL for the zero time.
func nanos(t time.Time) pgtype.Int8 {
	if t.IsZero() {
		return pgtype.Int8{}
	}
	return pgtype.Int8{Int64: t.UnixNano(), Valid: true}
}

func instant(n pgtype.Int8) time.Time {
	if !n.Valid {
		return time.Time{}
	}
	return time.Unix(0, n.Int64).UTC()
}

// timeOrEpoch replaces a time that cannot be stored by the beginning of 1970. So no bad line is refused because of
// its time.
func timeOrEpoch(t time.Time) int64 {
	if t.Before(modelstore.MinTime()) || t.After(modelstore.MaxTime()) {
		return 0
	}
	return t.UnixNano()
}

// clampTime returns a limit in nanoseconds. A limit that cannot be represented becomes the nearest value.
func clampTime(t time.Time) int64 {
	switch {
	case t.Before(modelstore.MinTime()):
		return modelstore.MinTime().UnixNano()
	case t.After(modelstore.MaxTime()):
		return modelstore.MaxTime().UnixNano()
	}
	return t.UnixNano()
}
