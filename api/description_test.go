package api_test

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestDescriptionOfAccess proves that the description names the server and the licence, that every scheme that it
// requires exists, and that every operation describes a refusal.
func TestDescriptionOfAccess(t *testing.T) {
	var doc struct {
		Servers    []struct{ URL string }
		Info       struct{ License struct{ Identifier string } }
		Security   []map[string][]string
		Components struct{ SecuritySchemes map[string]any }
		Paths      map[string]map[string]struct {
			Security  []map[string][]string
			Responses map[string]any
		}
	}
	if err := json.Unmarshal(described(t), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Servers) != 1 || doc.Servers[0].URL != "/" || doc.Info.License.Identifier != "Apache-2.0" ||
		len(doc.Security) == 0 {
		t.Errorf("servers %v, licence %q, security %v", doc.Servers, doc.Info.License.Identifier, doc.Security)
	}
	for path, operations := range doc.Paths {
		for method, op := range operations {
			refused := false
			for status := range op.Responses {
				refused = refused || strings.HasPrefix(status, "4")
			}
			if !refused {
				t.Errorf("%s %s: no answer 4xx", method, path)
			}
			for _, wants := range append(op.Security, doc.Security...) {
				for scheme := range wants {
					if doc.Components.SecuritySchemes[scheme] == nil {
						t.Errorf("%s %s: no security scheme %q", method, path, scheme)
					}
				}
			}
		}
	}
}

// TestDescriptionPassesLint proves that a public linter for OpenAPI has no complaint about the description.
func TestDescriptionPassesLint(t *testing.T) {
	lint, err := exec.LookPath("redocly")
	if err != nil {
		t.Skip("no redocly here: npm install -g @redocly/cli (make test-deps does so where npm is)")
	}
	file := filepath.Join(t.TempDir(), "openapi.json")
	if err := os.WriteFile(file, described(t), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), lint, "lint", file, "--format=stylish", "--max-problems=20",
		"--extends=recommended").CombinedOutput()
	if text := string(out); err != nil || strings.Contains(text, "warning ") {
		t.Errorf("%v\n%s", err, text)
	}
}

// described returns the OpenAPI description of a daemon with administration.
func described(t *testing.T) []byte {
	t.Helper()
	return serve(t, main(0)).do(http.MethodGet, "/openapi.json", nil).body
}
