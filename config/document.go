package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/waitcast/waitcast/internal/duration"
)

// document checks one YAML file against the structs, node by node, because only nodes have line numbers. Wrong nodes
// are reported and removed from the tree, so that the rest can still be decoded and checked.
type document struct {
	file string
	*problems
	// merging has the nodes that are being merged. It is needed because an anchor can contain itself.
	merging map[*yaml.Node]bool
}

// readFile returns the file's settings without the wrong ones.
func readFile(file string, p *problems) map[string]any {
	d := &document{file, p, map[*yaml.Node]bool{}}
	p.places[""] = place{file: file}
	content, err := readBounded(file)
	if err != nil {
		p.add(&Error{Key: "", Problem: fmt.Sprintf("the configuration cannot be read: %v", err), Err: err})
		return nil
	}
	root := d.parse(content)
	if root == nil {
		return nil
	}
	d.group(root, "", reflect.TypeFor[Config]())
	settings := map[string]any{}
	if err := root.Decode(&settings); err != nil {
		d.syntax(err, content)
		return nil
	}
	return settings
}

// maxFile is the maximum size of a configuration file in bytes. A checked file takes many times as much memory.
const maxFile = 1 << 20

func readBounded(path string) ([]byte, error) {
	file, err := os.Open(path) //nolint:gosec // the administrator names it
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // nothing was written
	content, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(content) > maxFile {
		err = fmt.Errorf("%s has more than %d bytes: is it a configuration file?", path, maxFile)
	}
	return content, err
}

// parse returns the mapping in the file. It returns nil if the file has no mapping.
func (d *document) parse(content []byte) *yaml.Node {
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	var doc, second yaml.Node
	if err := decoder.Decode(&doc); err != nil {
		if !errors.Is(err, io.EOF) { // an empty file has no settings
			d.syntax(err, content)
		}
		return nil
	}
	if err := decoder.Decode(&second); err == nil {
		d.wrong("", &second, "a second document begins here", "one document")
	} else if !errors.Is(err, io.EOF) {
		d.syntax(err, content)
	}
	root := resolve(doc.Content[0])
	switch {
	case root.Tag == "!!null":
		return nil
	case root.Kind != yaml.MappingNode:
		d.wrong("", root, "the file is "+describe(root), "keys and values")
		return nil
	}
	return root
}

// The errors of the YAML library have no fields, only texts. The errors of the parser, unlike those of the scanner,
// count lines from 0 and leave out line 0.
var (
	yamlLine   = regexp.MustCompile(`^line (\d+): `)
	yamlParser = regexp.MustCompile(
		`^(did not find expected (',' or|'-' indicator|key|node content|<)|found undefined tag)`)
	yamlAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced`)
)

const quotedStar = "a text that begins with * only in quotes"

// syntax reports an error of the YAML library.
func (d *document) syntax(err error, content []byte) {
	text, line := strings.TrimPrefix(err.Error(), "yaml: "), 0
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1]) // the text consists of digits; if the number is too large, line stays 0
		text = text[len(m[0]):]
	}
	if yamlParser.MatchString(text) {
		line++
	}
	e := &Error{File: d.file, Line: line, Problem: "not valid YAML: " + text, Err: err}
	switch {
	case strings.Contains(text, "cannot start any token"):
		e.Allowed = "spaces to indent, not tabs; a text that begins with a special character only in quotes"
	case strings.Contains(text, "expected alphabetic or numeric character"):
		e.Allowed = quotedStar
	}
	if m := yamlAnchor.FindStringSubmatch(text); m != nil {
		before, _, _ := bytes.Cut(content, []byte("*"+m[1]))
		e.Line = 1 + bytes.Count(before, []byte("\n"))
		e.Allowed = quotedStar
	}
	d.add(e)
}

func (d *document) wrong(key string, at *yaml.Node, problem, allowed string) {
	d.add(&Error{File: d.file, Line: at.Line, Key: key, Problem: problem, Allowed: allowed})
}

// resolve returns the node that an alias refers to.
func resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// group checks a mapping against a struct and removes wrong entries.
func (d *document) group(n *yaml.Node, prefix string, t reflect.Type) {
	fields := fieldsOf(t)
	first := map[string]int{}
	kept := n.Content[:0:0]
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := resolve(n.Content[i]), resolve(n.Content[i+1])
		key := prefix + name.Value
		if name.Tag == "!!merge" {
			d.merge(value, prefix, t)
			kept = append(kept, n.Content[i], n.Content[i+1])
			continue
		}
		f, known := lookup(fields, name.Value)
		line, twice := first[name.Value]
		switch {
		case !known:
			d.unknown(name, key, fields)
		case twice:
			d.wrong(key, name, fmt.Sprintf("set twice, first in line %d", line), "once")
		default:
			first[name.Value] = name.Line
			d.places[key] = place{d.file, name.Line}
			if d.value(value, key, f) {
				kept = append(kept, n.Content[i], n.Content[i+1])
			}
		}
	}
	n.Content = kept
}

// merge checks the mappings that a merge key adds to a mapping, against the struct of that mapping. A mapping that
// merges itself is not checked here, because the decoder refuses it.
func (d *document) merge(n *yaml.Node, prefix string, t reflect.Type) {
	if d.merging[n] {
		return
	}
	d.merging[n] = true
	defer delete(d.merging, n)
	switch n.Kind {
	case yaml.MappingNode:
		d.group(n, prefix, t)
	case yaml.SequenceNode:
		for _, item := range n.Content {
			d.merge(resolve(item), prefix, t)
		}
	}
}

func lookup(fields []field, name string) (field, bool) {
	for _, f := range fields {
		if f.name == name {
			return f, true
		}
	}
	return field{}, false
}

// unknown reports an unknown key, with the most similar known key.
func (d *document) unknown(at *yaml.Node, key string, fields []field) {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	problem := "unknown key"
	if n := nearest(at.Value, names); n != "" {
		problem += fmt.Sprintf(", did you mean %q?", n)
	} else {
		for _, k := range Reference() {
			if strings.HasSuffix(k.Key, "."+at.Value) {
				problem += fmt.Sprintf(", did you mean %s?", k.Key)
				break
			}
		}
	}
	d.wrong(key, at, problem, strings.Join(names, ", "))
}

// value checks the value of a key and reports whether it can be decoded.
func (d *document) value(n *yaml.Node, key string, f field) bool {
	switch {
	case n.Tag == "!!null":
		d.wrong(key, n, "has no value", f.allowed()+", or leave the key out")
	case f.isGroup() && n.Kind == yaml.MappingNode:
		d.group(n, key+".", f.Type)
		return true
	case f.isGroup():
		d.wrong(key, n, "is "+describe(n), "keys and values")
	case f.Type.Kind() == reflect.Slice && n.Kind != yaml.SequenceNode:
		d.wrong(key, n, "is "+describe(n), "a list")
	case f.isList():
		return d.list(n, key, f.Type.Elem())
	case f.Type.Kind() == reflect.Slice:
		good := true
		for i, item := range n.Content {
			good = d.scalar(resolve(item), fmt.Sprintf("%s[%d]", key, i), f.Type.Elem(), f.allowed()) && good
		}
		return good
	default:
		return d.scalar(n, key, f.Type, f.allowed())
	}
	return false
}

// list checks a list of mappings. It replaces a wrong element by an empty one, so that the others keep their positions.
func (d *document) list(n *yaml.Node, key string, t reflect.Type) bool {
	for i, item := range n.Content {
		item = resolve(item)
		at := fmt.Sprintf("%s[%d]", key, i)
		d.places[at] = place{d.file, item.Line}
		if item.Kind != yaml.MappingNode {
			d.wrong(at, item, "is "+describe(item), "keys and values")
			n.Content[i] = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
			continue
		}
		d.group(item, at+".", t)
	}
	return true
}

// scalar checks a single value, and reports whether it can be decoded. A duration is passed on as text, because a
// number of YAML could lose a part of it (0700 seconds).
func (d *document) scalar(n *yaml.Node, key string, t reflect.Type, allowed string) bool {
	problem := ""
	switch {
	case n.Kind != yaml.ScalarNode:
		problem = "is " + describe(n)
	case t == reflect.TypeFor[time.Duration]():
		if _, err := parseText(t, n.Value); err != nil {
			problem, allowed = textProblem(n.Value, t), allowed+", written as "+duration.Allowed
		}
		n.Tag, n.Style = "!!str", yaml.DoubleQuotedStyle
	case t.Kind() == reflect.String && n.Tag != "!!str":
		problem = fmt.Sprintf("%s is not text; put it in quotes", n.Value)
	case t.Kind() == reflect.Bool && n.Tag != "!!bool" && (n.Tag != "!!str" || !isSwitch(n.Value)),
		t.Kind() == reflect.Int && n.Tag != "!!int",
		t.Kind() == reflect.Float64 && n.Tag != "!!int" && n.Tag != "!!float":
		problem = textProblem(n.Value, t)
	case t.Kind() == reflect.Int && n.Decode(new(int)) != nil:
		problem = n.Value + " is out of range"
	}
	if problem != "" {
		d.wrong(key, n, problem, allowed)
	}
	return problem == ""
}

// describe returns a node in words: the kind of a mapping or a list, and the quoted text of a scalar.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "keys and values"
	case yaml.SequenceNode:
		return "a list"
	}
	return strconv.Quote(n.Value)
}

// isSwitch reports whether a text is one of the words for yes and no that YAML reads as text.
func isSwitch(text string) bool { return text == "on" || text == "off" }

// errNotText means that a type has no text form.
var errNotText = errors.New("has no text form")

// parseText parses a value of type t from the text of an environment variable or a default.
func parseText(t reflect.Type, text string) (any, error) {
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return duration.Parse(text)
	case t.Kind() == reflect.String:
		return text, nil
	case t.Kind() == reflect.Int:
		return strconv.Atoi(text)
	case t.Kind() == reflect.Float64:
		x, err := strconv.ParseFloat(text, 64)
		if err == nil && (math.IsNaN(x) || math.IsInf(x, 0)) {
			err = strconv.ErrRange
		}
		return x, err
	case t.Kind() == reflect.Bool && isSwitch(text):
		return text == "on", nil
	case t.Kind() == reflect.Bool:
		return strconv.ParseBool(text)
	}
	return nil, errNotText
}

// textProblem returns the message for a text that is not a value of type t.
func textProblem(text string, t reflect.Type) string {
	what := map[reflect.Kind]string{
		reflect.Int: "a whole number", reflect.Float64: "a number", reflect.Bool: "on or off",
		reflect.Int64: "a duration",
	}[t.Kind()]
	return fmt.Sprintf("%q is not %s", text, what)
}
