package config_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/waitcast/waitcast/config"
)

var update = flag.Bool("update", false, "write the table of docs/configure.md anew")

const docs = "../docs/configure.md"

// effectWords has the words in docs/configure.md for the effects of a reload.
var effectWords = map[config.Effect]string{
	config.EffectNextStart: "next start", config.EffectLogLevel: "at once", config.EffectAccess: "at once",
	config.EffectListener: "reconnects", config.EffectSources: "reopens", config.EffectRestore: "restores",
	config.EffectRebuild: "rebuilds",
}

// table returns the reference as a table of docs/configure.md.
func table() string {
	var b strings.Builder
	b.WriteString("| key | type | default | allowed | meaning | flag | reload " +
		"|\n|---|---|---|---|---|---|---|\n")
	for _, k := range config.Reference() {
		set := ""
		if k.Flag != "" {
			set = "`--" + k.Flag + "`"
		}
		def := k.Default
		if def != "" {
			def = "`" + def + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s | %s |\n", k.Key, k.Type, def, k.Allowed, k.Doc, set,
			effectWords[k.Effect])
	}
	return b.String()
}

// TestDocsTable proves that the table of keys in the docs equals the reference.
func TestDocsTable(t *testing.T) {
	content, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	between := regexp.MustCompile(`(?s)(<!-- keys: .*? -->\n)(.*)(<!-- end of keys -->)`)
	m := between.FindSubmatch(content)
	if m == nil {
		t.Fatalf("%s has no place for the table", docs)
	}
	if string(m[2]) == table() {
		return
	}
	if !*update {
		t.Fatalf("the table of %s is stale; go test ./config -run Docs -update", docs)
	}
	fresh := between.ReplaceAllLiteralString(string(content), string(m[1])+table()+string(m[3]))
	if err := os.WriteFile(docs, []byte(fresh), 0o644); err != nil { //nolint:gosec // documentation is for everyone
		t.Fatal(err)
	}
}

// TestDocsEffects proves that the docs explain every word in the table's last column, in the order of the costs.
func TestDocsEffects(t *testing.T) {
	content, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	var explained, want []string
	for _, m := range regexp.MustCompile(`(?m)^\| \*([a-z ]+)\* \| .+ \|$`).FindAllSubmatch(content, -1) {
		explained = append(explained, string(m[1]))
	}
	for _, e := range config.Effects() {
		if effectWords[e] == "" {
			t.Errorf("the docs have no word for %q", e)
		}
		want = append(want, effectWords[e])
	}
	if want = slices.Compact(want); !slices.Equal(explained, want) {
		t.Errorf("the docs explain %q, want %q", explained, want)
	}
}

// TestDocsExamples proves that every YAML example in the docs can be loaded, and that the full one sets every key.
func TestDocsExamples(t *testing.T) {
	clean(t)
	content, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	examples := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(content, -1)
	if len(examples) < 2 {
		t.Fatalf("%d examples", len(examples))
	}
	for _, e := range examples {
		load(t, string(e[1]))
		if !strings.HasPrefix(string(e[1]), "# full example") {
			continue
		}
		for _, k := range config.Reference() {
			name := k.Key[strings.LastIndex(k.Key, ".")+1:]
			if !regexp.MustCompile(`(?m)(^|[\s-])` + name + `:`).Match(e[1]) {
				t.Errorf("the full example lacks %s", k.Key)
			}
		}
	}
}

// TestDocsFlags proves that the docs name exactly the flags of AddFlags.
func TestDocsFlags(t *testing.T) {
	content, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	config.AddFlags(fs)
	inDocs := map[string]bool{}
	for _, m := range regexp.MustCompile("--([a-z][a-z-]*)").FindAllSubmatch(content, -1) {
		inDocs[string(m[1])] = true
		if fs.Lookup(string(m[1])) == nil {
			t.Errorf("the docs name --%s, which does not exist", m[1])
		}
	}
	fs.VisitAll(func(f *pflag.Flag) {
		if !inDocs[f.Name] {
			t.Errorf("the docs do not name --%s", f.Name)
		}
	})
}
