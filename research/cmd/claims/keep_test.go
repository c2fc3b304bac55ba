package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestKeepContinues proves that a command that succeeded is not run again for the same state of the code, also if it
// wrote a page. It is run again if the code or the page has changed, if it failed, and without a folder.
func TestKeepContinues(t *testing.T) {
	root, folder := t.TempDir(), t.TempDir()
	git := func(args ...string) {
		t.Helper()
		args = append([]string{"-c", "user.name=t", "-c", "user.email=t@example.org"}, args...)
		c := exec.CommandContext(t.Context(), "git", args...)
		c.Dir = root
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "-q")
	write("code.go", "one")
	write("page.md", "old")
	git("add", ".")
	git("commit", "-qm", "one")
	ran := filepath.Join(t.TempDir(), "ran")
	claims := func(folder string) string {
		t.Helper()
		k, err := newKeep(t.Context(), root, folder)
		if err != nil {
			t.Fatal(err)
		}
		r := runner{root: root, shared: root, keep: k, ran: map[string]result{}}
		if err := os.WriteFile(ran, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		r.run(t.Context(), "echo figure; echo a >>"+ran, "")
		if got := r.run(t.Context(), "echo figure; echo a >>"+ran, ""); got.output != "figure\n" || got.err != nil {
			t.Errorf("the output is %q, %v", got.output, got.err)
		}
		r.run(t.Context(), "echo new >page.md; echo b >>"+ran, "page.md")
		r.run(t.Context(), "echo c >>"+ran+"; false", "")
		out, err := os.ReadFile(ran)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(string(out)), "")
	}
	for _, step := range []struct {
		name, folder string
		change       func()
		want         string
	}{
		{"first", folder, func() {}, "abc"},
		{"again", folder, func() {}, "c"},
		{"after another page was written", folder, func() { write("page.md", "old") }, "bc"},
		{"after a change of the code", folder, func() { write("code.go", "two") }, "abc"},
		{"after that was committed", folder, func() { git("commit", "-qam", "two") }, "abc"},
		{"with the first folder", folder, func() {}, "c"},
		{"without a folder", "", func() {}, "abc"},
	} {
		step.change()
		if got := claims(step.folder); got != step.want {
			t.Errorf("%s: the commands %q ran, want %q", step.name, got, step.want)
		}
	}
}
