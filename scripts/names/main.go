// Command names fails if a type, function, method, field or package-level variable or constant has a name that
// names.yaml bans. It reads every Go file of the module except tests, testdata and research/.
//
//	names [-root DIR]
package main

import (
	"bytes"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

//go:embed names.yaml
var list []byte

// ban is an entry of names.yaml.
type ban struct {
	Word    string   `yaml:"word"`
	Folders []string `yaml:"folders"`
	Except  []string `yaml:"except"`
	Part    bool     `yaml:"part"`
	Kind    string   `yaml:"kind"`
	Instead string   `yaml:"instead"`
	Reason  string   `yaml:"reason"`
}

// policy is the content of names.yaml.
type policy struct {
	Banned  []ban             `yaml:"banned"`
	Allowed map[string]string `yaml:"allowed"`
}

// declared is the name of a package-level declaration, a method or a field.
type declared struct {
	folder, owner, name string
	isType              bool
	pos                 token.Position
}

// key returns the name in the form of the allow list.
func (d declared) key() string {
	if d.owner != "" {
		return d.folder + ": " + d.owner + "." + d.name
	}
	return d.folder + ": " + d.name
}

func main() {
	root := flag.String("root", ".", "folder of the module")
	flag.Parse()
	p, err := readPolicy(list)
	if err == nil {
		var names []declared
		if names, err = declarations(*root); err == nil {
			err = p.check(names)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// readPolicy parses names.yaml and refuses incomplete entries.
func readPolicy(data []byte) (*policy, error) {
	var p policy
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(&p); err != nil {
		return nil, fmt.Errorf("scripts/names/names.yaml: %w", err)
	}
	for _, b := range p.Banned {
		switch {
		case b.Word == "" || b.Instead == "" || b.Reason == "":
			return nil, fmt.Errorf("scripts/names/names.yaml: the entry of %q lacks word, instead or reason", b.Word)
		case b.Kind != "" && b.Kind != "type":
			return nil, fmt.Errorf("scripts/names/names.yaml: kind %q of %q is not type", b.Kind, b.Word)
		}
	}
	return &p, nil
}

// check returns an error for each banned name that is not allowed, and for each allowed name that does not exist.
func (p *policy) check(names []declared) error {
	var errs []error
	used := map[string]bool{}
	for _, n := range names {
		b := p.ban(n)
		if b == nil {
			continue
		}
		if _, ok := p.Allowed[n.key()]; ok {
			used[n.key()] = true
			continue
		}
		errs = append(errs, fmt.Errorf("%s: the name %s is banned (%s): write %s", n.pos, n.key(), b.Reason, b.Instead))
	}
	for key := range p.Allowed {
		if !used[key] {
			errs = append(errs,
				fmt.Errorf("scripts/names/names.yaml: allowed %q is no banned name any more: delete it", key))
		}
	}
	return errors.Join(errs...)
}

// ban returns the entry that bans a name, nil if none does.
func (p *policy) ban(n declared) *ban {
	words := wordsOf(n.name)
	for i, b := range p.Banned {
		if b.Kind == "type" && !n.isType {
			continue
		}
		below := func(folder string) bool { return n.folder == folder || strings.HasPrefix(n.folder, folder+"/") }
		if len(b.Folders) > 0 && !slices.ContainsFunc(b.Folders, below) || slices.ContainsFunc(b.Except, below) {
			continue
		}
		if strings.EqualFold(n.name, b.Word) || b.Part && slices.Contains(words, strings.ToLower(b.Word)) {
			return &p.Banned[i]
		}
	}
	return nil
}

// wordsOf returns the words of an identifier in lower case: crowdSize gives crowd and size; HTTPCrowd gives http and
// crowd.
func wordsOf(name string) []string {
	letters := []rune(name)
	var out []string
	from := 0
	for i := 1; i <= len(letters); i++ {
		if i < len(letters) && !begins(letters, i) {
			continue
		}
		if unicode.IsLetter(letters[from]) {
			out = append(out, strings.ToLower(string(letters[from:i])))
		}
		from = i
	}
	return out
}

// begins reports whether a word, or a separator, begins at index i.
func begins(letters []rune, i int) bool {
	before, here := letters[i-1], letters[i]
	switch {
	case !unicode.IsLetter(here) || !unicode.IsLetter(before):
		return true
	case unicode.IsUpper(before) && unicode.IsUpper(here): // the last capital letter of HTTPCrowd's HTTPC begins a word
		return i+1 < len(letters) && unicode.IsLower(letters[i+1])
	}
	return unicode.IsUpper(here)
}

// declarations returns the names that the module's Go files declare outside of functions.
func declarations(root string) ([]declared, error) {
	var out []declared
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := entry.Name()
		if entry.IsDir() && path != root && (base == "testdata" || base == "research" || strings.HasPrefix(base, ".")) {
			return filepath.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(base, ".go") || strings.HasSuffix(base, "_test.go") {
			return nil
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		names, err := fileDeclarations(path, filepath.ToSlash(folder), nil)
		out = append(out, names...)
		return err
	})
	return out, err
}

// fileDeclarations parses a file, or src if src is not nil.
func fileDeclarations(path, folder string, src any) ([]declared, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var out []declared
	add := func(owner string, id *ast.Ident, isType bool) {
		out = append(out, declared{folder, owner, id.Name, isType, set.Position(id.Pos())})
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			add(receiver(d), d.Name, false)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					add("", s.Name, true)
					for _, id := range members(s.Type) {
						add(s.Name.Name, id, false)
					}
				case *ast.ValueSpec:
					for _, id := range s.Names {
						add("", id, false)
					}
				}
			}
		}
	}
	return out, nil
}

// receiver returns the name of a method's type, "" for a function.
func receiver(d *ast.FuncDecl) string {
	name := ""
	if d.Recv == nil {
		return name
	}
	ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && name == "" {
			name = id.Name
		}
		return true
	})
	return name
}

// members returns the fields of structs and the methods of interfaces within a type.
func members(t ast.Expr) []*ast.Ident {
	var out []*ast.Ident
	ast.Inspect(t, func(n ast.Node) bool {
		var list *ast.FieldList
		switch n := n.(type) {
		case *ast.StructType:
			list = n.Fields
		case *ast.InterfaceType:
			list = n.Methods
		case *ast.FuncType:
			return false
		}
		if list != nil {
			for _, field := range list.List {
				out = append(out, field.Names...)
			}
		}
		return true
	})
	return out
}
