package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestFlagsInDocs proves that waitcastd has every flag that README and docs mention.
func TestFlagsInDocs(t *testing.T) {
	root := rootCommand()
	known := map[string]bool{"help": true, "version": true}
	for _, cmd := range append(root.Commands(), root) {
		for _, name := range flagNames(cmd.Flags().FlagUsages()) {
			known[name] = true
		}
	}
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("../../docs/formats/*.md")
	if err != nil {
		t.Fatal(err)
	}
	files = append(append(files, more...), "../../README.md")
	called := regexp.MustCompile(`(?:waitcastd|\./cmd/daemon)([^|` + "`" + `;]*)`)
	seen := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			for _, call := range called.FindAllStringSubmatch(line, -1) {
				for _, name := range flagNames(call[1]) {
					seen++
					if !known[name] {
						t.Errorf("%s:%d: waitcastd has no flag --%s", file, i+1, name)
					}
				}
			}
		}
	}
	if seen < 5 {
		t.Errorf("only %d flags found in the docs: does this test still read them?", seen)
	}
}

func flagNames(text string) (names []string) {
	for _, m := range regexp.MustCompile(`--([a-z][a-z-]*)`).FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	return names
}
