package jobscript

import (
	"fmt"
	"strings"
)

// dash parses options that have one dash and a whole word, as in qsub of Grid Engine and bsub of LSF.
type dash struct {
	p      *parser
	values map[string]int // number of values of each option
	glued  bool           // the value of an option of one letter may follow without a blank
	strict bool           // unknown options are refused
	all    []setting
}

// optionTable returns a table of options by name. Its arguments are the names of the options with no value, with one
// value, and so on.
func optionTable(byValues ...string) map[string]int {
	table := map[string]int{}
	for n, names := range byValues {
		for _, name := range strings.Fields(names) {
			table[name] = n
		}
	}
	return table
}

// parse parses the options among the words and appends them to all.
func (d *dash) parse(words []word) error {
	for i := 0; i < len(words); {
		used, err := d.one(words[i], words[i+1:])
		if err != nil {
			return err
		}
		i += 1 + used
	}
	return nil
}

// one parses an option and returns the number of following words that it used. Two values are joined with a blank.
func (d *dash) one(w word, rest []word) (int, error) {
	name, isOption := strings.CutPrefix(w.text, "-")
	if !isOption || name == "" {
		return 0, d.p.stray(w)
	}
	n, known := d.values[name]
	if name == "binding" && len(rest) > 0 && (rest[0].text == "env" || rest[0].text == "pe" || rest[0].text == "set") {
		n = 2 // Grid Engine: the first value is optional
	}
	if !known && d.glued {
		if of, ok := d.values[name[:1]]; ok && of == 1 {
			d.all = append(d.all, setting{name: name[:1], value: name[1:], at: w.at})
			return 0, nil
		}
	}
	switch {
	case !known && d.strict:
		return 0, d.p.fail(w.at, w.text, "there is no such option", "remove it")
	case !known:
		d.p.warn(w.at, "%s is not known here, and is ignored", clip(w.text))
		if len(rest) > 0 && !strings.HasPrefix(rest[0].text, "-") {
			return 1, nil
		}
		return 0, nil
	case n > len(rest):
		return 0, d.p.fail(w.at, w.text, fmt.Sprintf("it needs %d value(s)", n), "write it after the option")
	}
	var values []string
	for _, v := range rest[:n] {
		values = append(values, v.text)
	}
	d.all = append(d.all, setting{name: name, value: strings.Join(values, " "), at: w.at})
	return n, nil
}

// dashWritten formats an option with one dash for messages.
func dashWritten(s setting) string { return strings.TrimRight("-"+s.name+" "+s.value, " ") }
