package job

import (
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable returns a text of a scheduler as it is kept: valid UTF-8 without control characters. Each byte of any other
// character becomes \xHH. Different texts stay different: where a text has such four characters itself, its backslash
// becomes \x5c.
func Printable(text string) string {
	at := firstEscaped(text)
	if at < 0 {
		return text
	}
	const digits = "0123456789abcdef"
	var b strings.Builder
	for ; at >= 0; at = firstEscaped(text) {
		b.WriteString(text[:at])
		_, size := utf8.DecodeRuneInString(text[at:])
		for _, c := range []byte(text[at : at+size]) {
			b.Write([]byte{'\\', 'x', digits[c>>4], digits[c&15]})
		}
		text = text[at+size:]
	}
	b.WriteString(text)
	return b.String()
}

// firstEscaped returns the index of the first character that Printable changes, -1 if there is none.
func firstEscaped(text string) int {
	for i, r := range text {
		switch {
		case r == '\\':
			if isEscape(text[i:]) {
				return i
			}
		case r >= ' ' && r < utf8.RuneSelf-1:
		case r == utf8.RuneError:
			if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
				return i
			}
		case unicode.IsControl(r):
			return i
		}
	}
	return -1
}

// isEscape reports whether a text, which begins with a backslash, begins with one of the escapes of Printable.
func isEscape(text string) bool {
	const size = len(`\xHH`)
	if len(text) < size || text[1] != 'x' {
		return false
	}
	var c byte
	for _, digit := range []byte(text[2:size]) {
		switch {
		case '0' <= digit && digit <= '9':
			c = c<<4 | (digit - '0')
		case 'a' <= digit && digit <= 'f':
			c = c<<4 | (digit - 'a' + 10)
		default:
			return false
		}
	}
	return c < ' ' || c >= utf8.RuneSelf-1 || c == '\\'
}

// Stored returns a text that was stored. Versions before 0.2 did not apply Printable; a text that has only printable
// characters is unchanged.
func Stored(text string) string {
	if utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl) {
		return text
	}
	return Printable(text)
}

// EachText replaces all texts of the event by the results of a function: Printable for an event that a record reports,
// Stored for one that is read from a store.
func (ev *Event) EachText(of func(string) string) {
	for _, text := range [...]*string{&ev.ID, &ev.Queue, &ev.User, &ev.Account, &ev.QOS, &ev.Name, &ev.NodeNames,
		&ev.GPUType, &ev.Reason, &ev.Group, &ev.After, &ev.Settled, &ev.Queues} {
		if *text != "" {
			*text = of(*text)
		}
	}
}

// EachText replaces all texts in a value by the results of a function. The value is a pointer to a struct. EachText
// leaves out unexported fields and the keys of maps.
func EachText(value any, of func(string) string) { eachText(reflect.ValueOf(value), of) }

func eachText(v reflect.Value, of func(string) string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			eachText(v.Elem(), of)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				eachText(v.Field(i), of)
			}
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		for i := range v.Len() {
			eachText(v.Index(i), of)
		}
	case reflect.String:
		if v.Len() > 0 {
			v.SetString(of(v.String()))
		}
	}
}
