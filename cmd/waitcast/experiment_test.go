package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestExperimentPage proves that the commands in docs/experiment.md run and write what the page says. They run as
// printed, but with fewer jobs and copies. Every file that a later command reads exists, and every result has its
// record.
func TestExperimentPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/experiment.md")
	if err != nil {
		t.Fatal(err)
	}
	trace := inhabited(t)
	t.Chdir(t.TempDir())
	if err := os.WriteFile("log.swf.gz", []byte(trace), 0o600); err != nil {
		t.Fatal(err)
	}
	commands := regexp.MustCompile(`(?m)^    \$ waitcast (.*)$`).FindAllStringSubmatch(string(page), -1)
	if len(commands) != 10 {
		t.Fatalf("%d commands, want 10", len(commands))
	}
	smaller := strings.NewReplacer("--jobs 10000", "--jobs 500", "--shakes 50", "--shakes 2")
	for _, c := range commands {
		var args []string
		to := map[string]string{}
		words := strings.Fields(smaller.Replace(c[1]))
		for i := 0; i < len(words); i++ {
			if words[i] == ">" || words[i] == "2>" {
				to[words[i]] = words[i+1]
				i++
				continue
			}
			args = append(args, words[i])
		}
		r := succeed(t, "", args...)
		for stream, text := range map[string]string{">": r.stdout, "2>": r.stderr} {
			if name, ok := to[stream]; ok {
				if text == "" {
					t.Errorf("%v: %s is empty", args, name)
				}
				if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for name, part := range map[string]string{
		"queue.svg": "<svg", "loads.svg": "<svg", "points.csv": "conservative,limits,0.9",
		"lublin.swf": "fitted to log.swf.gz, form log, arrivals lublin, load same, 500 jobs, seed 1",
		"users.swf":  "made by waitcast resample", "users.csv": "study,run,policy", "versions.txt": "waitcast ",
		"compare.txt": "Squashed area", "lublin.txt": "KS distance", "users-study.txt": "conservative",
	} {
		text, err := os.ReadFile(filepath.Clean(name))
		if err != nil || !strings.Contains(string(text), part) {
			t.Errorf("%s: %v, %q is not in %.200s", name, err, part, text)
		}
	}
}
