package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/api/access"
	"github.com/waitcast/waitcast/internal/token"
)

// TestTokenNew proves that the line printed with a new token gives callers with that token its role and user, and that
// tokens differ.
func TestTokenNew(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range []struct {
		args       []string
		name, want string
	}{
		{[]string{"--user", "alice"}, "alice", "user alice"},
		{[]string{"--role", "admin", "--name", "backup"}, "backup", "admin "},
		{[]string{"--role", "public"}, "public", "public "},
	} {
		r := runWith("", append([]string{"token", "new"}, c.args...)...)
		secret, rest, _ := strings.Cut(r.stdout, "\n")
		_, line, _ := strings.Cut(rest, "tokens_file:\n\n")
		if r.code != 0 || !regexp.MustCompile("^[A-Z2-7]{26}$").MatchString(secret) || seen[secret] ||
			strings.Contains(line, secret) || !strings.HasPrefix(line, "- name: "+c.name+"\n") {
			t.Errorf("%v: %+v", c.args, r)
		}
		seen[secret] = true
		file := filepath.Join(t.TempDir(), "tokens.yaml")
		if err := os.WriteFile(file, []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
		g, err := access.New(access.Options{TokensFile: file})
		if err != nil {
			t.Fatal(err)
		}
		w, req := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		req.Header.Set("Authorization", "Bearer "+secret)
		g.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte(access.Of(r.Context()).Role.String() + " " + access.Of(r.Context()).User))
		})).ServeHTTP(w, req)
		if w.Body.String() != c.want {
			t.Errorf("%v is let in as %s, want %s", c.args, w.Body, c.want)
		}
	}
	var told map[string]string
	r := runWith("", "--json", "token", "new", "--user", "bob")
	if err := json.Unmarshal([]byte(r.stdout), &told); err != nil || told["sha256"] != token.Hash(told["token"]) ||
		told["role"] != "user" || told["user"] != "bob" {
		t.Errorf("%v: %s", err, r.stdout)
	}
	expect(t, runWith("", "token", "new", "--role", "emperor"), exitUsage,
		`--role "emperor": want public, user or admin`)
}

// TestTokenOfQuestions proves the origin of the token: the flag's file, otherwise the variable, otherwise the
// variable's file. If this user cannot read the variable's file, requests are sent without a token. If the flag's file
// cannot be read, that is an error.
func TestTokenOfQuestions(t *testing.T) {
	var sent string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent = r.Header.Get("Authorization")
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"cluster":"main","jobs":[]}`))
	}))
	defer server.Close()
	flag, variable := file(t, "flag", []byte("of-the-flag\n")), file(t, "variable", []byte("of-the-file\n"))
	for _, c := range []struct {
		env  map[string]string
		args []string
		want string
	}{
		{nil, nil, ""}, {map[string]string{"WAITCAST_TOKEN_FILE": variable}, nil, "Bearer of-the-file"},
		{map[string]string{"WAITCAST_TOKEN_FILE": variable, "WAITCAST_TOKEN": "itself"}, nil, "Bearer itself"},
		{map[string]string{"WAITCAST_TOKEN": "itself"}, []string{"--token-file", flag}, "Bearer of-the-flag"},
		{map[string]string{"WAITCAST_TOKEN_FILE": "/nowhere"}, nil, ""},
	} {
		env := map[string]string{"WAITCAST_URL": server.URL}
		for k, v := range c.env {
			env[k] = v
		}
		sent = "nothing"
		if r := runEnv(env, nil, false, append([]string{"jobs"}, c.args...)...); r.code != 0 || sent != c.want {
			t.Errorf("%v %v: sent %q, want %q: %+v", c.env, c.args, sent, c.want, r)
		}
	}
	expect(t, runWith(server.URL, "jobs", "--token-file", "/nowhere"), exitFailed, "no token: ", "as --token-file says")
	expect(t, runWith(server.URL, "jobs", "--ca", "/nowhere"), exitFailed, "the daemon's CA: ")
}
