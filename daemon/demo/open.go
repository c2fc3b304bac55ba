package demo

import (
	"os"
	"os/exec"
	"runtime"
)

// opener returns the program that shows a URL to whoever sits before this machine, "" if nobody can see it.
func opener(env func(string) string, look func(string) (string, error)) string {
	name := "xdg-open"
	switch {
	case runtime.GOOS == "darwin":
		name = "open"
	case env("DISPLAY") == "" && env("WAYLAND_DISPLAY") == "":
		return ""
	}
	path, err := look(name)
	if err != nil {
		return ""
	}
	return path
}

// show opens a page, if it can; whoever cannot see it has the address.
func show(url string) {
	program := opener(os.Getenv, exec.LookPath)
	if program == "" {
		return
	}
	cmd := exec.Command(program, url) //nolint:noctx // the program of the desktop goes on without us
	if cmd.Start() == nil {
		go func() { _ = cmd.Wait() }()
	}
}
