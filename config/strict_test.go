package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/config"
)

// Each file has mistakes. want has them in the order of lines, as line | key | part of the problem | part of the
// allowed values.
var mistakes = []struct{ name, file, want string }{
	{"unknown keys", `
lisen: x
clusters:
  - sources:
      - {format: pbs, path: /log}
    queue: []
    path: /log
Listen: y
whatever: 1`, `
2 | lisen | did you mean "listen"? | listen, socket, socket_mode, data_dir
6 | clusters[0].queue | did you mean "queues"? | name, procs
7 | clusters[0].path | did you mean clusters[].sources[].path? |
8 | Listen | did you mean "listen"? |
9 | whatever | unknown key |`},
	{"wrong types", `
listen: 9817
data_dir: [a]
stale_after: soon
log: info
models:
  window_jobs: "100"
  window_age: {days: 3}
  markov_forget: little
  min_samples: 1.5
store:
clusters:
  - nonsense
  - name: a
    procs: 99999999999999999999
    queues: short
    sources:
      - {format: pbs, path: /log, inotify: maybe, rotated: a.*}
      - {name: b, format: pbs, path: /other, rotated: [a, 1]}`, `
2 | listen | 9817 is not text; put it in quotes | host:port
3 | data_dir | is a list | a folder
4 | stale_after | "soon" is not a duration | more than 0
5 | log | is "info" | keys and values
7 | models.window_jobs | "100" is not a whole number | 10 to
8 | models.window_age | is keys and values | 1h or more
9 | models.markov_forget | "little" is not a number | 0 up to
10 | models.min_samples | "1.5" is not a whole number | 2 to
11 | store | has no value | leave the key out
13 | clusters[0] | is "nonsense" | keys and values
15 | clusters[1].procs | "99999999999999999999" is not a whole number | 0 to
16 | clusters[1].queues | is "short" | a list
18 | clusters[1].sources[0].inotify | "maybe" is not on or off | true or on
18 | clusters[1].sources[0].rotated | is "a.*" | a list
19 | clusters[1].sources[1].rotated[1] | 1 is not text | a list of file names`},
	{"impossible values", `
listen: localhost
stale_after: 0
log:
  level: inf
  format: xml
clusters:
  - name: a b
    procs: -1
    time_zone: Mars/Olympus
    queues: [{name: q}, {name: ""}, {name: q}]
    sources:
      - format: pbs
        path: ""
        pattern: a/*
        rotated: ["["]
        start: middle
        poll: 1ms
  - name: c
    sources: []
  - name: c
    sources:
      - {format: swf, path: /log}
      - {format: swf, path: /log/}
  - sources: [{path: /log}]
  - name: d
    sources: [{name: import, format: pbs, path: /log}]
models:
  window_jobs: 5
  window_age: 1m
  min_samples: 30
  markov_forget: .nan
  max_users: 63
  forget_after: 23h
store:
  snapshot_events: 0
  snapshot_interval: 10ms
  journal_retention: 1s`, `
2 | listen | "localhost" is not an address | host:port
3 | stale_after | 0s is out of range | more than 0
5 | log.level | "inf" is not known, did you mean "info"? | debug, info
6 | log.format | "xml" is not known | console, json
8 | clusters[0].name | "a b" is not a name | letters
9 | clusters[0].procs | -1 is out of range | 0 to
10 | clusters[0].time_zone | "Mars/Olympus" is not a time zone | IANA
11 | clusters[0].queues[1].name | is not set | not empty
11 | clusters[0].queues[2].name | "q" is there twice | each once
14 | clusters[0].sources[0].path | is not set | a file or a folder
15 | clusters[0].sources[0].pattern | "a/*" is not a pattern | a file name
16 | clusters[0].sources[0].rotated[0] | "[" is not a pattern |
17 | clusters[0].sources[0].start | "middle" is not known | beginning, end
18 | clusters[0].sources[0].poll | 1ms is out of range | 10ms to 1h
20 | clusters[1].sources | no source | at least one
21 | clusters[2].name | "c" is the name of number 1 too | letters
24 | clusters[2].sources[1].name | "swf" is the name of number 0 too |
24 | clusters[2].sources[1].path | "/log/" is read by another source |
25 | clusters[3].name | is not set | letters
25 | clusters[3].sources[0].format | is not set | pbs, pbs-facts, swf, slurm-jobcomp, slurm-log, slurm-sacct, slurm-squeue, slurm-facts, sge-accounting, sge-reporting, gridengine-facts, gridengine-qstat, lsf-events, lsf-acct
27 | clusters[4].sources[0].name | "import" is the name of imported logs |
29 | models.window_jobs | 5 is out of range | 10 to
30 | models.window_age | 1m is out of range | 1h or more
31 | models.min_samples | 30 is out of range | 2 to
32 | models.markov_forget | NaN is out of range | 0 up to
33 | models.max_users | 63 is out of range | 64 to
34 | models.forget_after | 23h is out of range | 1d or more
36 | store.snapshot_events | 0 is out of range | 1 or more
37 | store.snapshot_interval | 10ms is out of range | 1s or more
38 | store.journal_retention | 1s is less than models.window_age (1m) | models.window_age or more`},
	{"asking the scheduler", `
clusters:
  - name: a
    sources:
      - {format: slurm-squeue, path: /log, interval: 10ms, timeout: 1h, command: [""]}
      - {format: slurm-squeue, name: again}
      - {format: slurm-log, path: /log, command: [squeue], socket: /run/s, url: "http://h", user: u, token_file: /t}
  - name: b
    sources:
      - {format: slurm-squeue, command: [squeue], socket: /run/s}
      - {format: slurm-facts, socket: /run/s, path: /log}
      - {format: slurm-facts, name: again}
  - name: c
    sources:
      - {format: slurm-squeue, url: "http://head:6820", socket: /run/s, user: u}
      - {format: slurm-facts, url: "ftp://head", command: [ssh], token_file: /t, user: "a\tb"}
  - name: d
    sources:
      - {format: slurm-squeue, url: "http://u:p@head:6820/x?y", token_file: /t}
      - {format: slurm-facts, token_file: /t}
  - {name: e, sources: [{format: slurm-facts, url: "ftp://head", token_file: /t}]}
  - {name: f, sources: [{format: pbs-facts, socket: /run/s}, {format: gridengine-facts, path: /log}]}`, `
5 | clusters[0].sources[0].command[0] | is empty | a list
5 | clusters[0].sources[0].interval | 10ms is out of range | 1s to 1h
5 | clusters[0].sources[0].path | is set, but slurm-squeue reads no file | nothing for slurm-squeue
5 | clusters[0].sources[0].timeout | 1h is out of range | 100ms to 10m
6 | clusters[0].sources[1].format | slurm-squeue is there twice |
7 | clusters[0].sources[2].command | is set, but a log of format slurm-log is read, not asked | for slurm-squeue
7 | clusters[0].sources[2].socket | is set, but a log of format slurm-log is read, not asked | for slurm-squeue
7 | clusters[0].sources[2].token_file | is set, but a log of format slurm-log is read, not asked | a file
7 | clusters[0].sources[2].url | is set, but a log of format slurm-log is read, not asked | for slurm-squeue
7 | clusters[0].sources[2].user | is set, but a log of format slurm-log is read, not asked | a user of Slurm
10 | clusters[1].sources[0].socket | is set, and so is command |
11 | clusters[1].sources[1].path | is set, but slurm-facts reads no file |
12 | clusters[1].sources[2].format | slurm-facts is there twice |
15 | clusters[2].sources[0].token_file | is not set, but slurmrestd at a url wants a token | a file
15 | clusters[2].sources[0].url | is set, and so is socket |
15 | clusters[2].sources[0].user | is set, but token_file is not |
16 | clusters[2].sources[1].url | is set, and so is command |
16 | clusters[2].sources[1].user | "a\tb" is no name of a user |
19 | clusters[3].sources[0].url | "http://u:p@head:6820/x?y" is not http://HOST:PORT |
20 | clusters[3].sources[1].token_file | is set, but neither socket nor url is |
21 | clusters[4].sources[0].url | "ftp://head" is not http://HOST:PORT |
22 | clusters[5].sources[0].socket | is set, but pbs-facts does not ask slurmrestd | a Unix socket
22 | clusters[5].sources[1].path | is set, but gridengine-facts reads no file |`},
	{"journals", `
clusters:
  - name: a
    sources:
      - {format: pbs, journal: [SYSLOG_IDENTIFIER=pbs]}
      - {format: slurm-log, journal: [_SYSTEMD_UNIT=a.service, +, unit=b, X=], rotated: ["x"], clock_offset: 1h}
      - {format: slurm-squeue, journal: [A=b]}`, `
5 | clusters[0].sources[0].journal | is set, but a log of format pbs is not read from a journal |
6 | clusters[0].sources[1].clock_offset | is set, but a journal is read |
6 | clusters[0].sources[1].journal[2] | "unit=b" is not FIELD=value |
6 | clusters[0].sources[1].journal[3] | "X=" is not FIELD=value |
6 | clusters[0].sources[1].rotated | is set, but a journal is read |
7 | clusters[0].sources[2].journal | is set, but slurm-squeue reads no journal |`},
	{"history", `
history_retention: 1h
clusters:
  - name: a
    sources: [{format: pbs, path: /log}]
    history:
      files: ["/archive/[", 2025.gz]
      format: slurm-squeue
      mode: quick
      file: /x
  - name: b
    sources: [{format: pbs, path: /log}]
    history: {files: [7]}
  - name: c
    sources: [{format: pbs, path: /log}]
    history: /archive`, `
2 | history_retention | 1h is out of range | 1d or more
7 | clusters[0].history.files[0] | "/archive/[" is not a pattern | a list of files
8 | clusters[0].history.format | "slurm-squeue" is not known | auto, pbs
9 | clusters[0].history.mode | "quick" is not known | auto, exact, fast
10 | clusters[0].history.file | did you mean "files"? | files, format, mode
13 | clusters[1].history.files[0] | 7 is not text | a list of files
16 | clusters[2].history | is "/archive" | keys and values`},
	{"set twice", minimal + "listen: :1\nlisten: :2", "5 | listen | set twice, first in line 4 | once"},
	{"syntax", minimal + "listen: [a", "4 |  | not valid YAML |"},
	{"syntax in line 1", "listen: ]", "1 |  | not valid YAML |"},
	{"indentation", "listen: :1\n store: {}\n", "2 |  | not valid YAML |"},
	{"tabs", "limits:\n\tconnections: 3\n", "2 |  | not valid YAML | not tabs"},
	{"a star", minimal + "history: {files: [*.log]}\n", "4 |  | not valid YAML | in quotes"},
	{"unknown anchor", "listen: :1\ndata_dir: *acct\n", "2 |  | unknown anchor | in quotes"},
	{"anchor in itself", "clusters: &a [*a]", "1 | clusters[0] | is a list | keys and values"},
	{"anchor merged into itself", "clusters: [&a {<<: *a}]", "0 |  | not valid YAML |"},
	{"anchors merged in a circle", "listen: :1\nlog: &a {<<: [*a, {<<: [*a]}]}", "0 |  | not valid YAML |"},
	{"not a mapping", "- a\n- b", "1 |  | the file is a list | keys and values"},
	{"two documents", minimal + "---\n" + minimal, "4 |  | a second document begins here | one document"},
	{"merged mistakes", `
clusters:
  - sources:
      - &a {format: pbs, path: /log, polll: 1s}
      - {<<: *a, name: b, path: /other}`, `
4 | clusters[0].sources[0].polll | did you mean "poll"? |`},
}

func TestEveryMistakeIsReportedWithItsLine(t *testing.T) {
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			clean(t)
			file := write(t, m.file)
			_, err := config.Load(file, nil)
			all := found(t, err)
			want := strings.Split(strings.TrimSpace(m.want), "\n")
			if len(all) != len(want) {
				t.Errorf("%d errors, want %d:\n%v", len(all), len(want), err)
			}
			for i := range min(len(all), len(want)) {
				check(t, all[i], file, want[i])
			}
		})
	}
}

func check(t *testing.T, got *config.Error, file, want string) {
	t.Helper()
	part := strings.Split(want+"|||", "|")
	for i := range part {
		part[i] = strings.TrimSpace(part[i])
	}
	if got.File != file || strconv.Itoa(got.Line) != part[0] || got.Key != part[1] {
		t.Errorf("%s:%d %q, want %q\n%v", got.File, got.Line, got.Key, want, got)
	}
	if !strings.Contains(got.Problem, part[2]) || !strings.Contains(got.Allowed, part[3]) {
		t.Errorf("%v\nwant %s", got, want)
	}
	for _, part := range []string{got.File, got.Key, got.Problem, got.Allowed} {
		if !strings.Contains(got.Error(), part) {
			t.Errorf("message %q lacks %q", got.Error(), part)
		}
	}
}

func TestErrorReadsAsOneLine(t *testing.T) {
	clean(t)
	file := write(t, "listen: nowhere\n"+minimal)
	_, err := config.Load(file, nil)
	want := file + `:1: listen: "nowhere" is not an address; allowed: host:port, port 0 to 65535`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// TestEmptyFile proves that a file without settings is no mistake, because environment and flags may be enough.
func TestEmptyFile(t *testing.T) {
	clean(t)
	for _, content := range []string{"", "# nothing\n", "---\n", "{}"} {
		c, err := config.Load(write(t, content), flags(t, "--path", "/log", "--format", "pbs"))
		if err != nil || c.Clusters[0].Sources[0].Path != "/log" {
			t.Errorf("%q: %v", content, err)
		}
	}
}

// TestValidate proves that Validate finds the same mistakes in a struct as Load in a file, but without a place.
func TestValidate(t *testing.T) {
	clean(t)
	c := load(t, minimal)
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	c.Clusters[0].Procs = -1
	c.StaleAfter = -time.Second
	all := found(t, c.Validate())
	if len(all) != 2 || all[1].Key != "stale_after" || all[0].Key != "clusters[0].procs" || all[0].File != "" ||
		all[0].Line != 0 {
		t.Errorf("%v", c.Validate())
	}
}

func TestLocation(t *testing.T) {
	loc, err := config.Cluster{TimeZone: "UTC"}.Location()
	if err != nil || loc != time.UTC {
		t.Errorf("%v, %v", loc, err)
	}
	if _, err := (config.Cluster{Name: "a", TimeZone: "Mars/Olympus"}).Location(); err == nil ||
		!strings.Contains(err.Error(), "cluster a") {
		t.Errorf("%v", err)
	}
}

// FuzzLoad proves that any file gives a valid configuration or errors of type Error, and never a panic.
func FuzzLoad(f *testing.F) {
	for _, m := range mistakes {
		f.Add(m.file)
	}
	f.Add(minimal)
	f.Add("? [a]\n: b\n*x : y\n")
	f.Add("log: &a {<<: [*a, {<<: [*a]}]}")
	f.Add("clusters: [{<<: [{procs: 1}, 3], <<: 4}]")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, content string) {
		file := filepath.Join(dir, "f.yaml")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := config.Load(file, nil)
		var e *config.Error
		switch {
		case err == nil && c.Validate() != nil:
			t.Fatalf("Load accepts what Validate does not: %v", c.Validate())
		case err != nil && !errors.As(err, &e):
			t.Fatalf("untyped: %v", err)
		}
	})
}
