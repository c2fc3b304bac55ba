package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	codeSpan  = regexp.MustCompile("`([^`\n]+)`")
	goName    = regexp.MustCompile(`^\*?(\w+)\.(\w+)(?:\.(\w+))?$`)
	pageLink  = regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)
	repoPath  = regexp.MustCompile(`^[\w.-]+(?:/[\w.-]+)+/?$`)
	fileNames = regexp.MustCompile(`\.(?:go|md|ya?ml|json|js)$`)
)

// TestPagesNameCode fails if a page for developers names a file, a package, a type or a function that does not exist,
// or links to a missing page.
func TestPagesNameCode(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	known, err := declared(root)
	if err != nil {
		t.Fatal(err)
	}
	records, err := filepath.Glob(filepath.Join(root, "docs", "decisions", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages := append(records, filepath.Join(root, "CONTRIBUTING.md"))
	for _, name := range []string{"architecture.md", "glossary.md"} {
		pages = append(pages, filepath.Join(root, "docs", name))
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, wrong := range wrongNames(string(text), root, filepath.Dir(page), known) {
			t.Errorf("%s: %s", page, wrong)
		}
	}
}

// TestWrongNames proves that TestPagesNameCode can fail.
func TestWrongNames(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	known, err := declared(root)
	if err != nil {
		t.Fatal(err)
	}
	text := "`job.Event`, `job.Nothing`, `State.Apply`, `State.Nothing`, `cluster.State.Apply`, " +
		"`cluster.State.Nothing`, " +
		"`job/job.go`, `job/nothing.go`, `../nothing`, `modelstore/sqlite`, `modelstore/nothing`, `limits.body`, " +
		"`go test ./job`, " +
		"`/v1/wait`, [here](../README.md), [nowhere](nothing.md), [web](https://example.org)"
	want := []string{
		"no job.Nothing in the code", "no State.Nothing in the code", "no cluster.State.Nothing in the code",
		"no file job/nothing.go", "no file modelstore/nothing", "no page nothing.md",
	}
	if got := wrongNames(text, root, filepath.Join(root, "docs"), known); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestGlossary fails if a term of the glossary has no Go type or function, or one that does not exist, or if a term is
// defined twice.
func TestGlossary(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	known, err := declared(root)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "docs", "glossary.md"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) < 5 || strings.HasPrefix(line, "|---") || strings.TrimSpace(cells[1]) == "term" {
			continue
		}
		term, carriers := strings.TrimSpace(cells[1]), codeSpan.FindAllStringSubmatch(cells[3], -1)
		if seen[term] {
			t.Errorf("%s is defined twice", term)
		}
		seen[term] = true
		if len(carriers) == 0 {
			t.Errorf("%s: no Go type is named", term)
		}
		for _, c := range carriers {
			if !known[c[1]] {
				t.Errorf("%s: there is no %s in the code", term, c[1])
			}
		}
	}
	if len(seen) < 50 {
		t.Errorf("only %d terms were found", len(seen))
	}
}

// wrongNames returns the code spans of a page in folder that name something that does not exist, and the page's broken
// links.
func wrongNames(text, root, folder string, known map[string]bool) []string {
	var wrong []string
	for _, m := range codeSpan.FindAllStringSubmatch(text, -1) {
		name := m[1]
		if g := goName.FindStringSubmatch(name); g != nil && !fileNames.MatchString(name) {
			if known[g[1]] && !known[strings.TrimPrefix(name, "*")] {
				wrong = append(wrong, "no "+name+" in the code")
			}
			continue
		}
		top, _, _ := strings.Cut(name, "/")
		if top == ".." {
			continue // a folder beside the repository, which a clone does not have
		}
		if _, err := os.Stat(filepath.Join(root, top)); err == nil && repoPath.MatchString(name) {
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(path.Clean(name)))); err != nil {
				wrong = append(wrong, "no file "+name)
			}
		}
	}
	for _, m := range pageLink.FindAllStringSubmatch(text, -1) {
		if _, err := os.Stat(filepath.Join(folder, filepath.FromSlash(m[1]))); err != nil {
			wrong = append(wrong, "no page "+m[1])
		}
	}
	return wrong
}

// declared returns the names of the module's packages and types, and of their declarations: "pkg", "Type", "pkg.Name",
// "pkg.Type.Member" and "Type.Member", where a member is a field or a method.
func declared(root string) (map[string]bool, error) {
	known := map[string]bool{}
	err := filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && name != root && strings.HasPrefix(e.Name(), "."):
			return filepath.SkipDir
		case e.IsDir() || filepath.Ext(name) != ".go":
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		known[file.Name.Name] = true
		for _, d := range file.Decls {
			addDeclaration(known, file.Name.Name, d)
		}
		return nil
	})
	return known, err
}

func addDeclaration(known map[string]bool, pkg string, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			known[pkg+"."+d.Name.Name] = true
			return
		}
		if receiver := baseType(d.Recv.List[0].Type); receiver != "" {
			known[receiver+"."+d.Name.Name], known[pkg+"."+receiver+"."+d.Name.Name] = true, true
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				known[s.Name.Name], known[pkg+"."+s.Name.Name] = true, true
				addMembers(known, pkg, s)
			case *ast.ValueSpec:
				for _, n := range s.Names {
					known[pkg+"."+n.Name] = true
				}
			}
		}
	}
}

// addMembers adds the fields of a struct, or the methods of an interface.
func addMembers(known map[string]bool, pkg string, s *ast.TypeSpec) {
	var members *ast.FieldList
	switch of := s.Type.(type) {
	case *ast.StructType:
		members = of.Fields
	case *ast.InterfaceType:
		members = of.Methods
	default:
		return
	}
	for _, m := range members.List {
		for _, n := range m.Names {
			known[s.Name.Name+"."+n.Name], known[pkg+"."+s.Name.Name+"."+n.Name] = true, true
		}
	}
}

// baseType returns the name of a receiver's type, without pointer and type parameters.
func baseType(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return baseType(e.X)
	case *ast.IndexExpr:
		return baseType(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
