package jobscript

import (
	"fmt"
	"strings"
)

// wants defines whether an option has a value.
type wants uint8

const (
	none wants = iota
	needed
	maybe // a value can follow only after =
)

// option is an option of getopt_long(3): a letter, a name, or both.
type option struct {
	letter byte
	name   string
	wants  wants
}

// key is the key of the option in settings: its name, or its letter if it has none.
func (o option) key() string {
	if o.name == "" {
		return string(o.letter)
	}
	return o.name
}

// gnu parses options in the same way as getopt_long(3): -n4, -n 4, --ntasks=4, --ntasks 4, several letters together,
// and unique abbreviations of names.
type gnu struct {
	p       *parser
	options []option
	all     []setting
}

// parse parses the options among the words and appends them to all. A word that is neither an option nor the value of
// an option is an error, as in directives of all schedulers.
func (g *gnu) parse(words []word) error {
	for i := 0; i < len(words); {
		w, rest := words[i], words[i+1:]
		used, err := 0, error(nil)
		switch {
		case w.text == "--" && len(rest) == 0:
		case w.text == "--":
			err = g.p.stray(rest[0])
		case strings.HasPrefix(w.text, "--"):
			used, err = g.long(w, rest)
		case len(w.text) > 1 && w.text[0] == '-':
			used, err = g.letters(w, rest)
		default:
			err = g.p.stray(w)
		}
		if err != nil {
			return err
		}
		i += 1 + used
	}
	return nil
}

// stray returns the error for a word that is no option.
func (p *parser) stray(w word) error {
	if w.at.layer == onCommandLine {
		return p.fail(w.at, w.text, "neither an option nor the value of one",
			"give options only; the script stands before them")
	}
	return p.fail(w.at, w.text, "neither an option nor the value of one",
		"quote a value with blanks; one line is one set of options")
}

func (g *gnu) add(o option, value string, at origin) {
	g.all = append(g.all, setting{name: o.key(), value: value, at: at})
}

// letters parses a word with one dash, and returns the number of following words that it used.
func (g *gnu) letters(w word, rest []word) (int, error) {
	for i := 1; i < len(w.text); i++ {
		o, ok := g.letter(w.text[i])
		switch {
		case !ok:
			return 0, g.p.fail(w.at, w.text, fmt.Sprintf("there is no option -%s", clip(w.text[i:i+1])), "remove it")
		case o.wants != needed:
			g.add(o, "", w.at)
		case i+1 < len(w.text):
			g.add(o, w.text[i+1:], w.at)
			return 0, nil
		case len(rest) == 0:
			return 0, g.p.fail(w.at, w.text, "it needs a value", "write one after it")
		default:
			g.add(o, rest[0].text, w.at)
			return 1, nil
		}
	}
	return 0, nil
}

func (g *gnu) letter(c byte) (option, bool) {
	for _, o := range g.options {
		if o.letter == c {
			return o, true
		}
	}
	return option{}, false
}

// long parses a word with two dashes, and returns the number of following words that it used. An unknown option causes
// only a warning, because it may belong to another version.
func (g *gnu) long(w word, rest []word) (int, error) {
	name, value, with := strings.Cut(w.text[2:], "=")
	o, ok, others := g.named(name)
	switch {
	case len(others) > 0:
		return 0, g.p.fail(w.at, w.text, "ambiguous: it may be --"+strings.Join(others, ", --"), "write the whole name")
	case !ok:
		g.p.warn(w.at, "%s is not known here, and is ignored", clip(w.text))
		if !with && len(rest) > 0 && !strings.HasPrefix(rest[0].text, "-") {
			return 1, nil
		}
		return 0, nil
	case with && o.wants == none:
		return 0, g.p.fail(w.at, w.text, "it takes no value", "remove what follows the =")
	case with || o.wants != needed:
		g.add(o, value, w.at)
		return 0, nil
	case len(rest) == 0:
		return 0, g.p.fail(w.at, w.text, "it needs a value", "write one after it")
	}
	g.add(o, rest[0].text, w.at)
	return 1, nil
}

// named finds an option by its name or by a prefix of its name. If the prefix is ambiguous, it returns all matching
// names.
func (g *gnu) named(name string) (found option, ok bool, several []string) {
	var names []string
	for _, o := range g.options {
		if o.name == name {
			return o, true, nil
		}
		if name != "" && strings.HasPrefix(o.name, name) {
			found, names = o, append(names, o.name)
		}
	}
	if len(names) > 1 {
		return option{}, false, names
	}
	return found, len(names) == 1, nil
}
