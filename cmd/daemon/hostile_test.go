package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
)

// hostile is a name that controls terminals, reverses the direction of writing, and forges a line.
const hostile = "q\x1b[31m\r\nFORGED\tx\x07\x7f\u009b2J\u202eexe.\u2066\u200b\ufeff\u2028"

// harmless runs the real program. It fails the test if the output contains a character that cannot be printed, or a
// line that the hostile name has forged.
func harmless(t *testing.T, args ...string) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Args[0] = "waitcastd"
	var printed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &printed
	_ = cmd.Run() // most of these commands fail
	if printed.Len() == 0 {
		t.Errorf("%q prints nothing", args)
	}
	for line := range strings.Lines(printed.String()) {
		line = strings.TrimSuffix(line, "\n")
		if strings.ContainsFunc(line, func(r rune) bool { return r != '\t' && !unicode.IsPrint(r) }) ||
			strings.HasPrefix(line, "FORGED") {
			t.Errorf("%q prints %q", args, line)
		}
	}
}

// TestHostileNames proves that no command of the daemon prints anything that controls a terminal or forges a line.
// Hostile names are in the configuration, in names of files, in logs (queue, user, account, job) and in arguments.
func TestHostileNames(t *testing.T) {
	dir := filepath.Join(t.TempDir(), hostile)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) string {
		path := filepath.Join(dir, name+hostile)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	name := strings.NewReplacer("\n", "", "\r", "\v", "\t", "").Replace(hostile) // the name must be one word of a line
	var log strings.Builder
	for i := range 30 {
		fmt.Fprintf(&log,
			"03/02/2026 12:00:%02d;E;%d%s;user=%s account=%s jobname=%s queue=%s ctime=1772452800 qtime=1772452800 "+
				"etime=1772452800 start=1772452801 end=%d exec_host=%s/0 Resource_List.ncpus=1\n", i, i, name, name,
			name, name, name, 1772452810+i, name)
	}
	accounting := write("accounting", log.String()+"03/02/2026 12:01:00;E;"+name+";queue="+name+" start="+name+
		"\n"+name+"\n")
	configured := func(cluster, source string) string {
		return write(cluster[:1],
			fmt.Sprintf("{data_dir: %q, listen: '127.0.0.1:0', clusters: [{name: %q, procs: 8, time_zone: UTC, "+
				"sources: [{name: %q, format: pbs, path: %q}]}]}", dir, cluster, source, accounting))
	}
	good, bad := configured("main", "accounting"), configured("x"+hostile, hostile)
	unknown := write("unknown", fmt.Sprintf("{%q: 1}", hostile))
	for _, args := range [][]string{
		{"check", "--config", good}, {"check", "--json", "--config", good}, {"check", "--config", bad},
		{"check", "--config", unknown}, {"check", "--config", dir + "/none"}, {"--config", bad}, {"--config", unknown},
		{"--config", dir + "/none"},
		{"--one-shot", "--config", good}, {"--one-shot", "--json", "--config", good},
		{"--one-shot", "--format", "pbs", accounting},
		{"--one-shot", "--format", hostile, accounting}, {"--one-shot", "--format", "pbs", dir + "/none"},
		{"--log-format", "json", "--one-shot", "--config", good},
		{"bundle", "--config", good, "-o", filepath.Join(dir, "bundle"+hostile)},
		{"bundle", "--config", bad, "-o", filepath.Join(dir, "none", hostile)},
		{hostile}, {"--" + hostile}, {"check", hostile}, {"demo", hostile}, {"demo", "--speed", hostile},
	} {
		harmless(t, args...)
	}
}
