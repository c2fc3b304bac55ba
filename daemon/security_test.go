package daemon_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/client"
	"github.com/waitcast/waitcast/internal/certtest"
	"github.com/waitcast/waitcast/internal/mungetest"
	"github.com/waitcast/waitcast/internal/token"
)

// securityExamples returns the YAML examples of docs/security.md by the name of the file in their first line, in order.
func securityExamples(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, m := range regexp.MustCompile("(?s)```yaml\n# (\\w+\\.yaml)\n(.*?)```").FindAllSubmatch(text, -1) {
		out[string(m[1])] = append(out[string(m[1])], string(m[2]))
	}
	if n := strings.Count(string(text),
		"```yaml"); n != len(out["waitcastd.yaml"])+len(out["tokens.yaml"])+len(out["web.yaml"]) || n < 6 {
		t.Fatalf("%d examples, of which are known %v", n, out)
	}
	return out
}

// TestDocsSecurityExamples proves that a daemon starts with every configuration in docs/security.md and the tokens and
// web-config files there, and accepts the credentials that they define.
func TestDocsSecurityExamples(t *testing.T) {
	examples := securityExamples(t)
	for i, text := range examples["waitcastd.yaml"] {
		for _, web := range examples["web.yaml"] {
			if i > 0 && !strings.Contains(text, "web_config_file") {
				web = ""
			}
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				dir, authority := t.TempDir(), certtest.New(t)
				authority.Issue(dir, "server")
				ca, err := os.ReadFile(authority.File)
				if err != nil {
					t.Fatal(err)
				}
				write(t, filepath.Join(dir, "ca.crt"), string(ca))
				write(t, filepath.Join(dir, "tokens.yaml"), examples["tokens.yaml"][0])
				write(t, filepath.Join(dir, "web.yaml"), web)
				text := strings.NewReplacer("/etc/waitcast", dir, "/run/waitcast", dir).Replace(
					regexp.MustCompile(`(?m)^listen:.*$`).ReplaceAllString(text, ""))
				s := newSite(t, "accounting", text)
				if strings.Contains(text, "munge: true") {
					mungetest.Start(t)
				}
				d := s.start(t)
				cert, key := authority.Issue(dir, "someone")
				credentials := client.Credentials{CA: authority.File, Cert: cert, Key: key}
				if strings.Contains(text, "tokens_file") {
					credentials.Token = "WMNKDNCCMFDPYE3ACOG6X63NPR" // in docs/command.md
				}
				// The role of a certificate is public: a client with a certificate is identified, and needs no other
				// credential.
				refusal := http.StatusUnauthorized
				if strings.Contains(text, "munge: true") {
					credentials.Munge = true
					if strings.Contains(web, "client_ca_file") {
						refusal = http.StatusForbidden
					}
				}
				shown, err := credentials.HTTPClient()
				if err != nil {
					t.Fatal(err)
				}
				defer shown.CloseIdleConnections()
				url := "http://" + d.Addr().String()
				if strings.Contains(text, "web_config_file") {
					url = "https://" + d.Addr().String()
					if strings.Contains(web, "basic_auth_users") {
						url = strings.Replace(url, "://", "://alice:correct%20horse@", 1)
					}
				}
				ask, err := client.New(url, shown)
				if err != nil {
					t.Fatal(err)
				}
				var problem *client.ProblemError
				_, _, err = ask.Jobs(t.Context(), client.JobsQuery{Limit: 1})
				if !errors.As(err, &problem) && err != nil ||
					problem != nil &&
						(problem.Status != http.StatusServiceUnavailable && problem.Status != refusal) {
					t.Errorf("%v", err)
				}
				if _, _, err := ask.Queues(t.Context(), ""); err != nil {
					t.Errorf("%v", err)
				}
			})
		}
	}
}

// TestPythonOverTLS proves that the Python client connects to a daemon over TLS with a client certificate and a token,
// gets only its user's jobs, and parses a refusal.
func TestPythonOverTLS(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 missing: Debian package python3")
	}
	authority, dir := certtest.New(t), t.TempDir()
	cert, key := authority.Issue(dir, "server")
	mine, mineKey := authority.Issue(dir, "mine")
	write(t, filepath.Join(dir, "web.yaml"),
		fmt.Sprintf("tls_server_config: {cert_file: %q, key_file: %q, client_ca_file: %q, client_auth_type: "+
			"RequireAndVerifyClientCert}\n", cert, key, authority.File))
	line, err := (&token.Token{Name: "u1", Role: "user", User: "u1", SHA256: token.Hash("the-token-of-u1")}).Line()
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "tokens.yaml"), line)
	s := newSite(t, "accounting", fmt.Sprintf("web_config_file: %q\ntokens_file: %q\n", filepath.Join(dir, "web.yaml"),
		filepath.Join(dir, "tokens.yaml")))
	d := s.start(t)
	program := `
import json, waitcast
told = []
for token in ("", "the-token-of-u1", "another"):
    try:
        told.append(waitcast.Client(token=token).queues()["stale"])
        told.append(waitcast.Client(token=token).job("7")["id"])
    except waitcast.ProblemError as problem:
        told.append(problem.status)
print(json.dumps(told))
`
	cmd := exec.CommandContext(t.Context(), python, "-c", program)
	cmd.Env = append(os.Environ(), "PYTHONPATH=../client/python", "PYTHONDONTWRITEBYTECODE=1",
		"WAITCAST_URL=https://"+d.Addr().String(),
		"WAITCAST_CA="+authority.File, "WAITCAST_CERT="+mine, "WAITCAST_KEY="+mineKey)
	out, err := cmd.CombinedOutput()
	// No record has been read, so callers with the right to a forecast get status 503.
	if got := strings.TrimSpace(string(out)); err != nil || got != "[true, 403, true, 503, 401]" {
		t.Errorf("%v: %s", err, got)
	}
}

// TestHashedNamesOverRestart proves that with access.users: hashed others see a pseudonym of a job's user, the same
// after a restart, and an administrator with the generated token sees the name.
func TestHashedNamesOverRestart(t *testing.T) {
	s := newSite(t, "accounting", "access: {users: hashed}\n")
	log := workload(t, 4, 100)
	half := log[:len(log)/2]
	s.add(t, text(half))
	hashes := func(d *running, credential string) map[string]string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+d.Addr().String()+"/v1/jobs", nil)
		if err != nil {
			t.Fatal(err)
		}
		if credential != "" {
			req.Header.Set("Authorization", "Bearer "+credential)
		}
		resp, err := d.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		var jobs wire.Jobs
		if err := json.NewDecoder(resp.Body).Decode(&jobs); err != nil || len(jobs.Jobs) == 0 {
			t.Fatalf("%d jobs, %v", len(jobs.Jobs), err)
		}
		out := map[string]string{}
		for _, j := range jobs.Jobs {
			out[j.ID] = j.User
		}
		return out
	}
	d := s.start(t)
	d.caughtUp()
	content, err := os.ReadFile(filepath.Join(s.dir, "admin-token"))
	if err != nil {
		t.Fatal(err)
	}
	names, first := hashes(d, strings.TrimSpace(string(content))), hashes(d, "")
	d.stop()
	d = s.start(t)
	d.caughtUp()
	second := hashes(d, "")
	for id, name := range names {
		if !regexp.MustCompile(`^u-[a-z2-7]{8}$`).MatchString(first[id]) || first[id] != second[id] || name == "" ||
			strings.Contains(first[id], name) {
			t.Errorf("job %s of %q: %q, after the restart %q", id, name, first[id], second[id])
		}
	}
}

// TestOpenToOthers proves that the log warns if other hosts can reach a daemon that has neither TLS nor tokens.
func TestOpenToOthers(t *testing.T) {
	s := newSite(t, "accounting", "")
	text, err := os.ReadFile(s.config)
	if err != nil {
		t.Fatal(err)
	}
	write(t, s.config, strings.Replace(string(text), "127.0.0.1:0", "0.0.0.0:0", 1))
	d := s.start(t)
	d.wantLog("without TLS")
	d.wantLog("tokens_file")
}
