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

// finiteQuery returns a middleware that refuses a number of the query that is NaN or infinite: NaN passes every bound
// of the schema, and JSON has no such number to answer with.
func finiteQuery(a huma.API) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		for _, p := range ctx.Operation().Parameters {
			if p.In != "query" || p.Schema == nil || p.Schema.Type != huma.TypeNumber {
				continue
			}
			text := ctx.Query(p.Name)
			x, err := strconv.ParseFloat(text, 64)
			if errors.Is(err, strconv.ErrRange) || err == nil && (math.IsNaN(x) || math.IsInf(x, 0)) {
				_ = huma.WriteErr(a, ctx, http.StatusUnprocessableEntity, "validation failed", // the client may be gone
					&huma.ErrorDetail{Location: "query." + p.Name, Message: "expected a finite number", Value: text})
				return
			}
		}
		next(ctx)
	}
}

// jsonFormats reads and writes JSON. A number that no float64 can hold becomes a text before it is validated, so that
// the schema's validation refuses it by its name.
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

// decodeNumbers decodes JSON whose numbers may be too large.
func decodeNumbers(data []byte, into *any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	*into = plainNumbers(*into)
	return nil
}

// plainNumbers turns the numbers of a JSON value into float64, those that are too large into texts.
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
