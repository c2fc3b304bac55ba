package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/waitcast/waitcast/api/wire"
)

// hostile is a name that controls terminals, reverses the direction of writing, and forges a line.
const hostile = "q\x1b[31m\r\nFORGED\tx\x07\x7f\u009b2J\u202eexe.\u2066\u200b\ufeff\u2028"

// fill sets all strings in a value to the hostile name, numbers to 1, and instants to one in 2026. Lists get one
// element.
func fill(v reflect.Value) {
	switch at := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC); v.Kind() {
	case reflect.String:
		v.SetString(hostile)
	case reflect.Int, reflect.Int64, reflect.Int32:
		v.SetInt(1)
	case reflect.Uint64, reflect.Uint32:
		v.SetUint(1)
	case reflect.Float64:
		v.SetFloat(1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 { // leave json.RawMessage out
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(v.Index(0))
		}
	case reflect.Map:
		if v.Type().Key().Kind() == reflect.String {
			v.Set(reflect.MakeMap(v.Type()))
			element := reflect.New(v.Type().Elem()).Elem()
			fill(element)
			v.SetMapIndex(reflect.ValueOf(hostile).Convert(v.Type().Key()), element)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(at))
			return
		}
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i))
			}
		}
	}
}

func filled[T any]() *T {
	v := new(T)
	fill(reflect.ValueOf(v).Elem())
	return v
}

// hostileDaemon starts a fake daemon. It answers every request with the expected type, in which all texts are hostile.
// If status is that of an error, it answers with a problem, whose texts are also hostile.
func hostileDaemon(t *testing.T, status int) string {
	t.Helper()
	answers := []struct {
		prefix string
		answer any
	}{
		{"GET /v1/accuracy", filled[wire.Accuracy]()}, {"GET /v1/jobs/", filled[wire.JobAnswer]()},
		{"GET /v1/jobs", filled[wire.Jobs]()},
		{"GET /v1/wait", filled[wire.Wait]()}, {"POST /v1/wait", filled[wire.Waits]()},
		{"GET /v1/forecast", filled[wire.LoadForecast]()},
		{"GET /v1/models/", filled[wire.Models]()}, {"GET /v1/queues", filled[wire.Queues]()},
		{"GET /v1/now", filled[wire.Now]()},
		{"POST /v1/size", filled[wire.Size]()}, {"GET /v1/quarantine", filled[wire.Quarantine]()},
		{"/v1/log-level", filled[wire.LogLevel]()},
		{"POST /v1/import", &wire.ImportLine{Report: filled[wire.ImportReport]()}},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind, answer := "application/json", any(nil)
		for _, a := range answers {
			if answer == nil && strings.Contains(r.Method+" "+r.URL.Path, a.prefix) {
				answer = a.answer
			}
		}
		switch {
		case status >= 400:
			kind = "application/problem+json"
			answer = map[string]any{
				"title": hostile, "status": status, "detail": hostile, "reason": hostile, "hint": hostile,
				"errors": []map[string]any{{"message": hostile, "location": hostile, "value": hostile}},
			}
		case strings.HasSuffix(r.URL.Path, "/import"):
			kind = "application/x-ndjson"
		case strings.HasSuffix(r.URL.Path, "/now"): // one queue with openings, and one without
			n := *filled[wire.Now]()
			n.Queues = append(n.Queues, n.Queues[0])
			n.Queues[1].Openings, n.Queues[1].Cluster = nil, "other"
			answer = n
		}
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// harmless fails the test if text contains a character that cannot be printed, or a line that the hostile name has
// forged.
func harmless(t *testing.T, what, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if strings.ContainsFunc(line, func(r rune) bool { return r != '\t' && !unicode.IsPrint(r) }) ||
			strings.HasPrefix(line, "FORGED") {
			t.Errorf("%s prints %q", what, line)
		}
	}
}

// questions returns commands that send requests to a daemon.
func questions(log, script string) map[string][]string {
	return map[string][]string{
		"wait":          {"wait", "-q", "a", "-n", "1", "-t", "1h"},
		"wait, several": {"wait", "-q", "a,b", "-n", "1,2", "-t", "1h"}, "wait, a script": {"wait", script},
		"now": {"now"}, "status": {"status"}, "jobs": {"jobs"}, "a job": {"jobs", hostile}, "forecast": {"forecast"},
		"accuracy": {"accuracy"}, "models": {"models", hostile}, "all models": {"models"},
		"size":       {"size", "-q", "a", "--sizes", "1,2", "--amdahl", "0,1h"},
		"quarantine": {"quarantine"}, "log level": {"log-level"}, "new log level": {"log-level", "debug"},
		"import": {"import", "--format", "swf", log}, "live workload": {"generate", "--live", hostile},
	}
}

// TestHostileNames proves that no command prints anything that controls a terminal or forges a line. Hostile names are
// in every string that a daemon can send, in arguments, in names of files and in files. The commands print text and
// JSON, answers and refusals.
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
	token := write("token", secretToken+"\n")
	trace := write("trace", "; Computer: \x1b[31m\u202e\n; MaxProcs: 8\nbad \x1b[2J\u202e line\n"+
		strings.Repeat("1 0 5 60 1 -1 -1 1 100 -1 1 1 1 1 1 -1 -1 -1\n", 30))
	script := write("script", "#!/bin/sh\n#SBATCH -n 1 --odd=\x1b[31m\u202e\n#SBATCH --time=10\n#SBATCH -p "+
		"\x1b[31m\u202e\n#SBATCH --hold\n")
	commands := questions(trace, script)
	for name, args := range map[string][]string{
		"no command": {hostile}, "no flag": {"now", "--" + hostile},
		"no value": {"wait", "-q", hostile, "-n", hostile, "-t", hostile},
		"fit":      {"fit", trace}, "compare": {"compare", trace, trace}, "shake": {"shake", trace},
		"resample": {"resample", trace},
		"simulate": {"simulate", "--policy", "easy", trace}, "backtest": {"backtest", trace},
		"backtest, head": {"backtest", "--mode", "head", trace},
		"study":          {"study", trace, "--out", filepath.Join(dir, "out"+hostile)},
		"no file":        {"fit", filepath.Join(dir, "missing"+hostile)},
		"store":          {"store", "info", "--database", filepath.Join(dir, "missing"+hostile)},
		"no script":      {"wait", filepath.Join(dir, "missing"+hostile)},
		"backup":         {"store", "backup", filepath.Join(dir, hostile)}, "restore": {"store", "restore", trace},
		"copy":  {"store", "copy", "--from", trace, "--to", trace},
		"token": {"token", "new", "--role", hostile, hostile},
	} {
		commands[name] = args
	}
	for _, status := range []int{http.StatusOK, http.StatusUnprocessableEntity, http.StatusServiceUnavailable} {
		env := map[string]string{"WAITCAST_URL": hostileDaemon(t, status), "WAITCAST_TOKEN_FILE": token}
		for name, args := range commands {
			records := args[0] == "shake" || args[0] == "resample" || args[0] == "simulate" || name == "live workload"
			for _, also := range [][]string{nil, {"--json"}} {
				r := runEnv(env, nil, false, append(args[:len(args):len(args)], also...)...)
				if !records { // in a file every byte counts
					harmless(t, name+", standard output", r.stdout)
				}
				harmless(t, name+", standard error", r.stderr)
			}
		}
	}
	for name, url := range map[string]string{"no daemon": "http://127.0.0.1:1/" + hostile, "no address": hostile} {
		harmless(t, name, runWith(url, "now").stderr)
		harmless(t, name, runWith("", "now", "--url", url).stderr)
	}
}
