package demo

import (
	"os"
	"os/exec"
	"runtime"
)

// opener returns the program that shows a URL on this machine's desktop. It returns "" if there is no desktop.
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

// show opens a page in a browser if possible. Otherwise it does nothing, because the address is printed too.
func show(url string) {
	program := opener(os.Getenv, exec.LookPath)
	if program == "" {
		return
	}
	cmd := exec.Command(program, url) //nolint:noctx // the desktop's program outlives this one
	if cmd.Start() == nil {
		go func() { _ = cmd.Wait() }()
	}
}
