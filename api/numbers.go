package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
)

// finiteQuery returns a middleware that refuses a number of the query that is NaN or infinite. NaN passes every bound
// of the schema, and JSON cannot represent it in an answer.
func finiteQuery(a huma.API) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		for _, p := range ctx.Operation().Parameters {
			if p.In != "query" || p.Schema == nil || p.Schema.Type != huma.TypeNumber {
				continue
			}
			text := ctx.Query(p.Name)
			x, err := strconv.ParseFloat(text, 64)
			if errors.Is(err, strconv.ErrRange) || err == nil && (math.IsNaN(x) || math.IsInf(x, 0)) {
				// Ignored: the client may be gone.
				_ = huma.WriteErr(a, ctx, http.StatusUnprocessableEntity, "validation failed",
					&huma.ErrorDetail{Location: "query." + p.Name, Message: "expected a finite number", Value: text})
				return
			}
		}
		next(ctx)
	}
}

// jsonFormats returns the formats by which huma reads and writes JSON. A number outside the range of float64 is
// converted to a text before validation, so that the validation refuses the field by name.
func jsonFormats() map[string]huma.Format {
	out := maps.Clone(huma.DefaultFormats)
	for name, format := range out {
		out[name] = huma.Format{Marshal: format.Marshal, Unmarshal: func(data []byte, v any) error {
			err := format.Unmarshal(data, v)
			into, plain := v.(*any)
			var kind *json.UnmarshalTypeError
			if !plain || !errors.As(err, &kind) {
				return err
			}
			return decodeNumbers(data, into)
		}}
	}
	return out
}

// decodeNumbers decodes JSON. A number that is too large for float64 becomes a text.
func decodeNumbers(data []byte, into *any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	*into = plainNumbers(*into)
	return nil
}

// plainNumbers converts each number in a decoded JSON value to float64, or to a text if it is too large for that.
func plainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if x, err := v.Float64(); err == nil {
			return x
		}
		return v.String()
	case []any:
		for i := range v {
			v[i] = plainNumbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = plainNumbers(v[k])
		}
	}
	return v
}

// duplicateMember returns the name of a member that occurs twice in one object of a JSON text, empty if there is none.
// For an invalid text it returns empty, because the decoder reports the error.
func duplicateMember(data []byte) string {
	decoder := json.NewDecoder(bytes.NewReader(data))
	var open []map[string]bool // for each enclosing object its members so far; nil for an array
	key := false               // the next text may be the name of a member
	for {
		token, err := decoder.Token()
		if err != nil {
			return ""
		}
		inObject := len(open) > 0 && open[len(open)-1] != nil
		switch token := token.(type) {
		case json.Delim:
			switch token {
			case '{':
				open, key = append(open, map[string]bool{}), true
				continue
			case '[':
				open, key = append(open, nil), false
				continue
			}
			open = open[:len(open)-1]
		case string:
			if inObject && key {
				members := open[len(open)-1]
				if members[token] {
					return token
				}
				members[token], key = true, false
				continue
			}
		}
		key = len(open) > 0 && open[len(open)-1] != nil // after a value the name of a member may follow
	}
}
