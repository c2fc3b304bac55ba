package jobscript

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// ErrNoDirectives means that a script has no directive of any scheduler.
var ErrNoDirectives = errors.New("no directives")

// ErrSchedulers means that a script has directives of several schedulers.
var ErrSchedulers = errors.New("directives of several schedulers")

// Error is an error in a script or its options, with its place and a hint.
type Error struct {
	// Place is "job.sh:3", "command line" or "environment variable SBATCH_TIMELIMIT".
	Place string
	// Option is the option with its value, if the error concerns one.
	Option string
	// Problem describes the error. Hint describes what to write instead; it may be empty.
	Problem, Hint string
	// Cause is ErrNoDirectives, ErrSchedulers or nil.
	Cause error
}

// Error implements error.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Place + ": ")
	if e.Option != "" {
		b.WriteString(e.Option + ": ")
	}
	b.WriteString(e.Problem)
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	return b.String()
}

// Unwrap implements errors.Unwrap.
func (e *Error) Unwrap() error { return e.Cause }

// layer is a source of options. A later layer overrides an earlier one.
type layer int

const (
	inScript layer = iota
	inEnvironment
	onCommandLine
)

// origin is the place of an option. The zero value means the whole script.
type origin struct {
	layer    layer
	line     int    // line in the script
	variable string // environment variable
}

// parser reads one script.
type parser struct {
	name       string
	opts       Options
	lines      []string
	warnings   []Warning
	directives []Directive
}

// split cuts the script into lines. It refuses a NUL byte, as sbatch does; a shell would stop there.
func (p *parser) split(text []byte) error {
	if len(text) > MaxScript {
		return p.fail(origin{}, "", fmt.Sprintf("longer than %d bytes", MaxScript), "schedulers take no such script")
	}
	if i := bytes.IndexByte(text, 0); i >= 0 {
		return p.fail(origin{line: 1 + bytes.Count(text[:i], []byte("\n"))}, "", "a NUL byte", "this is no script")
	}
	p.lines = strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	return nil
}

// place formats an origin for messages.
func (p *parser) place(at origin) string {
	switch {
	case at.layer == onCommandLine:
		return "command line"
	case at.layer == inEnvironment:
		return "environment variable " + at.variable
	case at.line > 0:
		return fmt.Sprintf("%s:%d", p.name, at.line)
	}
	return p.name
}

func (p *parser) fail(at origin, option, problem, hint string) *Error {
	return &Error{Place: p.place(at), Option: clip(option), Problem: problem, Hint: hint}
}

func (p *parser) warn(at origin, format string, args ...any) {
	p.warnings = append(p.warnings, Warning{Line: at.line, Text: fmt.Sprintf(format, args...)})
}

// clip shortens a part of the script for errors and warnings.
func clip(s string) string {
	const most = 80
	if len(s) > most {
		s = s[:most] + "..."
	}
	return strings.ToValidUTF8(s, "?")
}

// directive records that a line is a directive.
func (p *parser) directive(line int) {
	p.directives = append(p.directives, Directive{Line: line, Text: strings.TrimRight(p.lines[line-1], "\r")})
}

// command returns the number of the first line that is a command. If there is none, it returns one more than the
// number of lines. As for sbatch, blank lines and comments are not commands.
func (p *parser) command() int {
	for i, line := range p.lines {
		if s := strings.TrimLeft(line, blanks); s != "" && s[0] != '#' {
			return i + 1
		}
	}
	return len(p.lines) + 1
}

// blanks are the characters that isspace(3) accepts.
const blanks = " \t\n\v\f\r"

// sighting has the directives of one scheduler that were found in a script.
type sighting struct {
	scheduler   Scheduler
	prefix      string
	line        int // first line that the scheduler obeys; 0 for none
	ignoredLine int // first line that the scheduler ignores
}

// sightings finds the directives of every scheduler.
func (p *parser) sightings() []sighting {
	seen := []sighting{
		{scheduler: Slurm, prefix: "#SBATCH"}, {scheduler: PBS, prefix: "#PBS"},
		{scheduler: GridEngine, prefix: "#$"}, {scheduler: LSF, prefix: "#BSUB"},
	}
	command := p.command()
	for i, line := range p.lines {
		number := i + 1
		for k := range seen {
			s := &seen[k]
			obeyed, looks := s.obeys(line, number < command)
			if obeyed && s.line == 0 {
				s.line = number
			}
			if looks && !obeyed && s.ignoredLine == 0 {
				s.ignoredLine = number
			}
		}
	}
	return seen
}

// obeys reports whether the scheduler treats the line as a directive. before is true if the line is before the first
// command. looks is true if the line may have been meant as a directive.
func (s *sighting) obeys(line string, before bool) (obeyed, looks bool) {
	trimmed := strings.TrimLeft(line, blanks)
	switch s.scheduler {
	case PBS:
		obeyed = before && strings.HasPrefix(trimmed, s.prefix)
	case Slurm:
		obeyed = before && strings.HasPrefix(line, s.prefix)
	case GridEngine: // a line such as #$Id$ is not meant for Grid Engine
		rest, found := strings.CutPrefix(line, s.prefix)
		return found && strings.HasPrefix(strings.TrimLeft(rest, blanks), "-"), false
	default:
		obeyed = strings.HasPrefix(line, s.prefix)
	}
	if !strings.HasPrefix(trimmed, "#") {
		return obeyed, false
	}
	word := strings.TrimLeft(trimmed[1:], blanks)
	return obeyed, len(word) >= len(s.prefix)-1 && strings.EqualFold(word[:len(s.prefix)-1], s.prefix[1:])
}

// detect returns the scheduler for which the script was written.
func (p *parser) detect() (Scheduler, error) {
	if p.opts.Scheduler != "" {
		return p.opts.Scheduler, nil
	}
	var found []sighting
	ignored := ""
	for _, s := range p.sightings() {
		if s.line > 0 {
			found = append(found, s)
		} else if s.ignoredLine > 0 && ignored == "" {
			ignored = fmt.Sprintf("line %d looks like %s, but is none: it must be written so, at the start of a "+
				"line, before the first command", s.ignoredLine, s.prefix)
		}
	}
	switch len(found) {
	case 1:
		return found[0].scheduler, nil
	case 0:
		e := p.fail(origin{}, "", "no #SBATCH, #PBS, #$ or #BSUB line",
			"add one, or say the scheduler and give the options on the command line")
		e.Cause = ErrNoDirectives
		if ignored != "" {
			e.Hint = ignored
		}
		return "", e
	}
	names := make([]string, len(found))
	for i, s := range found {
		names[i] = fmt.Sprintf("%s (line %d)", s.prefix, s.line)
	}
	e := p.fail(origin{}, "", "directives of several schedulers: "+strings.Join(names, " and "),
		"say which scheduler is meant")
	e.Cause = ErrSchedulers
	return "", e
}

// strangers adds warnings about lines that look like directives but are ignored, about directives of other schedulers,
// and about a script without any directive of its own scheduler (mine).
func (p *parser) strangers(mine Scheduler) {
	for _, s := range p.sightings() {
		switch {
		case s.scheduler != mine && s.line > 0 && mine == Slurm && s.scheduler != GridEngine:
			p.warn(origin{line: s.line}, "%s lines are not counted here, but sbatch obeys those that it understands: "+
				"use --ignore-pbs, or remove them", s.prefix)
		case s.scheduler != mine && s.line > 0:
			p.warn(origin{line: s.line}, "%s lines are ignored", s.prefix)
		case s.scheduler == mine && s.line == 0 && s.ignoredLine == 0:
			p.warn(origin{}, "there is no %s line: only the command line counts", s.prefix)
		case s.scheduler == mine && s.ignoredLine > p.command():
			p.warn(origin{line: s.ignoredLine}, "ignored, for it stands after the first command")
		}
	}
}
