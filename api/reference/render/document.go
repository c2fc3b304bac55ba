package render

import (
	"encoding/json"
)

// document is the part of an OpenAPI document that the pages show.
type document struct {
	Info struct {
		Description string `json:"description"`
	} `json:"info"`
	Tags []struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	} `json:"tags"`
	// Paths has the operations by path and method.
	Paths      map[string]map[string]*operation `json:"paths"`
	Components struct {
		Schemas map[string]*schema `json:"schemas"`
	} `json:"components"`
}

// operation is one HTTP method of one path.
type operation struct {
	ID          string      `json:"operationId"`
	Tags        []string    `json:"tags"`
	Summary     string      `json:"summary"`
	Description string      `json:"description"`
	Parameters  []parameter `json:"parameters"`
	// Security lists the alternative credentials, if they differ from those of all operations.
	Security    []map[string][]string `json:"security"`
	RequestBody content               `json:"requestBody"`
	Responses   map[string]*content   `json:"responses"`
}

// parameter is one parameter of an operation.
type parameter struct {
	Name        string `json:"name"`
	In          string `json:"in"`
	Description string `json:"description"`
	Required    bool   `json:"required"`
	Schema      schema `json:"schema"`
}

// content is a body in one or several media types.
type content struct {
	Content map[string]struct {
		Schema   schema             `json:"schema"`
		Examples map[string]example `json:"examples"`
	} `json:"content"`
}

// example is a body, and the request that it answers.
type example struct {
	Summary string          `json:"summary"`
	Value   json.RawMessage `json:"value"`
}

// schema is a type.
type schema struct {
	Ref         string             `json:"$ref"`
	Type        types              `json:"type"`
	Format      string             `json:"format"`
	Description string             `json:"description"`
	Enum        []any              `json:"enum"`
	Default     any                `json:"default"`
	Minimum     *float64           `json:"minimum"`
	Above       *float64           `json:"exclusiveMinimum"`
	Maximum     *float64           `json:"maximum"`
	OneOf       []*schema          `json:"oneOf"`
	Items       *schema            `json:"items"`
	Properties  map[string]*schema `json:"properties"`
	// Additional is the type of the values of a map, or a boolean.
	Additional json.RawMessage `json:"additionalProperties"`
	Required   []string        `json:"required"`
}

// types are the possible types of a value: one, or a list.
type types []string

// UnmarshalJSON implements json.Unmarshaler.
func (t *types) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*t = types{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(t))
}
