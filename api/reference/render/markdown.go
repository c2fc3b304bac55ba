package render

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/waitcast/waitcast/api/reference"
)

// jsonMedia is the media type whose examples are shown.
const jsonMedia = "application/json"

// Markdown returns the reference of the interface: the operations with their examples, then the objects. Links within
// it lead to its own headings. openAPI is the OpenAPI document in JSON. It returns an error if an operation has no
// text.
func Markdown(openAPI []byte) ([]byte, error) {
	doc := new(document)
	if err := json.Unmarshal(openAPI, doc); err != nil {
		return nil, fmt.Errorf("the OpenAPI document: %w", err)
	}
	page, err := doc.operations()
	if err != nil {
		return nil, err
	}
	return append(page, doc.objects()...), nil
}

// endpoint is the path and method of an operation.
type endpoint struct {
	method, path string
	operation    *operation
}

// heading returns the heading of an operation.
func (p endpoint) heading() string { return p.method + " " + p.path }

// endpoints returns the operations by their ids.
func (d *document) endpoints() map[string]endpoint {
	out := map[string]endpoint{}
	for path, methods := range d.Paths {
		for method, op := range methods {
			out[op.ID] = endpoint{strings.ToUpper(method), path, op}
		}
	}
	return out
}

// operations returns the part of the reference about the operations.
func (d *document) operations() ([]byte, error) {
	var out bytes.Buffer
	byID := d.endpoints()
	fmt.Fprintf(&out, "# HTTP interface\n\n")
	intro, common, _ := strings.Cut(d.Info.Description, "\n## ")
	fmt.Fprintf(&out, "%s\n## Operations\n\n| path | method | answers |\n|---|---|---|\n", pageLinks(intro))
	for _, group := range reference.Groups() {
		for _, id := range group.Operations {
			p, ok := byID[id]
			if !ok {
				continue // a daemon without a ledger or administrators has fewer operations
			}
			fmt.Fprintf(&out, "| `%s` | [%s](#%s) | %s |\n", p.path, p.method, anchor(p.heading()),
				p.operation.summary())
			if !slices.Equal(p.operation.Tags, []string{group.Tag}) {
				return nil, fmt.Errorf("%s has the tags %v, want %s", id, p.operation.Tags, group.Tag)
			}
		}
	}
	fmt.Fprintf(&out, "\nThe [objects](#%s) are the members of every body and answer.\n\n## %s", anchor(objectsHeading),
		pageLinks(common))
	for _, tag := range d.Tags {
		if _, text, ok := strings.Cut(tag.Description, "\n\n"); ok {
			fmt.Fprintf(&out, "\n%s", pageLinks(text))
		}
		for _, group := range reference.Groups() {
			if group.Tag != tag.Name {
				continue
			}
			for _, id := range group.Operations {
				p, ok := byID[id]
				if !ok {
					continue
				}
				if err := p.write(&out); err != nil {
					return nil, fmt.Errorf("%s: %w", id, err)
				}
			}
		}
	}
	return out.Bytes(), nil
}

// summary returns the summary of an operation, and which callers may use it.
func (o *operation) summary() string {
	if len(o.Security) > 0 {
		return o.Summary + "; administrators only"
	}
	return o.Summary
}

// write writes the section of an operation.
func (p endpoint) write(out *bytes.Buffer) error {
	op := p.operation
	if op.Description == "" {
		return fmt.Errorf("api/reference/%s.md is missing", op.ID)
	}
	fmt.Fprintf(out, "\n## %s\n\n", p.heading())
	if strings.HasSuffix(op.Summary, "?") {
		fmt.Fprintf(out, "%s\n", op.Summary)
	} else {
		fmt.Fprintf(out, "%s.\n", op.Summary)
	}
	writeParameters(out, op.Parameters)
	if err := p.writeExample(out); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%s", pageLinks(op.Description))
	if names := op.objects(); len(names) > 0 {
		fmt.Fprintf(out, "\nAll members: %s.\n", strings.Join(names, ", "))
	}
	return nil
}

// writeParameters writes the table of the parameters that are not headers.
func writeParameters(out *bytes.Buffer, all []parameter) {
	all = slices.DeleteFunc(slices.Clone(all), func(p parameter) bool { return p.In == "header" })
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(out, "\n| parameter | values | meaning |\n|---|---|---|\n")
	for _, p := range all {
		values := p.Schema.values()
		if p.Required && p.In == "query" {
			values += ", required"
		}
		if p.In == "path" {
			values += ", in the path"
		}
		fmt.Fprintf(out, "| `%s` | %s | %s |\n", p.Name, values, cell(p.Description))
	}
}

// writeExample writes the example of an operation, if there is one.
func (p endpoint) writeExample(out *bytes.Buffer) error {
	media := func(c *content) (example, bool) {
		if c == nil {
			return example{}, false
		}
		e, ok := c.Content[jsonMedia].Examples[reference.ExampleName]
		return e, ok
	}
	answer, ok := media(p.operation.Responses["200"])
	if !ok {
		return nil
	}
	shown, err := layout(answer.Value)
	if err != nil {
		return err
	}
	body, ok := media(&p.operation.RequestBody)
	if !ok {
		fmt.Fprintf(out, "\nThe answer to\n\n    %s\n\n```json\n%s```\n", answer.Summary, shown)
		return nil
	}
	asked, err := layout(body.Value)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nTo\n\n    %s\n\n```json\n%s```\n", answer.Summary, asked)
	fmt.Fprintf(out, "\nthe answer is\n\n```json\n%s```\n", shown)
	return nil
}

// objects returns links to the objects that an operation takes and returns.
func (o *operation) objects() []string {
	var out []string
	add := func(what string, c *content) {
		if c == nil {
			return
		}
		for _, media := range slices.Sorted(maps.Keys(c.Content)) {
			s := c.Content[media].Schema
			if name := s.object(); name != "" {
				out = append(out, fmt.Sprintf("%s %s", what, objectLink(name)))
			}
		}
	}
	add("body", &o.RequestBody)
	add("answer", o.Responses["200"])
	return out
}

// objectsHeading is the heading of the part about objects; objectHeading precedes the name of an object in its heading.
const objectsHeading, objectHeading = "Objects", "Object "

// objectLink returns a link to an object.
func objectLink(name string) string {
	return fmt.Sprintf("[%s](#%s)", name, anchor(objectHeading+name))
}

// objects returns the part of the reference about the objects.
func (d *document) objects() []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "\n## %s\n\nThe members of all bodies and answers, by the names of their schemas in "+
		"`/openapi.json`.\n", objectsHeading)
	for _, name := range slices.Sorted(maps.Keys(d.Components.Schemas)) {
		s := d.Components.Schemas[name]
		fmt.Fprintf(&out, "\n### %s%s\n\n", objectHeading, name)
		if s.Description != "" {
			fmt.Fprintf(&out, "%s\n\n", s.Description)
		}
		fmt.Fprintf(&out, "| member | values | meaning |\n|---|---|---|\n")
		for _, member := range slices.Sorted(maps.Keys(s.Properties)) {
			of := s.Properties[member]
			values := of.values()
			if !slices.Contains(s.Required, member) {
				values += ", may be left out"
			}
			fmt.Fprintf(&out, "| `%s` | %s | %s |\n", member, values, cell(of.Description))
		}
	}
	return out.Bytes()
}

// object returns the name of the object type of a value, empty if it has another type.
func (s *schema) object() string { return s.Ref[strings.LastIndex(s.Ref, "/")+1:] }

// values describes which values a type has.
func (s *schema) values() string {
	if name := s.object(); name != "" {
		return objectLink(name)
	}
	if len(s.OneOf) > 0 {
		var names []string
		for _, one := range s.OneOf {
			names = append(names, one.values())
		}
		return strings.Join(names, " or ")
	}
	out := strings.Join(s.Type, " or ")
	switch {
	case s.Items != nil:
		out = strings.Replace(out, "array", "list of "+s.Items.values(), 1)
	case len(s.Additional) > 1 && s.Additional[0] == '{':
		out = "by name"
	case s.Format == "date-time":
		out = strings.Replace(out, "string", "instant", 1)
	case len(s.Enum) > 0:
		out = list(s.Enum)
	}
	if out == "" {
		out = "any"
	}
	if bounds := s.bounds(); bounds != "" {
		out += ", " + bounds
	}
	if s.Default != nil {
		out += fmt.Sprintf(", default `%v`", s.Default)
	}
	return out
}

// bounds describes the limits of a number. Numbers without limits of their own have the limit that the text of the
// page states.
func (s *schema) bounds() string {
	var out []string
	if s.Minimum != nil && *s.Minimum != 0 {
		out = append(out, "from "+number(*s.Minimum))
	}
	if s.Above != nil {
		out = append(out, "above "+number(*s.Above))
	}
	const unbounded = 100_000_000
	if s.Maximum != nil && *s.Maximum != unbounded {
		out = append(out, "to "+number(*s.Maximum))
	}
	return strings.Join(out, " ")
}

// number formats a bound.
func number(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// list formats the values of an enumeration.
func list(values []any) string {
	var out []string
	for _, v := range values {
		out = append(out, fmt.Sprintf("`%v`", v))
	}
	return strings.Join(out, ", ")
}

// cell returns a text as a cell of a table.
func cell(text string) string {
	return cmp.Or(strings.ReplaceAll(strings.ReplaceAll(text, "|", `\|`), "\n", " "), "-")
}

// pageLinks returns a description whose links to the reference lead to its own headings.
func pageLinks(text string) string {
	return strings.ReplaceAll(text, "]("+reference.Path+"#", "](#")
}

// anchor returns the anchor that Markdown creates for a heading.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', '0' <= r && r <= '9', 'a' <= r && r <= 'z':
			return r
		}
		return -1
	}, strings.ToLower(heading))
}
