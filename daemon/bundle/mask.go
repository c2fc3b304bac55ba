package bundle

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/waitcast/waitcast/api/wire"
)

// masked replaces a text that may contain names.
const masked = "***"

// masker replaces names by pseudonyms. A name has the same pseudonym in all files of a bundle. The pseudonyms are not
// stored elsewhere.
type masker struct {
	given map[string]string // the pseudonyms by kind and name
	count map[string]int    // the number of pseudonyms by kind
	// members are the JSON member names of the answers in a bundle. Any other member name is data and is masked.
	members map[string]bool
}

func newMasker() *masker {
	m := &masker{given: map[string]string{}, count: map[string]int{}, members: map[string]bool{}}
	for _, t := range []reflect.Type{
		reflect.TypeFor[wire.Queues](), reflect.TypeFor[wire.Models](), reflect.TypeFor[wire.Accuracy](),
		reflect.TypeFor[wire.LogLevel](),
	} {
		m.learn(t)
	}
	return m
}

// learn records the member names of a type of answer.
func (m *masker) learn(t reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		m.learn(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name != "" && name != "-" {
				m.members[name] = true
			}
			m.learn(f.Type)
		}
	}
}

// level matches the level of a quantile as text. Some answers have members whose name is a level.
var level = regexp.MustCompile(`^[0-9]*\.[0-9]+$`)

// name returns the pseudonym of a name, for example queue-2 for a name of the kind queue. It returns the empty name
// unchanged.
func (m *masker) name(kind, name string) string {
	if name == "" {
		return ""
	}
	key := kind + "\x00" + name
	if m.given[key] == "" {
		m.count[kind]++
		m.given[key] = fmt.Sprintf("%s-%d", kind, m.count[kind])
	}
	return m.given[key]
}

// source returns the pseudonym of a source's full name, "cluster/name".
func (m *masker) source(name string) string {
	cluster, source, ok := strings.Cut(name, "/")
	if !ok {
		return m.sourceName(name)
	}
	return m.name("cluster", cluster) + "/" + m.sourceName(source)
}

// sourceName returns the name of a source unchanged if it is a format, which is the default name, or the name of
// imports. Otherwise it returns a pseudonym.
func (m *masker) sourceName(name string) string {
	switch name {
	case "pbs", "swf", "slurm-jobcomp", "slurm-log", "slurm-sacct", "slurm-squeue", "slurm-facts", "sge-accounting",
		"sge-reporting", "pbs-facts", "gridengine-facts", "gridengine-qstat", "lsf-events", "lsf-acct", "import":
		return name
	}
	return m.name("source", name)
}

// wellKnown matches elements of paths that every machine or every installation of a scheduler has. It includes the
// numbers and endings of rotated files.
var wellKnown = regexp.MustCompile(
	`^(?:etc|var|log|logs|lib|spool|opt|srv|home|usr|bin|sbin|local|share|state|tmp|run|data|mnt|` +
		`pbs|torque|server_priv|accounting|slurm|slurmctld|slurmctld\.log|slurm_jobcomp\.log|jobcomp|jobcomp\.log|` +
		`slurmrestd|slurmrestd\.sock|` +
		`sge|gridengine|default|common|reporting|lsf|work|logdir|lsb\.acct|lsb\.events|` +
		`waitcast|waitcastd\.yaml|waitcast\.db|admin-token|squeue|sinfo|scontrol|ssh|sudo|docker|podman|\*|` +
		`[12][0-9]{7})` +
		`(?:[.-][0-9]{1,8}|\.\*)?(?:\.gz)?$`)

// path masks the elements of a path that wellKnown does not match.
func (m *masker) path(path string) string {
	if path == "" {
		return ""
	}
	elements := strings.Split(filepath.ToSlash(path), "/")
	for i, e := range elements {
		if e != "" && e != "." && e != ".." && !wellKnown.MatchString(e) {
			elements[i] = m.name("path", e)
		}
	}
	return strings.Join(elements, "/")
}

// kept reports whether the text of an answer's member with this name stays as it is, because it is one of a few words
// of the program.
func kept(member string) bool {
	switch member {
	case "class", "law", "chosen", "made", "method", "size_class", "policy", "policy_source", "binds", "attribute",
		"level", "configured", "first", "days":
		return true
	}
	return false
}

// word matches the texts that may stay as they are, if they are values of a member for which kept returns true.
var word = regexp.MustCompile(`^[a-z0-9_][a-z0-9_.+ -]{0,63}$`)

// value masks an answer. It keeps numbers, instants and truth values. It replaces names by pseudonyms, whose kind
// depends on the member. It masks all other text.
func (m *masker) value(member string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, inner := range v {
			name := key
			if !m.members[key] && !level.MatchString(key) {
				name = m.name("member", key)
			}
			out[name] = m.value(key, inner)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, inner := range v {
			out[i] = m.value(member, inner)
		}
		return out
	case string:
		return m.text(member, v)
	}
	return v // keep numbers, true, false and null
}

func (m *masker) text(member, text string) string {
	if text == "" {
		return ""
	}
	switch member {
	case "cluster":
		return m.name("cluster", text)
	case "queue", "queues", "name", "unseen_queues", "unconfigured_queues":
		// The name is the name of a queue or a pool: no answer in a bundle has the name of a job.
		return m.name("queue", text)
	case "pool":
		return m.name("queue", text)
	case "source":
		return m.source(text)
	case "path":
		return m.path(text)
	}
	if _, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return text
	}
	if kept(member) && word.MatchString(strings.ToLower(text)) {
		return text
	}
	return masked
}

// json masks a JSON answer.
func (m *masker) json(raw []byte) ([]byte, error) {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, err
	}
	return indented(m.value("", v))
}

func indented(v any) ([]byte, error) {
	out, err := json.MarshalIndent(v, "", "  ")
	return append(out, '\n'), err
}
