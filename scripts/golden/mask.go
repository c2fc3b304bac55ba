package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// masked replaces prose.
const masked = "~"

// maskJSON normalizes a JSON document. Members are in order of their names, and numbers keep their digits. "~" replaces
// every string with a space in it, because messages are prose and will be rewritten. The values of the members whose
// names are in drop become "-", because they depend on the wall clock or on the machine.
func maskJSON(text []byte, drop ...string) string {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var out strings.Builder
	for decoder.More() { // JSON lines too
		var v any
		if err := decoder.Decode(&v); err != nil {
			return fmt.Sprintf("no JSON: %s\n", digits(string(text)))
		}
		data, err := json.MarshalIndent(maskValue(v, drop), "", " ")
		if err != nil {
			return err.Error()
		}
		out.Write(data)
		out.WriteByte('\n')
	}
	return out.String()
}

func maskValue(v any, drop []string) any {
	switch v := v.(type) {
	case string:
		if strings.ContainsAny(v, " \n") {
			return masked
		}
	case []any:
		for i := range v {
			v[i] = maskValue(v[i], drop)
		}
	case map[string]any:
		for key := range v {
			v[key] = maskValue(v[key], drop)
		}
		for _, key := range drop {
			if _, ok := v[key]; ok {
				v[key] = "-"
			}
		}
	}
	return v
}

// withoutProse removes descriptions, summaries, titles and the version of the program from an OpenAPI document.
func withoutProse(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = withoutProse(v[i])
		}
	case map[string]any:
		for key, child := range v {
			if _, isText := child.(string); isText && (key == "description" || key == "summary" || key == "title") {
				delete(v, key)
				continue
			}
			v[key] = withoutProse(child)
		}
		if info, ok := v["info"].(map[string]any); ok {
			delete(info, "version")
		}
	}
	return v
}

// digits keeps only the words of a text that contain a digit, line by line. All other words are prose.
func digits(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		n := 0
		for _, word := range strings.Fields(line) {
			if !strings.ContainsAny(word, "0123456789") {
				continue
			}
			if n++; n > 1 {
				out.WriteByte(' ')
			}
			out.WriteString(strings.Trim(word, `.,;:()[]"'`))
		}
		if n > 0 {
			out.WriteByte('\n')
		}
	}
	return out.String()
}
