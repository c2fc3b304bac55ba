package demo

import (
	"os/exec"
	"runtime"
	"testing"
)

// TestOpener proves that a page is opened only on a desktop with a program for pages.
func TestOpener(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("desktops of Linux")
	}
	found := func(name string) (string, error) { return "/usr/bin/" + name, nil }
	missing := func(string) (string, error) { return "", exec.ErrNotFound }
	desk := func(name string) string { return map[string]string{"DISPLAY": ":0"}[name] }
	none := func(string) string { return "" }
	for _, c := range []struct {
		env  func(string) string
		look func(string) (string, error)
		want string
	}{{desk, found, "/usr/bin/xdg-open"}, {none, found, ""}, {desk, missing, ""}} {
		if got := opener(c.env, c.look); got != c.want {
			t.Errorf("the opener is %q, want %q", got, c.want)
		}
	}
}
