package client_test

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/waitcast/waitcast/client"
)

// importFrom imports a short log into a server with the given handler.
func importFrom(t *testing.T, log io.Reader, silence time.Duration, handler http.HandlerFunc) error {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, server.Client())
	if err != nil {
		t.Fatal(err)
	}
	file := client.ImportFile{Name: "log", Open: func() (io.ReadCloser, error) { return io.NopCloser(log), nil }}
	in := client.Import{Format: "swf", Silence: silence, Files: []client.ImportFile{file}}
	_, _, err = c.Import(t.Context(), "token", in)
	return err
}

// TestImportGivesUpOnSilence proves that the client ends an import if the daemon is silent for too long, even while the
// log itself yields no bytes.
func TestImportGivesUpOnSilence(t *testing.T) {
	for name, begins := range map[string]bool{"from the beginning": false, "after a while": true} {
		t.Run(name, func(t *testing.T) {
			log, feed := io.Pipe()
			defer feed.Close() //nolint:errcheck // of a pipe
			release := make(chan struct{})
			defer close(release)
			err := importFrom(t, log, 50*time.Millisecond, func(w http.ResponseWriter, _ *http.Request) {
				if begins {
					w.Header().Set("Content-Type", "application/x-ndjson")
					_, _ = io.WriteString(w, `{"progress":{"lines":1}}`+"\n")
					_ = http.NewResponseController(w).Flush()
				}
				<-release
			})
			var unreachable *client.UnreachableError
			if !errors.As(err, &unreachable) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestImportOtherAnswers proves that an answer that is not the answer to an import is an error.
func TestImportOtherAnswers(t *testing.T) {
	for name, answer := range map[string][2]string{
		"HTML": {"text/html", "<p>"}, "JSON": {"application/json", "{}"}, "garbage": {"application/x-ndjson", "{\n"},
		"a report of another kind":  {"application/x-ndjson", `{"report":7}`},
		"a problem of another kind": {"application/x-ndjson", `{"problem":[]}`},
	} {
		err := importFrom(t, strings.NewReader("x"), 0, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", answer[0])
			_, _ = io.WriteString(w, answer[1])
		})
		var other *client.AnswerError
		if !errors.As(err, &other) {
			t.Errorf("%s: %v", name, err)
		}
	}
	err := importFrom(t, strings.NewReader("x"), 0, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		_, _ = io.WriteString(w, "{\"progress\":{}}\n")
	})
	var unreachable *client.UnreachableError
	if !errors.As(err, &unreachable) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("an answer without an end: %v", err)
	}
}

// TestImportSendsAForm proves that several files are sent as parts of one form, with their names, and that each file is
// closed.
func TestImportSendsAForm(t *testing.T) {
	names := []string{"/var/log/a", `odd "name"; \ü`, "-"}
	got, closed := map[string]string{}, 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if q := r.URL.RawQuery; q != "cluster=c&columns=a%2Cb&format=slurm-sacct&mode=fast" {
			t.Errorf("asked %s", q)
		}
		form, err := r.MultipartReader()
		if err != nil {
			t.Error(err)
			return
		}
		for part, err := form.NextPart(); err == nil; part, err = form.NextPart() {
			_, names, _ := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
			text, _ := io.ReadAll(part)
			got[names["name"]+" "+names["filename"]] = string(text)
		}
		w.Header().Set("Content-Type", "application/x-ndjson")
		_, _ = io.WriteString(w, `{"report":{"jobs":7}}`+"\n")
	}))
	defer server.Close()
	c, err := client.New(server.URL, server.Client())
	if err != nil {
		t.Fatal(err)
	}
	in := client.Import{Cluster: "c", Columns: "a,b", Format: "slurm-sacct", Mode: "fast"}
	want := map[string]string{}
	for _, name := range names {
		want["file "+name] = "text of " + name
		in.Files = append(in.Files, client.ImportFile{Name: name, Open: func() (io.ReadCloser, error) {
			return &counted{strings.NewReader("text of " + name), &closed}, nil
		}})
	}
	report, _, err := c.Import(t.Context(), "token", in)
	if err != nil || report.Jobs != 7 || closed != len(names) {
		t.Errorf("%+v, %v, %d files were closed", report, err, closed)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// counted is a log that counts the calls of its Close.
type counted struct {
	io.Reader
	closed *int
}

func (c *counted) Close() error {
	*c.closed++
	return nil
}

// TestImportOfAFileThatFails proves that if a local file cannot be read, the error is that of the file, not the
// daemon's answer to the truncated body.
func TestImportOfAFileThatFails(t *testing.T) {
	broken := errors.New("the disk is broken")
	err := importFrom(t, io.MultiReader(strings.NewReader("x"), iotest.ErrReader(broken)), 0,
		func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(http.StatusUnprocessableEntity)
		})
	var own *client.FileError
	if !errors.As(err, &own) || own.Name != "log" || !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}
