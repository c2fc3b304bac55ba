package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/client"
)

// importFrom imports a short log into a server that does what the handler does.
func importFrom(t *testing.T, log io.Reader, silence time.Duration, handler http.HandlerFunc) error {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, server.Client())
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = c.Import(t.Context(), "token", client.Import{Format: "swf", Log: log, Silence: silence})
	return err
}

// A daemon that says nothing any more is given up, also while the log itself says nothing.
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

// What is no import's answer is said to be none.
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
