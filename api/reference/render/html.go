// Package render makes the reference of the HTTP interface, as Markdown and as a page in HTML, of the OpenAPI document.
package render

import (
	"bytes"
	"fmt"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
)

// HTML returns the reference as a page that needs no script and nothing from elsewhere but a style sheet: the address
// style. The errors are those of Markdown.
func HTML(openAPI []byte, style string) ([]byte, error) {
	text, err := Markdown(openAPI)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>waitcast: HTTP interface</title><link rel="stylesheet" href="%s"></head><body class="reference"><main>
`, style)
	md := goldmark.New(goldmark.WithExtensions(extension.Table), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	context := parser.WithContext(parser.NewContext(parser.WithIDs(headingIDs{})))
	if err := md.Convert(text, &out, context); err != nil {
		return nil, fmt.Errorf("the reference of the interface: %w", err)
	}
	out.WriteString("</main></body></html>\n")
	return out.Bytes(), nil
}

// headingIDs gives headings the anchors that links within the reference lead to.
type headingIDs struct{}

// Generate implements parser.IDs.
func (headingIDs) Generate(value []byte, _ ast.NodeKind) []byte { return []byte(anchor(string(value))) }

// Put implements parser.IDs.
func (headingIDs) Put([]byte) {}
