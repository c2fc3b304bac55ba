// Package reference holds the prose of the HTTP interface: a description of every operation, in Markdown, and examples.
// The OpenAPI document carries both, and the daemon serves a page that is made of that document (package render).
package reference

import (
	"embed"
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/danielgtaylor/huma/v2"
)

// texts are the texts of the interface: overview.md, a page for each tag that needs one, and for each operation a
// description (ID.md) and perhaps an example (ID.json).
//
//go:embed *.md *.json
var texts embed.FS //nolint:gochecknoglobals // what go:embed needs; nothing writes it

// Pages is the address that precedes the links in the descriptions.
const Pages = "https://github.com/waitcast/waitcast/blob/main/docs/"

// Path is the path of the page that the daemon serves, to which links within the texts lead.
const Path = "/docs"

// Group is the operations of one tag.
type Group struct {
	// Tag is the name of the group in the OpenAPI document.
	Tag string
	// Summary is a description of the group in one sentence.
	Summary string
	// Text is the name of the file with additional text beside the operations; empty if there is none.
	Text string
	// Operations are the ids of the group's operations, in the order of the page.
	Operations []string
}

// Groups returns all operations by tag, in the order of the page.
func Groups() []Group {
	return []Group{
		{Tag: "waits", Summary: "Forecasts for a job that somebody may submit.",
			Operations: []string{"get-wait", "post-wait", "post-size", "get-watch", "get-now", "get-when"}},
		{Tag: "waiting jobs", Summary: "Forecasts for the jobs that wait.",
			Operations: []string{"get-jobs", "get-job", "get-me"}},
		{Tag: "load", Summary: "The load of the cluster, now and later.",
			Operations: []string{"get-forecast", "get-changes"}},
		{Tag: "past waits", Summary: "Waits of the past, and how well they were forecast.",
			Operations: []string{"get-accuracy", "get-recent-forecasts", "get-history"}},
		{Tag: "queues and models", Summary: "The queues, and the models that were learnt of them.",
			Operations: []string{"get-queues", "get-model", "get-lifetimes", "get-workload"}},
		{Tag: "health", Summary: "Whether the daemon can do all of its work.", Text: "health.md",
			Operations: []string{"get-health"}},
		{Tag: "administration", Summary: "For administrators only.", Text: "administration.md",
			Operations: []string{"import-log", "get-quarantine", "get-log-level", "put-log-level"}},
	}
}

// Example is a request and its answer.
type Example struct {
	// Request is the method and the path with its query.
	Request string `json:"request"`
	// Body is the body of the request, if it has one.
	Body json.RawMessage `json:"body"`
	// Answer is the body of the answer with status 200.
	Answer json.RawMessage `json:"answer"`
}

// ExampleName is the name of the example of an operation in the OpenAPI document.
const ExampleName = "example"

// Describe adds tags, descriptions and examples to the operations of a document. It returns an error if a text is
// missing or damaged; then this text and those after it are left out.
func Describe(doc *huma.OpenAPI) error {
	byID := operations(doc)
	overview, err := description("overview.md")
	if err != nil {
		return err
	}
	doc.Info.Description = overview
	for _, group := range Groups() {
		tag := &huma.Tag{Name: group.Tag, Description: group.Summary}
		if group.Text != "" {
			text, err := description(group.Text)
			if err != nil {
				return err
			}
			tag.Description += "\n\n" + text
		}
		doc.Tags = append(doc.Tags, tag)
		for _, id := range group.Operations {
			op := byID[id]
			if op == nil { // a daemon without a ledger or administrators has fewer operations
				continue
			}
			op.Tags = []string{group.Tag}
			if op.Description, err = description(id + ".md"); err != nil {
				return err
			}
			if err := addExample(op); err != nil {
				return err
			}
		}
	}
	return nil
}

// operations returns the operations of a document by their ids.
func operations(doc *huma.OpenAPI) map[string]*huma.Operation {
	out := map[string]*huma.Operation{}
	for _, path := range doc.Paths {
		for _, op := range []*huma.Operation{path.Get, path.Post, path.Put, path.Delete} {
			if op != nil {
				out[op.OperationID] = op
			}
		}
	}
	return out
}

// link matches the target of a link to another page, or to another place on the same page.
var link = regexp.MustCompile(`\]\((#|[\w/.-]+\.md)`)

// description returns a text. It changes the links so that they are valid in every place where the text is shown.
func description(file string) (string, error) {
	text, err := texts.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("description of the HTTP interface: %w", err)
	}
	return link.ReplaceAllStringFunc(string(text), func(found string) string {
		target := found[len("]("):]
		if target == "#" {
			return "](" + Path + target
		}
		return "](" + Pages + target
	}), nil
}

// addExample adds the example of an operation, if there is one.
func addExample(op *huma.Operation) error {
	file := op.OperationID + ".json"
	text, err := texts.ReadFile(file)
	if err != nil {
		return nil //nolint:nilerr // not every operation has an example
	}
	var example Example
	if err := json.Unmarshal(text, &example); err != nil {
		return fmt.Errorf("example of the HTTP interface: %s: %w", file, err)
	}
	media := op.Responses["200"].Content["application/json"]
	media.Examples = map[string]*huma.Example{ExampleName: {Summary: example.Request, Value: example.Answer}}
	if example.Body != nil {
		body := op.RequestBody.Content["application/json"]
		body.Examples = map[string]*huma.Example{ExampleName: {Summary: example.Request, Value: example.Body}}
	}
	return nil
}
