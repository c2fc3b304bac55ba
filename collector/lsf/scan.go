package lsf

import (
	"bytes"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/logtext"
)

// scanner reads the fields of a record one by one. After the first malformed field err is set, and all methods return
// zero values.
type scanner struct {
	rest []byte
	err  error
	// cut is true if the record ended inside a string.
	cut bool
}

func (s *scanner) reset(line []byte) { *s = scanner{rest: line} }

func (s *scanner) skipBlanks() {
	i := 0
	for i < len(s.rest) && (s.rest[i] == ' ' || s.rest[i] == '\t') {
		i++
	}
	s.rest = s.rest[i:]
}

func (s *scanner) fail(field, want string) {
	if s.err != nil {
		return
	}
	if len(s.rest) == 0 {
		s.err = collector.Bad(collector.ReasonField, field, "the record ends before it")
		return
	}
	s.err = collector.Bad(collector.ReasonField, field, "want %s, got %q", want, shorten(s.rest))
}

// isString reports whether the next field is a string.
func (s *scanner) isString() bool {
	s.skipBlanks()
	return s.err == nil && len(s.rest) > 0 && s.rest[0] == '"'
}

// str reads a string in double quotes. Quotes inside the string are doubled.
func (s *scanner) str(field string) []byte {
	if !s.isString() {
		s.fail(field, "a string in double quotes")
		return nil
	}
	text := s.rest[1:]
	doubled := false
	for from := 0; ; {
		i := bytes.IndexByte(text[from:], '"')
		if i < 0 {
			s.cut = true
			s.err = collector.Bad(collector.ReasonField, field,
				"a string without its end: a line break has cut the record in two")
			return nil
		}
		from += i + 1
		if from < len(text) && text[from] == '"' {
			doubled = true
			from++
			continue
		}
		s.rest = text[from:]
		text = text[:from-1]
		break
	}
	if doubled {
		text = bytes.ReplaceAll(text, []byte(`""`), []byte(`"`))
	}
	return text
}

// word removes and returns the text up to the next space. A string in quotes is no word: word then sets err.
func (s *scanner) word(field, want string) []byte {
	s.skipBlanks()
	end := bytes.IndexByte(s.rest, ' ')
	if end < 0 {
		end = len(s.rest)
	}
	if s.err != nil || end == 0 || s.rest[0] == '"' {
		s.fail(field, want)
		return nil
	}
	word := s.rest[:end]
	s.rest = s.rest[end:]
	return word
}

// int reads an integer.
func (s *scanner) int(field string) int64 {
	const want = "a whole number"
	before := s.rest
	word := s.word(field, want)
	if s.err != nil {
		return 0
	}
	n, ok := logtext.Integer(word)
	if !ok {
		s.rest = before
		s.fail(field, want)
	}
	return n
}

// value reads a string or a word.
func (s *scanner) value(field string) []byte {
	if s.isString() {
		return s.str(field)
	}
	return s.word(field, "a value")
}

// skip skips fields. In pattern, "n" stands for a number of any kind, and "s" for a string. It is written for speed
// with a single index, since most fields are skipped.
func (s *scanner) skip(field, pattern string) {
	if s.err != nil {
		return
	}
	rest, i := s.rest, 0
	for _, c := range []byte(pattern) {
		for i < len(rest) && (rest[i] == ' ' || rest[i] == '\t') {
			i++
		}
		var end int
		if c == 's' {
			end = stringEnd(rest, i)
		} else {
			end = wordEnd(rest, i)
		}
		if end < 0 { // the slower method reads it and reports the error
			s.rest = rest[i:]
			if c == 's' {
				s.str(field)
			} else {
				s.word(field, "a number")
			}
			return
		}
		i = end
	}
	s.rest = rest[i:]
}

// stringEnd returns the index after the string that begins at b[i], -1 if there is none.
func stringEnd(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return -1
	}
	for i++; i < len(b); i++ {
		if b[i] != '"' {
			continue
		}
		if i++; i == len(b) || b[i] != '"' {
			return i
		}
	}
	return -1
}

// wordEnd returns the index after the word that begins at b[i], -1 if there is none.
func wordEnd(b []byte, i int) int {
	if i >= len(b) || b[i] == '"' {
		return -1
	}
	for i < len(b) && b[i] != ' ' {
		i++
	}
	return i
}

// skipStrings skips all strings up to the next number. They are optional, and newer versions have more of them.
func (s *scanner) skipStrings(field string) {
	for s.isString() {
		s.str(field)
	}
}

// skipLists reads a count and skips that many groups of fields of the given pattern.
func (s *scanner) skipLists(field, pattern string) {
	for n := s.int(field); n > 0 && s.err == nil; n-- {
		s.skip(field, pattern)
	}
}

// hostList reads a count and the names of the hosts of an allocation, one for each processor. In the short form of
// SHORT_EVENTFILE, "4*name" stands for four times the same name. It returns the numbers of processors and of different
// hosts.
func (p *parser) hostList(field string) (procs int64, nodes int) {
	s := &p.scan
	defer p.forgetHosts()
	var last []byte
	for n := s.int(field); n > 0; n-- {
		name := s.str("execHosts")
		if s.err != nil {
			return 0, 0
		}
		count := int64(1)
		if i := bytes.IndexByte(name, '*'); i > 0 {
			if k, ok := logtext.Integer(name[:i]); ok {
				count, name = max(0, min(k, maxCount)), name[i+1:]
			}
		}
		procs = min(procs+count, maxCount)
		if last == nil || !bytes.Equal(name, last) {
			p.addHost(name)
			last = name
		}
	}
	return procs, len(p.hosts)
}

func (p *parser) addHost(name []byte) {
	if _, known := p.hosts[string(name)]; !known {
		p.hosts[p.names.Of(name)] = struct{}{}
	}
}

// maxHosts is the number of hosts above which the set of hosts is replaced instead of emptied.
const maxHosts = 1 << 14

// forgetHosts empties the set of hosts. A map never shrinks, so a large one is replaced.
func (p *parser) forgetHosts() {
	if len(p.hosts) > maxHosts {
		p.hosts = map[string]struct{}{}
		return
	}
	clear(p.hosts)
}

// maxCount is the maximum of counts and of their sum. It exceeds the processors of any machine, so such a size is
// refused after parsing.
const maxCount = 1 << 32
