package reference_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/waitcast/waitcast/api/reference"
)

// TestTextsAreUsed proves that every file of this folder belongs to an operation or a group, and that no operation is
// in two groups.
func TestTextsAreUsed(t *testing.T) {
	used := []string{"overview"}
	for _, group := range reference.Groups() {
		if group.Text != "" {
			used = append(used, strings.TrimSuffix(group.Text, ".md"))
		}
		for _, id := range group.Operations {
			if slices.Contains(used, id) {
				t.Errorf("%s is in two groups", id)
			}
			used = append(used, id)
		}
	}
	for _, pattern := range []string{"*.md", "*.json"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", pattern, files, err)
		}
		for _, file := range files {
			if !slices.Contains(used, strings.TrimSuffix(file, filepath.Ext(file))) {
				t.Errorf("%s belongs to no operation", file)
			}
		}
	}
}

// TestDescribe proves that an operation gets its tag, and links that are valid outside of docs.
func TestDescribe(t *testing.T) {
	op := &huma.Operation{OperationID: "get-when", Responses: map[string]*huma.Response{}}
	doc := &huma.OpenAPI{Info: &huma.Info{}, Paths: map[string]*huma.PathItem{"/v1/when": {Get: op}}}
	if err := reference.Describe(doc); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(op.Tags, []string{"waits"}) || op.Description == "" {
		t.Errorf("tags %v, description %q", op.Tags, op.Description)
	}
	if !strings.Contains(doc.Info.Description, "]("+reference.Pages+"security.md)") ||
		!strings.Contains(doc.Info.Description, "]("+reference.Path+"#get-readyz)") {
		t.Error("links of the overview lead nowhere outside of docs")
	}
}
