package api

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/waitcast/waitcast/api/wire"
)

// These are the names of the clients' security schemes in the OpenAPI description.
const (
	tokenScheme       = "token"
	certificateScheme = "certificate"
	mungeScheme       = "munge"
)

// describeAccess adds to the description the server, the licence, the security schemes and the responses to refused
// requests.
func describeAccess(doc *huma.OpenAPI) {
	doc.Servers = []*huma.Server{{URL: "/", Description: "the daemon that this description comes from"}}
	doc.Info.License = &huma.License{Name: "Apache License 2.0", Identifier: "Apache-2.0"}
	if doc.Components.SecuritySchemes == nil {
		doc.Components.SecuritySchemes = map[string]*huma.SecurityScheme{}
	}
	maps.Copy(doc.Components.SecuritySchemes, map[string]*huma.SecurityScheme{
		tokenScheme: {Type: "http", Scheme: "bearer", Description: "a token of the configuration's access rules"},
		certificateScheme: {Type: "mutualTLS",
			Description: "a client certificate that the configuration's access rules know"},
		mungeScheme: {Type: "http", Scheme: strings.ToLower(wire.MungeScheme),
			Description: "a credential of munge, new for every request, if the configuration lets munge name users"},
	})
	// By default anyone may read; access rules may require one of these schemes.
	doc.Security = []map[string][]string{{}, {tokenScheme: {}}, {certificateScheme: {}}, {mungeScheme: {}}}
	for _, path := range doc.Paths {
		for _, op := range operationsOf(path) {
			refusals(op)
		}
	}
}

// operationsOf returns the operations of a path.
func operationsOf(path *huma.PathItem) []*huma.Operation {
	return slices.DeleteFunc([]*huma.Operation{path.Get, path.Post, path.Put, path.Delete},
		func(op *huma.Operation) bool { return op == nil })
}

// refusals adds the responses by which access rules refuse requests.
func refusals(op *huma.Operation) {
	if op.Responses == nil {
		op.Responses = map[string]*huma.Response{}
	}
	for status, description := range map[string]string{
		"401": "The access rules require a credential, and it is missing or not known.",
		"403": "The access rules do not allow this client to send this request.",
		"429": "The client has sent too many requests; Retry-After has the seconds to wait.",
	} {
		if op.Responses[status] != nil {
			continue
		}
		op.Responses[status] = &huma.Response{Description: description, Content: map[string]*huma.MediaType{
			"application/problem+json": {Schema: &huma.Schema{Ref: "#/components/schemas/ErrorModel"}}}}
	}
}

// schemaPrefix is the beginning of a reference to a schema of the description.
const schemaPrefix = "#/components/schemas/"

// describeNulls marks the members of objects that may be null in the OpenAPI description. These are the maps and the
// pointers to objects that are never left out (no omitempty).
func describeNulls(doc *huma.OpenAPI) {
	registry := doc.Components.Schemas
	for name, schema := range registry.Map() {
		of := registry.TypeFromRef(schemaPrefix + name)
		if of == nil || of.Kind() != reflect.Struct {
			continue
		}
		for i := range of.NumField() {
			field := of.Field(i)
			member, options, _ := strings.Cut(field.Tag.Get("json"), ",")
			property := schema.Properties[member]
			if property == nil || strings.Contains(options, "omitempty") {
				continue
			}
			switch {
			case field.Type.Kind() == reflect.Map:
				property.Nullable = true
			case field.Type.Kind() == reflect.Pointer && property.Ref != "":
				schema.Properties[member] = &huma.Schema{Description: property.Description,
					OneOf: []*huma.Schema{{Ref: property.Ref}, {Type: "null"}}}
			}
		}
	}
}
