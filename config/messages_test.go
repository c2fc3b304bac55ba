package config_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/config"
)

// messageCalls matches the functions and methods whose string arguments are messages for users and administrators.
var messageCalls = regexp.MustCompile(
	`^(Errorf|New|Bad|Debug|Info|Warn|Error|DPanic|Fatal|that|wrong|found|add|fail|warn|note|Hint|refuse\w*|` +
		`problem\w*|usageError)$`)

// named matches words in messages that name a key: a word of several parts, a dotted path, or the word after the name
// of the object that has the key.
var named = regexp.MustCompile(
	`\b(?:raise its|set its|(?:cluster|source|pool|store|daemon)'s) ([a-z_]+)|\b([a-z]+(?:\.[a-z]+)*(?:_[a-z]+)+)\b`)

// messages returns the string literals in a file that become messages, with their places.
func messages(t *testing.T, path string) map[string]string {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		for _, part := range messageParts(n) {
			ast.Inspect(part, func(n ast.Node) bool {
				e, ok := n.(ast.Expr)
				if !ok {
					return true
				}
				text, whole := literal(e)
				if strings.Contains(text, " ") {
					out[files.Position(e.Pos()).String()] = text
				}
				return !whole
			})
		}
		return true
	})
	return out
}

// literal returns the text of a string literal, or of several joined by +. It returns false for any other expression.
func literal(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, e.Kind == token.STRING && err == nil
	case *ast.BinaryExpr:
		left, isLeft := literal(e.X)
		if right, isRight := literal(e.Y); isLeft && isRight && e.Op == token.ADD {
			return left + right, true
		}
	}
	return "", false
}

// messageParts returns the expressions from which a node makes a message: the arguments of a call, or the value of a
// field.
func messageParts(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.CallExpr:
		name := ""
		switch f := n.Fun.(type) {
		case *ast.Ident:
			name = f.Name
		case *ast.SelectorExpr:
			name = f.Sel.Name
		}
		if messageCalls.MatchString(name) {
			return n.Args
		}
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok && (key.Name == "Hint" || key.Name == "Detail" || key.Name == "Text") {
			return []ast.Expr{n.Value}
		}
	}
	return nil
}

// TestMessagesNameKeys proves that every configuration key that an error or a log message names exists.
func TestMessagesNameKeys(t *testing.T) {
	keys := map[string]bool{}
	for _, k := range config.Reference() {
		path := strings.ReplaceAll(k.Key, "[]", "")
		// Messages may leave out the beginning of a key's path.
		for parts := strings.Split(path, "."); len(parts) > 0; parts = parts[1:] {
			keys[strings.Join(parts, ".")] = true
			keys[parts[0]] = true
		}
	}
	found := 0
	for _, folder := range []string{
		"api", "client", "cluster", "cmd", "collector", "config", "daemon", "internal", "modelstore",
		"pipeline", "predictor",
	} {
		err := filepath.WalkDir(filepath.Join("..", folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			for at, text := range messages(t, path) {
				for _, m := range named.FindAllStringSubmatch(text, -1) {
					switch name := m[1] + m[2]; {
					case keys[name]:
						found++
					case !others[name]:
						t.Errorf("%s: %q names %q, which is no configuration key (docs/configure.md): correct it, or "+
							"add it to others in config/messages_test.go if it names something else", at, text, name)
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 20 {
		t.Errorf("only %d keys are named in messages: the test does not find them any more", found)
	}
}

// others has names in messages that are not keys of the configuration, such as fields of logs, requests and answers.
var others = map[string]bool{
	// These are fields of logs.
	"exec_host": true, "exit_status": true, "start_time": true, "submission_time": true, "job_log": true,
	"reporting_params": true, "old_accounting": true, // Grid Engine's own configuration
	"user": true, "pg_hba": true, "sd_notify": true, // the daemon's user; PostgreSQL's pg_hba.conf; systemd's
}
