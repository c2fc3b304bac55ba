package jobscript

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// word is one word of a directive or of the command line.
type word struct {
	text string
	at   origin
}

// quoting defines how a scheduler splits a directive into words. All schedulers recognize both kinds of quotes, also
// within a word.
type quoting struct {
	escape  bool // a backslash outside quotes removes the special meaning of the next character
	within  bool // a backslash has this effect inside quotes too
	split   bool // a blank after a backslash outside quotes still separates words
	drop    bool // empty words are removed
	comment bool // a # outside quotes, at the beginning of a word, ends the line
	hash    bool // a # has this effect within a word too
	open    bool // a quote need not be closed
}

// words splits the text of a directive.
func (p *parser) words(text string, at origin, q quoting) ([]word, error) {
	var words []word
	for i := 0; i < len(text); {
		if isBlank(text[i]) {
			i++
			continue
		}
		if q.comment && text[i] == '#' {
			break
		}
		w, n, ok := q.word(text[i:])
		if !ok {
			return nil, p.fail(at, text[i:], "a quote is not closed", "close it on the same line")
		}
		if w != "" || !q.drop {
			words = append(words, word{text: w, at: at})
		}
		i += n
	}
	return words, nil
}

func isBlank(c byte) bool { return strings.IndexByte(blanks, c) >= 0 }

// word returns the first word of the text and its length in bytes. It returns false if a quote is not closed.
func (q quoting) word(text string) (string, int, bool) {
	var b strings.Builder
	quote := byte(0)
	i := 0
	for ; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && (quote == 0 && q.escape || quote != 0 && q.within):
			if i+1 < len(text) && (quote != 0 || !q.split || !isBlank(text[i+1])) {
				i++
				b.WriteByte(text[i])
			}
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (isBlank(c) || q.hash && c == '#'):
			return b.String(), i, true
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), i, quote == 0 || q.open
}

// args returns the words of the command line.
func (p *parser) args() []word {
	words := make([]word, len(p.opts.Args))
	for i, a := range p.opts.Args {
		words[i] = word{text: a, at: origin{layer: onCommandLine}}
	}
	return words
}

// setting is one given option.
type setting struct {
	name  string // name as in the tables of options
	value string
	at    origin
}

// settings are the options that apply, by name.
type settings map[string]setting

// value returns the value of an option, "" if it was not given.
func (s settings) value(name string) string { return s[name].value }

func (s settings) has(name string) bool {
	_, ok := s[name]
	return ok
}

// last keeps the last setting of each name. It adds a warning if a script contradicts itself, or if the environment
// overrides the script. written formats a setting for messages.
func (p *parser) last(all []setting, written func(setting) string) settings {
	kept := settings{}
	for _, s := range all {
		old, ok := kept[s.name]
		if ok && old.value != s.value && s.at.layer != onCommandLine {
			p.overridden(old, s, written)
		}
		kept[s.name] = s
	}
	return kept
}

// overridden warns that one setting overrides another.
func (p *parser) overridden(old, by setting, written func(setting) string) {
	where := fmt.Sprintf("on line %d", by.at.line)
	if by.at.layer == inEnvironment {
		where = "in the environment (" + by.at.variable + ")"
	}
	p.warn(old.at, "%s is overridden by %s %s", clip(written(old)), clip(written(by)), where)
}

// sorted returns the names in order. So the order of warnings is always the same.
func sorted(s settings) []string { return slices.Sorted(maps.Keys(s)) }
