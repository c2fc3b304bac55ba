package swf

import (
	"bytes"
	"errors"
	"math"
	"strconv"
)

// ParseRecord reads one record line into r. Fields are separated by any run of spaces and tabs; the line end may be
// part of the line. A field is an optional '-', digits, and an optional fraction ("142.00", as some logs have for CPU
// times); CPUTime keeps its fraction, every other field is rounded to the nearest whole number, halves away from zero.
// What follows the last field is not read: some logs have columns of their own there.
//
// The error is a *FieldError that names the first field that is missing, is not a number or does not fit; r is then
// left as it was. ParseRecord allocates only for an error, or for numbers of more than 18 digits.
func ParseRecord(line []byte, r *Record) error {
	_, err := ParseFields(line, r)
	return err
}

// ParseFields reads a record like ParseRecord, and returns what follows its 18 fields, without the blanks around it.
func ParseFields(line []byte, r *Record) (rest []byte, err error) {
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
			if i, n, cpu, err = slowField(line, start, f, cpu); err != nil {
				return nil, err
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
	return bytes.Trim(line[i:], " \t\r\n"), nil
}

// cpuField is the index of CPUTime.
const cpuField = 5

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// slowField reads the field at start again with every case the fast loop leaves out: nothing there, a fraction, many
// digits, junk. It returns the index after the field, its whole number, and cpu, replaced if f is the CPU time.
func slowField(line []byte, start, f int, cpu float64) (int, int64, float64, error) {
	end := start
	for end < len(line) && !isBlank(line[end]) {
		end++
	}
	text := line[start:end]
	if len(text) == 0 {
		return end, 0, 0, &FieldError{Field: f + 1, Reason: Missing}
	}
	if !isDecimal(text) {
		return end, 0, 0, &FieldError{Field: f + 1, Reason: Junk, Text: shorten(text)}
	}
	if f == cpuField {
		x, err := strconv.ParseFloat(string(text), 64)
		if err != nil {
			return end, 0, 0, &FieldError{Field: f + 1, Reason: Overflow, Text: shorten(text)}
		}
		return end, 0, x + 0, nil // + 0 makes -0 a plain 0
	}
	n, err := parseWhole(text)
	if err != nil {
		return end, 0, 0, &FieldError{Field: f + 1, Reason: Overflow, Text: shorten(text)}
	}
	return end, n, cpu, nil
}

// isDecimal reports whether text is -?digits(.digits*)?, so that "1e5", "inf" and "0x1" are not numbers here.
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

// parseWhole rounds a decimal number to the nearest int64, halves away from zero. It works on the digits: a float64
// would lose the last ones of a large number.
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
