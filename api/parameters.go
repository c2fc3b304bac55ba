package api

import (
	"maps"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"
)

const (
	// maxText is the maximum number of characters of a text parameter that has no other bound.
	maxText = 1024
	// maxCount is the maximum of integer parameters that have no other bound. No machine has more processors.
	maxCount = 100_000_000
)

// givenTwice is the error message for a parameter that occurs several times in a query.
const givenTwice = "given more than once"

// singleQuery returns a middleware that refuses a repeated query parameter. Otherwise only one of the values would
// count, and the client could not know which.
func singleQuery(a huma.API) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		at := ctx.URL()
		query := at.Query()
		var wrong []error
		for _, name := range slices.Sorted(maps.Keys(query)) { // sorted, so that equal requests get equal answers
			if values := query[name]; len(values) > 1 {
				wrong = append(wrong, &huma.ErrorDetail{Location: "query." + name, Message: givenTwice, Value: values})
			}
		}
		if len(wrong) == 0 {
			next(ctx)
			return
		}
		// Ignored: the client may be gone.
		_ = huma.WriteErr(a, ctx, http.StatusUnprocessableEntity, "validation failed", wrong...)
	}
}

// boundParameters adds a bound to the schema of every parameter, other than a header, that has none. huma also
// validates requests by these schemas.
func boundParameters(doc *huma.OpenAPI) {
	for _, path := range doc.Paths {
		for _, op := range operationsOf(path) {
			for _, p := range op.Parameters {
				if p.In != "header" && p.Schema != nil {
					bound(p.Schema)
				}
			}
		}
	}
}

// bound adds a maximum length to the schema of a text, or a maximum to that of an integer, if it has none.
func bound(s *huma.Schema) {
	switch {
	case s.Type == huma.TypeString && s.MaxLength == nil && len(s.Enum) == 0:
		most := maxText
		s.MaxLength = &most
	case s.Type == huma.TypeInteger && s.Maximum == nil:
		most := float64(maxCount)
		s.Maximum = &most
	default:
		return
	}
	s.PrecomputeMessages()
}
