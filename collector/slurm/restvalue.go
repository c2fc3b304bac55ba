package slurm

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/waitcast/waitcast/job"
)

// firstHidden is a character for private use. Together with the 127 after it, it stands for the bytes from 0x80 on.
const firstHidden = 0x10ff00

// unmarshal is json.Unmarshal for documents with names that are not UTF-8. json.Unmarshal replaces each byte that is
// not UTF-8 by the same character, which makes different names equal.
func unmarshal(text []byte, into any) error {
	if utf8.Valid(text) {
		return json.Unmarshal(text, into)
	}
	var hidden []byte
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if r == utf8.RuneError && size == 1 {
			r = firstHidden + rune(text[0]) - utf8.RuneSelf
		}
		hidden, text = utf8.AppendRune(hidden, r), text[size:]
	}
	err := json.Unmarshal(hidden, into)
	job.EachText(into, func(s string) string {
		var b []byte
		for _, r := range s {
			if c := r - firstHidden + utf8.RuneSelf; c >= utf8.RuneSelf && c <= math.MaxUint8 {
				b = append(b, byte(c))
			} else {
				b = utf8.AppendRune(b, r)
			}
		}
		return string(b)
	})
	return err
}

// restNumber is a number in an answer of slurmrestd: 5, null, or {"set": true, "infinite": false, "number": 5}. The
// field set is false if there is no value or an infinite one.
type restNumber struct {
	n   int64   // without the fraction
	x   float64 // with the fraction
	set bool
}

// UnmarshalJSON implements json.Unmarshaler.
func (v *restNumber) UnmarshalJSON(text []byte) error {
	*v = restNumber{}
	if len(text) == 0 || string(text) == "null" {
		return nil
	}
	if text[0] != '{' {
		var x float64
		if err := json.Unmarshal(text, &x); err != nil {
			return err
		}
		if isNone(x) {
			return nil
		}
		return v.from(x)
	}
	var o struct {
		Set      bool    `json:"set"`
		Infinite bool    `json:"infinite"`
		Number   float64 `json:"number"`
	}
	if err := json.Unmarshal(text, &o); err != nil {
		return err
	}
	if !o.Set || o.Infinite || isNone(o.Number) {
		return nil
	}
	return v.from(o.Number)
}

// isNone reports whether a number means none or infinity (NO_VAL, INFINITE and their 64-bit forms in slurm/slurm.h, as
// unsigned and as signed numbers).
func isNone(x float64) bool {
	switch x {
	case -1, -2, math.MaxUint32, math.MaxUint32 - 1, math.MaxUint64:
		return true
	}
	return false
}

func (v *restNumber) from(x float64) error {
	if !(x >= 0 && x < 1<<53) {
		return fmt.Errorf("%v is not a valid number", x)
	}
	*v = restNumber{n: int64(x), x: x, set: true}
	return nil
}

// String returns the whole number, 0 for none.
func (v restNumber) String() string { return strconv.FormatInt(v.n, 10) }

// orNone returns the number, "" for none.
func (v restNumber) orNone() string {
	if !v.set {
		return ""
	}
	return strconv.FormatFloat(v.x, 'f', -1, 64)
}

// minutes formats a number of minutes in the form of a time limit of Slurm's commands.
func (v restNumber) minutes() string {
	if !v.set || v.n >= maxMinutes {
		return "UNLIMITED"
	}
	return fmt.Sprintf("%d-%02d:%02d:00", v.n/(24*60), v.n/60%24, v.n%60)
}

// seconds formats a number of seconds in the form of a time limit of Slurm's commands.
func (v restNumber) seconds() string {
	if !v.set || v.n >= maxMinutes*60 {
		return "UNLIMITED"
	}
	return fmt.Sprintf("%d-%02d:%02d:%02d", v.n/(24*3600), v.n/3600%24, v.n/60%60, v.n%60)
}

// restWords is a list of words, in JSON one string or a list of strings.
type restWords []string

// UnmarshalJSON implements json.Unmarshaler.
func (w *restWords) UnmarshalJSON(text []byte) error {
	*w = nil
	if len(text) > 0 && text[0] == '[' {
		return json.Unmarshal(text, (*[]string)(w))
	}
	var one *string
	if err := json.Unmarshal(text, &one); err != nil {
		return err
	}
	if one != nil {
		*w = restWords{*one}
	}
	return nil
}

// list joins the words with commas, as Slurm's commands do.
func (w restWords) list() string { return strings.Join(w, ",") }

// first returns the first word, "" if there is none.
func (w restWords) first() string {
	if len(w) == 0 {
		return ""
	}
	return w[0]
}

// restTRES is a list of trackable resources in the form of Slurm's commands. slurmrestd writes the same text, or a
// list of {"type": "gres", "name": "gpu:a100", "count": 2}, in which memory is in mebibytes.
type restTRES string

// UnmarshalJSON implements json.Unmarshaler.
func (t *restTRES) UnmarshalJSON(text []byte) error {
	*t = ""
	if len(text) > 0 && text[0] != '[' {
		return json.Unmarshal(text, (*string)(t)) // null means none
	}
	var list []struct {
		Type  string     `json:"type"`
		Name  string     `json:"name"`
		Count restNumber `json:"count"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	var items []string
	for _, r := range list {
		if !r.Count.set {
			continue
		}
		item := r.Type
		if r.Name != "" {
			item += "/" + r.Name
		}
		item += "=" + r.Count.String()
		if r.Type == "mem" {
			item += "M"
		}
		items = append(items, item)
	}
	*t = restTRES(strings.Join(items, ","))
	return nil
}
