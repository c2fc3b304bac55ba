package swf

import (
	"bytes"
	"errors"
	"math"
	"strconv"
)

// ParseRecord reads one record line into r. Fields are separated by any number of spaces and tabs. The line may
// include its line end. A field is an optional '-', digits, an optional fraction and an optional exponent. Some logs
// have CPU times such as "142.00". CPUTime keeps its fraction. Every other field is rounded to the nearest whole
// number, halves away from zero. The text after the last field is ignored, because some logs have additional columns
// there.
//
// The error is a *FieldError that names the first of the fields 1 to 4 that is missing, is not a number or is too
// large. In that case r is unchanged. Without these fields there is no job; any other field of this kind is Unknown.
// ParseRecord allocates only for such a field, or for numbers with exponents or of more than 18 digits.
func ParseRecord(line []byte, r *Record) error {
	_, _, err := ParseFields(line, r)
	return err
}

// essential is the number of fields, at the beginning of a record, without which there is no job: job number, submit,
// wait and runtime.
const essential = 4

// ParseFields reads a record in the same way as ParseRecord. It also returns the text after the 18 fields, without
// blanks around it, and the error of the first field that counts as Unknown because it cannot be read, nil if there is
// none. A field that the line lacks is no error.
func ParseFields(line []byte, r *Record) (rest []byte, odd *FieldError, err error) {
	var v [Fields]int64
	cpu, i := 0.0, 0
	for f := range v {
		for i < len(line) && isBlank(line[i]) {
			i++
		}
		start := i
		if i < len(line) && line[i] == '-' {
			i++
		}
		digits := i
		n := int64(0)
		for i < len(line) {
			d := line[i] - '0'
			if d > 9 {
				break
			}
			n = n*10 + int64(d)
			i++
		}
		if digits > start {
			n = -n
		}
		switch {
		case i == digits || i-digits > 18 || i < len(line) && !isBlank(line[i]):
			var bad *FieldError
			if i, n, cpu, bad = slowField(line, start, f, cpu); bad != nil {
				if f < essential {
					return nil, nil, bad
				}
				if n = Unknown; f == cpuField {
					cpu = Unknown
				}
				if odd == nil && bad.Reason != Missing {
					odd = bad
				}
			}
		case f == cpuField:
			cpu = float64(n)
		}
		v[f] = n
	}
	*r = Record{
		ID: v[0], Submit: v[1], Wait: v[2], Runtime: v[3], Allocated: v[4], CPUTime: cpu, Memory: v[6],
		RequestedProcs: v[7], TimeLimit: v[8], RequestedMem: v[9], Status: v[10], User: v[11], Group: v[12],
		Executable: v[13], Queue: v[14], Partition: v[15], Preceding: v[16], ThinkTime: v[17],
	}
	return bytes.Trim(line[i:], " \t\r\n"), odd, nil
}

// cpuField is the index of CPUTime.
const cpuField = 5

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// slowField reads the field at start again. It handles all cases that the fast loop does not: a missing field, a
// fraction, many digits, and invalid text. It returns the index after the field, the field's whole number, and cpu.
// If f is the CPU time, cpu is its new value.
func slowField(line []byte, start, f int, cpu float64) (int, int64, float64, *FieldError) {
	end := start
	for end < len(line) && !isBlank(line[end]) {
		end++
	}
	text := line[start:end]
	if len(text) == 0 {
		return end, 0, cpu, &FieldError{Field: f + 1, Reason: Missing}
	}
	mantissa, exponent := cutExponent(text)
	if !isDecimal(mantissa) {
		return end, 0, cpu, &FieldError{Field: f + 1, Reason: Junk, Text: shorten(text)}
	}
	if exponent && f != cpuField { // "1.6e1", as statistics programs write it
		x, err := strconv.ParseFloat(string(text), 64)
		if x = math.Round(x); err != nil || math.Abs(x) >= 1<<53 {
			return end, 0, cpu, &FieldError{Field: f + 1, Reason: Overflow, Text: shorten(text)}
		}
		return end, int64(x), cpu, nil
	}
	if f == cpuField {
		x, err := strconv.ParseFloat(string(text), 64)
		if err != nil {
			return end, 0, cpu, &FieldError{Field: f + 1, Reason: Overflow, Text: shorten(text)}
		}
		return end, 0, x + 0, nil // + 0 changes -0 to 0
	}
	n, err := parseWhole(text)
	if err != nil {
		return end, 0, cpu, &FieldError{Field: f + 1, Reason: Overflow, Text: shorten(text)}
	}
	return end, n, cpu, nil
}

// cutExponent returns text without an exponent at its end ("e5", "E+05"), and whether it has one.
func cutExponent(text []byte) ([]byte, bool) {
	i := bytes.IndexAny(text, "eE")
	if i < 1 {
		return text, false
	}
	power := text[i+1:]
	if len(power) > 1 && (power[0] == '+' || power[0] == '-') {
		power = power[1:]
	}
	if len(power) == 0 || bytes.ContainsFunc(power, func(r rune) bool { return r < '0' || r > '9' }) {
		return text, false
	}
	return text[:i], true
}

// isDecimal reports whether text has the form -?digits(.digits*)?. It refuses "inf" and "0x1".
func isDecimal(text []byte) bool {
	if text[0] == '-' {
		text = text[1:]
	}
	if len(text) == 0 || text[0] == '.' {
		return false
	}
	point := false
	for _, c := range text {
		switch {
		case c == '.' && !point:
			point = true
		case c < '0' || c > '9':
			return false
		}
	}
	return true
}

var errOverflow = errors.New("overflow")

// parseWhole rounds a decimal number to the nearest int64, halves away from zero. It uses the digits, because a
// float64 would lose the last digits of a large number.
func parseWhole(text []byte) (int64, error) {
	whole, up := text, false
	for i, c := range text {
		if c == '.' {
			whole, up = text[:i], i+1 < len(text) && text[i+1] >= '5'
			break
		}
	}
	n, err := strconv.ParseInt(string(whole), 10, 64)
	switch {
	case err != nil:
		return 0, err
	case !up:
		return n, nil
	case text[0] == '-' && n > math.MinInt64:
		return n - 1, nil
	case text[0] != '-' && n < math.MaxInt64:
		return n + 1, nil
	}
	return 0, errOverflow
}
