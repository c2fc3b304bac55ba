package jobscript

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// pbsOptions are the options of qsub of OpenPBS 20 (src/cmds/qsub_sup.c) and of Torque, qsub(1B). The options that
// this package uses have a name.
var pbsOptions = [...]option{
	{'a', "begin", needed}, {'A', "account", needed}, {'b', "", needed}, {'c', "", needed}, {'C', "prefix", needed},
	{'d', "", needed},
	{'D', "", needed}, {'e', "", needed}, {'f', "", none}, {'F', "", needed}, {'h', "hold", none}, {'I', "", none},
	{'j', "", needed},
	{'J', "array", needed}, {'k', "", needed}, {'l', "resources", needed}, {'m', "", needed}, {'M', "", needed},
	{'n', "alone", none},
	{'N', "name", needed}, {'o', "", needed}, {'p', "", needed}, {'P', "project", needed}, {'q', "queue", needed},
	{'r', "", needed},
	{'R', "", needed}, {'S', "", needed}, {'t', "array", needed}, {'T', "", needed}, {'u', "", needed},
	{'v', "", needed}, {'V', "", none}, {'w', "", needed}, {'W', "attributes", needed}, {'x', "", none},
	{'X', "", none}, {'z', "", none},
}

// pbsWritten formats an option or a resource for messages.
func pbsWritten(s setting) string {
	for _, o := range pbsOptions {
		if o.key() == s.name {
			return strings.TrimRight("-"+string(o.letter)+" "+s.value, " ")
		}
	}
	if name, ok := strings.CutPrefix(s.name, "W:"); ok {
		return "-W " + name + "=" + s.value
	}
	return "-l " + strings.TrimPrefix(s.name, "l:") + "=" + s.value
}

// pbs reads the script in the same way as qsub of PBS: first each directive separately, then the command line.
func (p *parser) pbs() (Request, error) {
	args := &gnu{p: p, options: pbsOptions[:]}
	if err := args.parse(p.args()); err != nil {
		return Request{}, err
	}
	prefix := "#PBS"
	if s, ok := p.opts.Env["PBS_DPREFIX"]; ok {
		prefix = s
	}
	for _, s := range args.all {
		if s.name == "prefix" {
			prefix = s.value
		}
	}
	script, err := p.pbsScript(prefix)
	if err != nil {
		return Request{}, err
	}
	above, err := p.pbsSpread(args.all)
	if err != nil {
		return Request{}, err
	}
	return p.pbsRequest(p.pbsKeep(script, above))
}

// pbsScript reads the directives before the first command. Blanks may precede a directive. A backslash at its end
// joins the next line to it.
func (p *parser) pbsScript(prefix string) ([]setting, error) {
	var all []setting
	for i := 0; i < len(p.lines); i++ {
		line := strings.TrimRight(p.lines[i], blanks)
		trimmed := strings.TrimLeft(line, blanks)
		if prefix == "" || !strings.HasPrefix(trimmed, prefix) {
			if executable(line, trimmed) {
				break
			}
			continue
		}
		at := origin{line: i + 1}
		p.directive(i + 1)
		var text strings.Builder
		part, more := strings.CutSuffix(trimmed[len(prefix):], `\`)
		for ; more && i+1 < len(p.lines); i++ {
			text.WriteString(part)
			part, more = strings.CutSuffix(strings.TrimRight(p.lines[i+1], blanks), `\`)
		}
		text.WriteString(part)
		words, err := p.words(text.String(), at, quoting{escape: true})
		if err != nil {
			return nil, err
		}
		g := &gnu{p: p, options: pbsOptions[:]}
		if err := g.parse(words); err != nil {
			return nil, err
		}
		spread, err := p.pbsSpread(g.all)
		if err != nil {
			return nil, err
		}
		all = append(all, spread...)
	}
	return all, nil
}

// executable reports whether PBS treats the line as a command.
func executable(line, trimmed string) bool {
	return trimmed != "" && line[0] != ':' && trimmed[0] != '#'
}

// pbsSpread converts -l and -W to one setting for each resource or attribute: "l:walltime" and "W:depend".
func (p *parser) pbsSpread(all []setting) ([]setting, error) {
	var spread []setting
	for _, s := range all {
		prefix := ""
		switch s.name {
		case "resources":
			prefix = "l:"
		case "attributes":
			prefix = "W:"
		default:
			spread = append(spread, s)
			continue
		}
		for _, item := range unquotedCommas(s.value) {
			name, value, _ := strings.Cut(item, "=")
			name, value = strings.TrimSpace(name), strings.Trim(strings.TrimSpace(value), `"'`)
			if name == "" {
				return nil, p.fail(s.at, pbsWritten(s), "a name is missing", "write name=value, separated by commas")
			}
			spread = append(spread, setting{name: prefix + name, value: value, at: s.at})
		}
	}
	return spread, nil
}

// unquotedCommas splits text at commas outside quotes.
func unquotedCommas(text string) []string {
	var items []string
	quote, from := byte(0), 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote == 0 && c == ',':
			items, from = append(items, text[from:i]), i+1
		}
	}
	return append(items, text[from:])
}

// pbsKeep selects the settings that apply. If a script gives the same resource several times, the first applies; for
// other options the last applies. Settings of the command line override those of the script.
func (p *parser) pbsKeep(script, above []setting) settings {
	kept := settings{}
	for _, s := range script {
		old, ok := kept[s.name]
		switch {
		case !ok:
		case old.value == s.value:
			continue
		case strings.HasPrefix(s.name, "l:"):
			p.warn(s.at, "%s is ignored: of a resource the first directive counts, %s on line %d", clip(pbsWritten(s)),
				clip(pbsWritten(old)), old.at.line)
			continue
		default:
			p.overridden(old, s, pbsWritten)
		}
		kept[s.name] = s
	}
	for _, s := range above {
		kept[s.name] = s
	}
	return kept
}

// pbsRequest creates the request from the settings that apply.
func (p *parser) pbsRequest(kept settings) (Request, error) {
	account := kept.value("account")
	if account == "" {
		account = kept.value("project")
	}
	r := Request{
		Name: kept.value("name"), Account: account, Begin: kept.value("begin"),
		Hold: kept.has("hold"), Dependent: kept.value("W:depend") != "", QOS: kept.value("l:qos"),
		Exclusive: kept.has("alone"),
	}
	if queue, _, _ := strings.Cut(kept.value("queue"), "@"); queue != "" {
		r.Queues = []string{queue}
	}
	if err := p.pbsArray(&r, kept); err != nil {
		return Request{}, err
	}
	limit := "l:walltime"
	if !kept.has(limit) {
		limit = "l:max_walltime" // a job that OpenPBS may shrink
	}
	if s, ok := kept[limit]; ok {
		var err error
		if r.TimeLimit, err = pbsTime(s.value); err != nil {
			return Request{}, p.fail(s.at, pbsWritten(s), err.Error(), "write seconds, min:sec or h:m:s")
		}
	}
	s := pbsSize{p: p, kept: kept, request: &r}
	if err := s.read(); err != nil {
		return Request{}, err
	}
	return r, p.fit(&r)
}

// pbsArray parses -J (OpenPBS) and -t (Torque). Both may have several ranges.
func (p *parser) pbsArray(r *Request, kept settings) error {
	s, ok := kept["array"]
	if !ok {
		return nil
	}
	indices, limit, limited := strings.Cut(s.value, "%")
	items := strings.Split(indices, ",")
	seen := newIndexSet(len(items) > 1)
	for _, item := range items {
		from, to, step, err := indexRange(item)
		if err == nil {
			err = seen.add(from, to, step, maxTasks)
		}
		if err != nil {
			return p.fail(s.at, "array "+s.value, err.Error(), "write it as 1-100, 1-100:2 or 1-100%10")
		}
	}
	r.Tasks = seen.size
	if m, ok := kept["W:max_run_subjobs"]; ok && !limited {
		s, limit, limited = m, m.value, true
	}
	if !limited {
		return nil
	}
	n, err := positive(limit)
	if err != nil {
		return p.fail(s.at, s.value, err.Error(), "write how many tasks may run at once, from 1")
	}
	r.AtOnce = n
	return nil
}

// maxTasks is the maximum number of tasks of an array for schedulers that have no maximum of their own.
const maxTasks = 10_000_000

// pbsTime parses [[hours:]minutes:]seconds[.fraction], pbs_resources(7B). Torque also accepts days before the hours.
func pbsTime(text string) (time.Duration, error) {
	whole, fraction, has := strings.Cut(text, ".")
	if has && strings.Trim(fraction, "0123456789") != "" {
		return 0, fmt.Errorf("%q is not a fraction of a second", clip(fraction))
	}
	fields := strings.Split(whole, ":")
	units := []time.Duration{day, time.Hour, time.Minute, time.Second}
	if len(fields) > len(units) {
		return 0, errors.New("too many colons")
	}
	return addUp(fields, false, units[len(units)-len(fields):]...)
}
