package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// widest is the maximum number of characters in a line of an example.
const widest = 118

// layout formats JSON. A list or an object that fits in one line is in one line. Any other has a line for each
// element.
func layout(value json.RawMessage) ([]byte, error) {
	var out bytes.Buffer
	if err := writeValue(&out, value, "", 0); err != nil {
		return nil, fmt.Errorf("an example: %w", err)
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// element is one element of a list, or one member of an object.
type element struct {
	name  json.RawMessage // nil in a list
	value json.RawMessage
}

// writeValue writes a value. taken is the number of other characters in its line, without the indent.
func writeValue(out *bytes.Buffer, value json.RawMessage, indent string, taken int) error {
	line, err := oneLine(value)
	if err != nil {
		return err
	}
	outermost := indent == "" && taken == 0
	if len(indent)+taken+len(line) <= widest && !outermost || line[0] != '{' && line[0] != '[' || len(line) == 2 {
		out.WriteString(line)
		return nil
	}
	elements, err := elementsOf(value)
	if err != nil {
		return err
	}
	out.WriteByte(line[0])
	for i, e := range elements {
		if i > 0 {
			out.WriteByte(',')
		}
		inner := indent + "  "
		out.WriteString("\n" + inner)
		used := 1 // for the comma after the value
		if e.name != nil {
			fmt.Fprintf(out, "%s: ", e.name)
			used += len(e.name) + 2
		}
		if err := writeValue(out, e.value, inner, used); err != nil {
			return err
		}
	}
	out.WriteString("\n" + indent + line[len(line)-1:])
	return nil
}

// oneLine returns a value in one line, with spaces after commas and colons.
func oneLine(value json.RawMessage) (string, error) {
	elements, err := elementsOf(value)
	if err != nil || elements == nil {
		return strings.TrimSpace(string(value)), err
	}
	trimmed := bytes.TrimSpace(value)
	parts := make([]string, 0, len(elements))
	for _, e := range elements {
		part, err := oneLine(e.value)
		if err != nil {
			return "", err
		}
		if e.name != nil {
			part = string(e.name) + ": " + part
		}
		parts = append(parts, part)
	}
	return string(trimmed[0]) + strings.Join(parts, ", ") + string(trimmed[len(trimmed)-1]), nil
}

// elementsOf returns the elements of a list or the members of an object, in their order; nil for any other value.
func elementsOf(value json.RawMessage) ([]element, error) {
	decoder := json.NewDecoder(bytes.NewReader(value))
	opening, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	if _, ok := opening.(json.Delim); !ok {
		return nil, nil
	}
	elements := []element{}
	for decoder.More() {
		var e element
		if opening == json.Delim('{') {
			name, err := decoder.Token() // Decode cannot read a member's name
			if err != nil {
				return nil, err
			}
			if e.name, err = json.Marshal(name); err != nil {
				return nil, err
			}
		}
		if err := decoder.Decode(&e.value); err != nil {
			return nil, err
		}
		elements = append(elements, e)
	}
	return elements, nil
}
