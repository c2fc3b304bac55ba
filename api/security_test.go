package api_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/api"
	"github.com/waitcast/waitcast/api/access"
	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/internal/certtest"
	"github.com/waitcast/waitcast/internal/token"
	"github.com/waitcast/waitcast/job"
)

// These are the tokens of the guarded server.
const (
	userToken, otherToken = "token-of-the-secret-user", "token-of-somebody-else"
	managerToken          = "token-of-the-manager"
)

// guarded is a server on the lively fixture with tokens, over HTTP or HTTPS.
type guarded struct {
	*fixture
	server *httptest.Server
}

// guard starts a server with a tokens file. change may modify the policy.
func guard(t testing.TB, secure bool, change func(*access.Options)) *guarded {
	t.Helper()
	f := lively(t)
	begin := f.now
	stranger := one{id: "strange", queue: "work", procs: 5, submit: begin.Sub(epoch()).Seconds() - 30, start: -1,
		end: -1}.events("main")
	stranger[0].User, stranger[0].Account, stranger[0].Name = "stranger", "strange-account", "strange-name"
	f.feed("main",
		append(stranger, job.Event{Kind: job.Hold, Cluster: "main", ID: "strange", Time: stranger[0].Time})...)
	dir := t.TempDir()
	var lines strings.Builder
	for _, e := range []token.Token{
		{Name: "mine", Role: "user", User: secret, SHA256: token.Hash(userToken)},
		{Name: "other", Role: "user", User: "nobody", SHA256: token.Hash(otherToken)},
		{Name: "manager", Role: "admin", SHA256: token.Hash(managerToken)},
	} {
		line, err := e.Line()
		if err != nil {
			t.Fatal(err)
		}
		lines.WriteString(line)
	}
	o := access.Options{AdminToken: adminToken, Policy: access.Default(), TokensFile: filepath.Join(dir, "tokens.yaml"),
		Registry: f.registry}
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(o.TokensFile, lines.String())
	authority := certtest.New(t)
	if secure {
		cert, key := authority.Issue(dir, "server")
		o.WebConfigFile = filepath.Join(dir, "web.yaml")
		write(o.WebConfigFile, fmt.Sprintf("tls_server_config: {cert_file: %q, key_file: %q}\n", cert, key))
	}
	if change != nil {
		change(&o)
	}
	o.Registry = prometheus.NewRegistry()
	g, err := access.New(o)
	if err != nil {
		t.Fatal(err)
	}
	s := api.New(f.pipeline, api.Options{
		Version: "test", StaleAfter: staleAfter, Now: f.clock, Registry: prometheus.NewRegistry(), Log: zap.NewNop(),
		Accuracy: f.ledger, History: f.waited, Recent: f.recent, Guard: g,
		Admin: &api.Admin{Quarantine: quarantined, LogLevel: &fixedLevel{"info"},
			Import: func(_ context.Context, req api.ImportRequest,
				_ func(wire.ImportProgress)) (*wire.ImportReport, error) {
				_, err := takeAll(req.Files)
				return &wire.ImportReport{}, err
			}},
	})
	f.server = s
	out := &guarded{fixture: f, server: httptest.NewUnstartedServer(s.Handler())}
	if secure {
		out.server.TLS, out.server.EnableHTTP2 = g.TLS(), true
		out.server.StartTLS()
		out.server.Client().Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: authority.Pool,
			MinVersion: tls.VersionTLS12}
	} else {
		out.server.Start()
	}
	t.Cleanup(out.server.Close)
	return out
}

// clock returns the fixture's time.
func (f *fixture) clock() time.Time { return f.now }

// question is a valid request to an endpoint.
type question struct{ path, body string }

// questions returns a request for each pattern that is not a path itself.
func questions() map[string]question {
	size := `{"places":[{"queue":"work"}],"sizes":[2,4],"runtime":{"amdahl":{"serial":0.1,"t1_seconds":3600}}}`
	return map[string]question{
		"GET /v1/wait":                     {path: "/v1/wait?queue=work&procs=4&time_limit=1h"},
		"POST /v1/wait":                    {"/v1/wait", `{"places":[{"queue":"work"}],"procs":[2,4]}`},
		"POST /v1/size":                    {"/v1/size", size},
		"GET /v1/watch":                    {path: "/v1/watch?request=" + url.QueryEscape(size)},
		"GET /v1/models/{queue}":           {path: "/v1/models/work"},
		"GET /v1/models/{queue}/lifetimes": {path: "/v1/models/work/lifetimes"},
		"GET /{$}":                         {path: "/"},
		"GET /page/":                       {path: "/page/page.css"},
		"GET /v1/workload":                 {path: "/v1/workload?queue=work&model=uniform_log&jobs=3"},
		"GET /v1/jobs/{id}":                {path: "/v1/jobs/strange"},
		"GET /v1/history":                  {path: "/v1/history?queue=work"},
		"GET /v1/when":                     {path: "/v1/when?queue=work&procs=4&time_limit=1h"},
		"GET /v1/me":                       {path: "/v1/me?user=" + secret},
		"POST /v1/import":                  {"/v1/import?format=swf", "; a log\n"},
		"PUT /v1/log-level":                {"/v1/log-level", `{"level":"debug"}`},
	}
}

// ask returns the status and the body; for a stream its first line.
func (g *guarded) ask(method string, q question, credential string) (answer, string) {
	g.Helper()
	ctx, cancel := context.WithCancel(g.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, g.server.URL+q.path, strings.NewReader(q.body))
	if err != nil {
		g.Fatal(err)
	}
	if req.Header.Set("Content-Type", "application/json"); credential != "" {
		req.Header.Set("Authorization", "Bearer "+credential)
	}
	resp, err := g.server.Client().Do(req)
	if err != nil {
		g.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.Header.Get("Content-Type") == "text/event-stream" {
		line, err := bufio.NewReader(resp.Body).ReadString('\n')
		if err != nil {
			g.Error(err)
		}
		return answer{status: resp.StatusCode, header: resp.Header}, line
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		g.Error(err)
	}
	return answer{status: resp.StatusCode, header: resp.Header}, string(body)
}

// rights reads the table in docs/security.md: the cells for each pattern.
func rights(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([A-Z]+ /[^`]*)` \\| ([^|]+) \\| ([^|]+) \\| ([^|]+) \\|$").
		FindAllStringSubmatch(string(text), -1) {
		out[m[1]] = m[2:]
	}
	return out
}

// TestAuthorizationMatrix sends requests to every endpoint with four kinds of credentials: none, a wrong one, a user's
// and an administrator's, over HTTP and HTTPS. The answers must follow the table in docs/security.md. The test fails if
// an endpoint is missing in the table.
func TestAuthorizationMatrix(t *testing.T) {
	table := rights(t)
	for _, secure := range []bool{false, true} {
		t.Run(map[bool]string{false: "http", true: "https"}[secure], func(t *testing.T) {
			g := guard(t, secure, nil)
			g.fixture.TB = t
			asked := 0
			for _, pattern := range g.fixture.server.Patterns() {
				cells, ok := table[pattern]
				if !ok {
					t.Errorf("%s is not in the table of docs/security.md: who may ask that?", pattern)
					continue
				}
				for i, credential := range []string{
					"", userToken, managerToken, adminToken, "a-wrong-token-of-a-test",
				} {
					cell := append(cells, cells[2], "401")[i]
					if i == 4 && pattern == "GET /healthz" {
						cell = "yes"
					}
					g.compare(pattern, credential, cell)
					asked++
				}
			}
			for pattern := range table {
				if !slices.Contains(g.fixture.server.Patterns(), pattern) {
					t.Errorf("the table of docs/security.md has %s, which there is not", pattern)
				}
			}
			t.Logf("%d requests", asked)
		})
	}
}

// compare sends a request and compares the answer with a cell of the table.
func (g *guarded) compare(pattern, credential, cell string) {
	g.Helper()
	method, path, _ := strings.Cut(pattern, " ")
	q, ok := questions()[pattern]
	if !ok {
		q = question{path: path}
	}
	want := map[string]int{"yes": http.StatusOK, "own": http.StatusOK, "401": http.StatusUnauthorized,
		"403": http.StatusForbidden}[cell]
	young := []string{"GET /v1/forecast", "GET /v1/when", "GET /v1/workload"}
	if slices.Contains(young, pattern) && want == http.StatusOK {
		want = http.StatusServiceUnavailable // the history of the fixture is too short
	}
	if pattern == "GET /v1/jobs/{id}" && cell == "own" {
		want = http.StatusNotFound
	}
	resp, body := g.ask(method, q, credential)
	if resp.status != want {
		g.Errorf("%s with %q: %d, want %d: %.200s", pattern, credential, resp.status, want, body)
	}
	if strings.Contains(body, "strange-account") != (cell == "yes" && strings.HasPrefix(pattern, "GET /v1/jobs")) {
		g.Errorf("%s with %q tells of another's account: %.300s", pattern, credential, body)
	}
	if resp.status == http.StatusUnauthorized && resp.header.Get("WWW-Authenticate") == "" {
		g.Errorf("%s with %q: 401 without WWW-Authenticate", pattern, credential)
	}
	if resp.status == http.StatusForbidden && !strings.Contains(body, "needs the role admin") {
		g.Errorf("%s with %q: which role? %s", pattern, credential, body)
	}
	if want >= 400 && resp.header.Get("Content-Type") != "application/problem+json" {
		g.Errorf("%s with %q: %s", pattern, credential, resp.header.Get("Content-Type"))
	}
	g.headers(pattern, resp)
}

// headers checks the headers that every answer has.
func (g *guarded) headers(pattern string, resp answer) {
	g.Helper()
	policy := "default-src 'none'; frame-ancestors 'none'"
	if strings.Contains(resp.header.Get("Content-Type"), "text/html") || strings.HasPrefix(pattern, "GET /page/") &&
		resp.status == http.StatusOK {
		policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
			"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
	}
	for name, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Content-Security-Policy":      policy, "Access-Control-Allow-Origin": "",
		"Strict-Transport-Security": map[bool]string{true: "max-age=86400"}[g.server.TLS != nil],
	} {
		if got := resp.header.Get(name); got != want {
			g.Errorf("%s: %s is %q, want %q", pattern, name, got, want)
		}
	}
}

// TestOwnJobs proves that a user sees the user's own jobs with names and no other jobs, and that an administrator sees
// all jobs. For each setting it also proves which callers see names, and in which form.
func TestOwnJobs(t *testing.T) {
	users := func(g *guarded, credential string) map[string]string {
		t.Helper()
		resp, body := g.ask(http.MethodGet, question{path: "/v1/jobs"}, credential)
		var jobs wire.Jobs
		if err := json.Unmarshal([]byte(body), &jobs); err != nil || resp.status != http.StatusOK ||
			jobs.Waiting != len(jobs.Jobs) {
			t.Fatalf("%d, %v: %s", resp.status, err, body)
		}
		out := map[string]string{}
		for _, j := range jobs.Jobs {
			out[j.ID] = j.User
			if (j.Account != "") != (credential == managerToken || credential == userToken && j.User == secret) {
				t.Errorf("%q is told the account of %+v", credential, j)
			}
		}
		return out
	}
	names, err := access.LoadNames(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{"c": secret, "d": secret, "strange": "stranger"}
	own := map[string]string{"c": secret, "d": secret}
	none := map[string]string{"c": "", "d": "", "strange": ""}
	for _, c := range []struct {
		name             string
		others           access.Role
		show             access.Show
		nobody, me, peer map[string]string
	}{
		{"as tokens have it", access.Admin, access.Hidden, nil, own, map[string]string{}},
		{"users see all", access.User, access.Hidden, nil,
			map[string]string{"c": secret, "d": secret, "strange": ""}, none},
		{"everybody sees all", access.Public, access.Hidden, none,
			map[string]string{"c": secret, "d": secret, "strange": ""}, none},
		{"shown", access.Public, access.Shown, all, all, all},
		{"hashed", access.User, access.Hashed, nil,
			map[string]string{"c": secret, "d": secret, "strange": names.Hash("stranger")},
			map[string]string{"c": names.Hash(secret), "d": names.Hash(secret), "strange": names.Hash("stranger")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := guard(t, false, func(o *access.Options) {
				o.Policy.OthersAuto, o.Policy.Others, o.Policy.Users, o.Names = false, c.others, c.show, names
			})
			tags := map[string]bool{}
			for credential, want := range map[string]map[string]string{
				"": c.nobody, userToken: c.me, otherToken: c.peer, managerToken: all,
			} {
				if want == nil {
					if resp, body := g.ask(http.MethodGet, question{path: "/v1/jobs"},
						credential); resp.status != http.StatusUnauthorized {
						t.Errorf("nobody: %d %s", resp.status, body)
					}
					continue
				}
				resp, _ := g.ask(http.MethodGet, question{path: "/v1/jobs"}, credential)
				if tag := resp.header.Get("ETag"); tags[tag] || tag == "" {
					t.Errorf("%q gets the ETag %q, which another has got", credential, tag)
				} else {
					tags[tag] = true
				}
				if got := users(g, credential); fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("%q sees %v, want %v", credential, got, want)
				}
			}
		})
	}
}

// TestAskingInOthersNames proves who may send requests in another user's name, for every request with a user, an
// account, a user's runs or a running job.
func TestAskingInOthersNames(t *testing.T) {
	g := guard(t, false, nil)
	size := func(more string) string {
		return `{"places":[{"queue":"work"}],"sizes":[2],"runtime":{"amdahl":{"serial":0.1,"t1_seconds":360000}}` +
			more + `}`
	}
	history := `{"places":[{"queue":"work"}],"sizes":[2],"runtime":{"history":{"user":"USER","name":"solver"}}}`
	running := `{"sizes":[2,4],"runtime":{"amdahl":{"serial":0.1,"t1_seconds":360000}},"running":{"job_id":"a"}}`
	watch := func(body string) question { return question{path: "/v1/watch?request=" + url.QueryEscape(body)} }
	for _, c := range []struct {
		method        string
		q             question // USER is replaced by a user's name
		account, mine bool     // account: the request names only an account; mine: it names data of the secret user
	}{
		{"GET", question{path: "/v1/wait?queue=work&procs=2&user=USER"}, false, false},
		{"GET", question{path: "/v1/now?user=USER"}, false, false},
		{"GET", question{path: "/v1/now?account=physics"}, true, false},
		{"POST", question{"/v1/wait", `{"places":[{"queue":"work"}],"procs":[2],"user":"USER"}`}, false, false},
		{"POST", question{"/v1/size", size(`,"user":"USER"`)}, false, false},
		{"POST", question{"/v1/size", size(`,"account":"physics"`)}, true, false},
		{"POST", question{"/v1/size", history}, false, false},
		{"POST",
			question{"/v1/wait",
				`{"places":[{"queue":"work"}],"procs":[2],"runtime":{"history":{"user":"USER","name":"solver"}}}`},
			false, false},
		{"POST", question{"/v1/size", running}, false, true},
		{"GET", watch(size(`,"user":"USER"`)), false, false},
		{"GET", watch(history), false, false},
	} {
		for _, user := range []string{secret, "nobody"} {
			q := question{strings.ReplaceAll(c.q.path, "USER", user), strings.ReplaceAll(c.q.body, "USER", user)}
			for credential, self := range map[string]string{
				"": "-", userToken: secret, otherToken: "nobody", managerToken: "-",
			} {
				resp, body := g.ask(c.method, q, credential)
				refused := resp.status == http.StatusForbidden || resp.status == http.StatusUnauthorized ||
					resp.status == http.StatusNotFound && strings.Contains(body, "of yours")
				may := credential == managerToken || credential != "" && (c.account || user == self)
				if c.mine {
					may = credential == managerToken || self == secret
				}
				if refused == may || (resp.status == http.StatusUnauthorized) != (credential == "") ||
					resp.status >= 500 {
					t.Errorf("%s %s %s with %q: %d, want it allowed: %v: %.200s", c.method, q.path, q.body, credential,
						resp.status, may, body)
				}
			}
		}
	}
}

// TestDefaultInstallation proves that without tokens everybody sees the waiting jobs without names.
func TestDefaultInstallation(t *testing.T) {
	f := lively(t)
	a := f.do(http.MethodGet, "/v1/jobs", nil)
	var jobs wire.Jobs
	if err := json.Unmarshal(a.body, &jobs); err != nil || len(jobs.Jobs) != 2 ||
		strings.Contains(string(a.body), secret) {
		t.Errorf("%v: %s", err, a.body)
	}
	if w := f.wait("queue=work&procs=4&user=anybody"); w.Procs != 4 {
		t.Errorf("%+v", w)
	}
}

// TestProblemsEverywhere proves that the mux refuses requests in the form of RFC 9457, with the allowed methods. Bodies
// that are too long or invalid give status 4xx.
func TestProblemsEverywhere(t *testing.T) {
	g := guard(t, false, nil)
	for _, c := range []struct {
		method string
		q      question
		status int
		allow  string
	}{
		{"GET", question{path: "/nothing"}, 404, ""}, {"GET", question{path: "/page/nothing"}, 404, ""},
		{"DELETE", question{path: "/v1/jobs"}, 405, "GET, HEAD"},
		{"PUT", question{path: "/v1/wait"}, 405, "GET, HEAD, POST"}, {"GET", question{path: "/v1/size"}, 405, "POST"},
		{"POST", question{"/v1/size", "{"}, 400, ""},
		{"POST", question{"/v1/size", strings.Repeat(" ", 1<<20) + "{}"}, 413, ""},
		{"POST", question{"/v1/size", strings.Repeat("[", 10_000)}, 400, ""},
	} {
		resp, body := g.ask(c.method, c.q, "")
		var p wire.Problem
		if err := json.Unmarshal([]byte(body), &p); err != nil || resp.status != c.status || p.Status != c.status ||
			resp.header.Get("Allow") != c.allow ||
			resp.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %.40s: %d, Allow %q, want %d, %q: %.300s", c.method, c.q.path, resp.status,
				resp.header.Get("Allow"), c.status, c.allow, body)
		}
		g.headers(c.q.path, resp)
	}
}

// TestOtherOrigins proves that a page of another site can neither change anything nor read answers, whatever
// credentials the browser adds.
func TestOtherOrigins(t *testing.T) {
	f := lively(t)
	for _, header := range []http.Header{
		{"Origin": {"https://elsewhere.example"}, "Authorization": {"Bearer " + adminToken}},
		{"Sec-Fetch-Site": {"cross-site"}, "Authorization": {"Bearer " + adminToken}},
	} {
		for _, path := range []string{"/v1/import?format=swf", "/v1/size"} {
			if a := f.do(http.MethodPost, path, header); a.status != http.StatusForbidden ||
				a.header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("%v: %d %s", header, a.status, a.body)
			}
		}
		a := f.do(http.MethodGet, "/v1/queues", header)
		for name := range a.header {
			if strings.HasPrefix(name, "Access-Control") {
				t.Errorf("%s", name)
			}
		}
	}
}
