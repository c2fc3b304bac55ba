package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/api"
	"github.com/waitcast/waitcast/api/wire"
)

// TestAdminOnly proves that requests for administrators need the token in the Authorization header, and have no effect
// without it. The refusal says where the token is. Other paths need no token.
func TestAdminOnly(t *testing.T) {
	f := serve(t, main(10))
	f.takeIn = func(context.Context, api.ImportRequest, func(wire.ImportProgress)) (*wire.ImportReport, error) {
		t.Error("an import without the token")
		return nil, errors.New("no")
	}
	for _, header := range []http.Header{
		nil, {"Authorization": {adminToken}}, {"Authorization": {"Bearer"}}, {"Authorization": {"Bearer "}},
		{"Authorization": {"Basic " + adminToken}},
		{"Authorization": {"Bearer " + adminToken + "x"}}, {"Authorization": {"Bearer " + adminToken[1:]}},
		{"Cookie": {"Authorization=Bearer " + adminToken}}, {"X-Admin-Token": {adminToken}},
	} {
		for path, method := range map[string]string{
			"/v1/quarantine": "GET", "/v1/quarantine?limit=no": "GET", "/v1/import?format=swf": "POST",
			"/v1/import": "POST",
		} {
			a := f.do(method, path, header)
			var p wire.Problem
			if err := json.Unmarshal(a.body, &p); err != nil || a.status != http.StatusUnauthorized ||
				p.Status != a.status || !strings.Contains(p.Hint, "admin_token_file") {
				t.Errorf("%s %s with %v: %d, %s", method, path, header, a.status, a.body)
			}
			if a.header.Get("WWW-Authenticate") == "" || a.header.Get("Content-Type") != "application/problem+json" ||
				strings.Contains(string(a.body), adminToken) {
				t.Errorf("%s %s with %v: header %v, body %s", method, path, header, a.header, a.body)
			}
		}
	}
	if a := f.do("GET", "/v1/queues", nil); a.status != http.StatusOK {
		t.Errorf("queues without the token: %d", a.status)
	}
	for _, scheme := range []string{"Bearer ", "bearer ", "BEARER  "} {
		if a := f.do("GET", "/v1/quarantine?cluster=main&limit=7",
			http.Header{"Authorization": {scheme + adminToken}}); a.status != http.StatusOK ||
			!strings.Contains(string(a.body), `"matching":7`) || a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("with the token: %d, %v, %s", a.status, a.header, a.body)
		}
	}
}

// TestNoTokenNoAdmin proves that a server without a token treats no caller as administrator, not even a caller with
// an empty token.
func TestNoTokenNoAdmin(t *testing.T) {
	f := serve(t, main(10))
	s := api.New(f.pipeline, api.Options{Now: time.Now, Registry: prometheus.NewRegistry(), Log: zap.NewNop(),
		Admin: &api.Admin{Quarantine: quarantined}})
	for _, header := range []string{"", "Bearer", "Bearer ", "Bearer x"} {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/quarantine", nil)
		req.Header.Set("Authorization", header)
		rec := httptest.NewRecorder()
		if s.Handler().ServeHTTP(rec, req); rec.Code != http.StatusUnauthorized {
			t.Errorf("%q: %d", header, rec.Code)
		}
	}
}

// importer sends a body to a real server and returns the answer.
func importer(t *testing.T, f *fixture, query string, body io.Reader) *http.Response {
	t.Helper()
	server := httptest.NewServer(f.server.Handler())
	t.Cleanup(server.Close)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/v1/import?"+query, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+adminToken)
	resp, err := server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// TestImportAnswersWhileItReads proves that progress is reported before the log has been read to its end. The report
// comes at the end.
func TestImportAnswersWhileItReads(t *testing.T) {
	f := serve(t, main(10))
	f.takeIn = func(_ context.Context, req api.ImportRequest,
		progress func(wire.ImportProgress)) (*wire.ImportReport, error) {
		if req.Cluster != "main" || req.Format != "swf" || req.Mode != "exact" {
			t.Errorf("%+v", req)
		}
		progress(wire.ImportProgress{Lines: 5})
		name, file, err := req.Files.Next()
		if err != nil || name != "a b" {
			t.Errorf("file %q, %v", name, err)
		}
		body, err := io.ReadAll(file)
		if _, _, end := req.Files.Next(); !errors.Is(end, io.EOF) || req.Files.Failed() != nil ||
			req.Files.Read() != int64(len(body)) {
			t.Errorf("%v, %v, %d bytes", end, req.Files.Failed(), req.Files.Read())
		}
		return &wire.ImportReport{Bytes: int64(len(body))}, err
	}
	body, feed := io.Pipe()
	resp := importer(t, f, "format=swf&mode=exact&name=a+b", body) //nolint:bodyclose // the end of the test does
	lines := bufio.NewScanner(resp.Body)
	next := func() (l wire.ImportLine) {
		t.Helper()
		if !lines.Scan() {
			t.Fatalf("no more lines: %v", lines.Err())
		}
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		return l
	}
	if l := next(); l.Progress == nil || l.Progress.Lines != 5 || resp.StatusCode != http.StatusOK {
		t.Errorf("first line %+v, status %d", l, resp.StatusCode)
	}
	if _, err := io.WriteString(feed, "some text"); err != nil {
		t.Fatal(err)
	}
	if err := feed.Close(); err != nil {
		t.Fatal(err)
	}
	l := next()
	for l.Progress != nil {
		l = next()
	}
	if l.Report == nil || l.Report.Bytes != 9 {
		t.Errorf("last line %+v", l)
	}
}

// TestImportRefusalReachesASendingClient proves that a client that is still sending a long log receives the reason of a
// refusal, both before the first line of the answer and after it.
func TestImportRefusalReachesASendingClient(t *testing.T) {
	for _, begun := range []bool{false, true} {
		t.Run(fmt.Sprintf("begun=%v", begun), func(t *testing.T) {
			f := serve(t, main(10))
			heard := make(chan struct{})
			hear := sync.OnceFunc(func() { close(heard) })
			f.takeIn = func(_ context.Context, req api.ImportRequest,
				_ func(wire.ImportProgress)) (*wire.ImportReport, error) {
				_, file, err := req.Files.Next()
				if err != nil {
					t.Error(err)
				}
				if _, err := io.ReadFull(file, make([]byte, 1000)); err != nil {
					t.Error(err)
				}
				if begun {
					<-heard
				}
				return nil, &api.Refused{Status: http.StatusUnprocessableEntity, Detail: "of no use"}
			}
			//nolint:bodyclose // the end of the test does
			resp := importer(t, f, "format=swf", io.LimitReader(endless{}, 1<<30))
			lines := bufio.NewScanner(resp.Body)
			for lines.Scan() {
				if strings.Contains(lines.Text(), "progress") {
					hear()
					continue
				}
				if !strings.Contains(lines.Text(), "of no use") ||
					(resp.StatusCode == http.StatusUnprocessableEntity) == begun {
					t.Errorf("status %d: %s", resp.StatusCode, lines.Text())
				}
				return
			}
			t.Errorf("status %d, no refusal: %v", resp.StatusCode, lines.Err())
		})
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// uploaded has the files of an import by name. failed means that the transfer was incomplete.
type uploaded struct {
	files  map[string]string
	failed bool
}

// takeAll reads all files.
func takeAll(files api.ImportFiles) (u uploaded, err error) {
	u.files = map[string]string{}
	for {
		name, file, err := files.Next()
		if errors.Is(err, io.EOF) {
			u.failed = files.Failed() != nil
			return u, nil
		}
		if err != nil {
			return u, err
		}
		text, _ := io.ReadAll(file) // Failed returns the error
		u.files[name] = string(text)
	}
}

// TestImportOfAForm proves that all parts of a form with the name file belong to one import, even without a file name.
// A form that is truncated anywhere is detected, and parts with other names are refused.
func TestImportOfAForm(t *testing.T) {
	f := serve(t, main(10))
	var got uploaded
	f.takeIn = func(_ context.Context, req api.ImportRequest, _ func(wire.ImportProgress)) (*wire.ImportReport, error) {
		var err error
		got, err = takeAll(req.Files)
		return &wire.ImportReport{}, err
	}
	send := func(kind, encoding, body string) (int, string) {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/import", strings.NewReader(body))
		req.Header.Set("Authorization", "Bearer "+adminToken)
		req.Header.Set("Content-Type", kind)
		req.Header.Set("Content-Encoding", encoding)
		rec := httptest.NewRecorder()
		f.server.Handler().ServeHTTP(rec, req)
		return rec.Code, rec.Body.String()
	}
	const kind = "multipart/form-data; boundary=xyz"
	const form = "--xyz\r\nContent-Disposition: form-data; name=file; filename=\"/old/a\"\r\n\r\none\r\n" +
		"--xyz\r\nContent-Disposition: form-data; name=file\r\n\r\ntwo\r\n--xyz--\r\n"
	status, body := send(kind, "", form)
	if want := (uploaded{map[string]string{"/old/a": "one", "import": "two"}, false}); status != http.StatusOK ||
		!reflect.DeepEqual(got, want) {
		t.Errorf("%d, %s, %+v, want %+v", status, body, got, want)
	}
	end := len(form) - len("--\r\n")
	for cut := range end {
		if send(kind, "", form[:cut]); !got.failed {
			t.Errorf("%q counts as whole", form[:cut])
		}
	}
	for name, c := range map[string]struct {
		kind, encoding, body string
		status               int
	}{
		"another part": {kind, "", strings.Replace(form, "name=file", "name=mode", 1), http.StatusUnprocessableEntity},
		"no boundary":  {"multipart/form-data", "", form, http.StatusUnsupportedMediaType},
		"compressed":   {kind, "gzip", form, http.StatusUnsupportedMediaType},
		"a long name": {kind, "", strings.Replace(form, "/old", strings.Repeat("x", 1025), 1),
			http.StatusUnprocessableEntity},
	} {
		if status, body := send(c.kind, c.encoding, c.body); status != c.status {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
}
