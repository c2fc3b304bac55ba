package api

import (
	"github.com/danielgtaylor/huma/v2"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/api/access"
)

func describeAdmin(doc *huma.OpenAPI) {
	if doc.Components.SecuritySchemes == nil {
		doc.Components.SecuritySchemes = map[string]*huma.SecurityScheme{}
	}
	doc.Components.SecuritySchemes[adminScheme] = &huma.SecurityScheme{
		Type: "http", Scheme: "bearer",
		Description: "the content of the daemon's admin_token_file, or a token of the role admin",
	}
}

// guardOf returns the guard of the options, or a default one.
func guardOf(o *Options) *access.Guard {
	if o.Guard != nil {
		return o.Guard
	}
	token := ""
	if o.Admin != nil {
		token = o.Admin.Token
	}
	g, err := access.New(access.Options{AdminToken: token, Policy: access.Default(), Log: o.Log, Registry: o.Registry})
	if err != nil { // cannot happen: the guard of these options reads no files
		o.Log.Error("nobody may ask anything", zap.Error(err))
	}
	return g
}
