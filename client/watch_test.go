package client_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/client"
)

// answers is a RoundTripper that answers without a network.
type answers func(*http.Request) (*http.Response, error)

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) { return a(r) }

func stream(r *http.Request, body io.Reader) *http.Response {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(body), Request: r,
	}
}

// silent returns a body that has the text and then blocks until the request ends.
func silent(r *http.Request, text string) io.Reader {
	from, to := io.Pipe()
	go func() {
		_, _ = io.WriteString(to, text)
		<-r.Context().Done()
		_ = to.CloseWithError(context.Cause(r.Context()))
	}()
	return from
}

func refused(r *http.Request, status int) *http.Response {
	body, write := io.Pipe()
	go func() {
		_, _ = io.WriteString(write, `{"title":"no","detail":"because"}`)
		_ = write.Close()
	}()
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/problem+json"}},
		Body: body, Request: r}
}

const sizeOf16 = "id: one\nevent: size\ndata: {\"advice\":{\"procs\":16}}\n\n"

// TestWatchComesBack proves that the client connects again, with the id of the newest event, after a lost connection,
// an unreachable daemon, a refusal because of too many watching clients, and a silent daemon. The listener gets each
// event once. An error of the listener ends the watch.
func TestWatchComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ids []string
		begun := time.Now()
		var at []time.Duration
		round := 0
		c, err := client.New("http://daemon",
			&http.Client{Transport: answers(func(r *http.Request) (*http.Response, error) {
				ids, at = append(ids, r.Header.Get("Last-Event-ID")), append(at, time.Since(begun).Round(time.Second))
				round++
				switch round {
				case 1:
					return stream(r, readers("retry: 1000\n\n:\n\n"+sizeOf16)), nil // after that the connection is lost
				case 2:
					return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
				case 3:
					return refused(r, http.StatusServiceUnavailable), nil
				case 4:
					return stream(r, silent(r, "event: news\ndata: 1\n\nevent: problem\ndata: {\"status\":404}\n\n")),
						nil
				}
				return stream(r, readers("id: two\nevent: size\ndata: {\"advice\":{\"procs\":8}}\n\n")), nil
			})})
		if err != nil {
			t.Fatal(err)
		}
		enough := errors.New("enough")
		var heard []client.WatchEvent
		err = c.Watch(t.Context(), &wire.SizeRequest{Sizes: []int{8, 16}}, "before", func(e client.WatchEvent) error {
			if heard = append(heard, e); e.ID == "two" {
				return enough
			}
			return nil
		})
		if !errors.Is(err, enough) || len(heard) != 3 {
			t.Fatalf("%v after %+v", err, heard)
		}
		if heard[0].Advice.Advice.Procs != 16 || heard[0].ID != "one" || heard[1].Problem.Status != 404 ||
			heard[2].Advice.Advice.Procs != 8 {
			t.Errorf("heard %+v", heard)
		}
		for i, want := range []string{"before", "one", "one", "one", "one"} {
			if ids[i] != want {
				t.Errorf("connection %d came with id %q, want %q", i+1, ids[i], want)
			}
		}
		// The client waits 1 s, 2 s and 4 s. After another event it waits for 45 s of silence, and then 1 s.
		for i, want := range []time.Duration{0, 1, 3, 7, 53} {
			if at[i] != want*time.Second {
				t.Errorf("connection %d after %s, want %s", i+1, at[i], want*time.Second)
			}
		}
	})
}

func readers(text string) io.Reader { return &once{text: text} }

// once is a body that ends after its text.
type once struct{ text string }

func (o *once) Read(p []byte) (int, error) {
	if o.text == "" {
		return 0, io.EOF
	}
	n := copy(p, o.text)
	o.text = o.text[n:]
	return n, nil
}

// TestWatchGivesUp proves that a refused request, and a server that is no daemon, end the watch at once, and that the
// end of the context ends it too.
func TestWatchGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		watch := func(ctx context.Context, answer func(*http.Request) (*http.Response, error)) error {
			calls.Store(0)
			c, err := client.New("http://daemon",
				&http.Client{Transport: answers(func(r *http.Request) (*http.Response, error) {
					calls.Add(1)
					return answer(r)
				})})
			if err != nil {
				t.Fatal(err)
			}
			return c.Watch(ctx, &wire.SizeRequest{}, "", func(client.WatchEvent) error { return nil })
		}
		var problem *client.ProblemError
		if err := watch(t.Context(), func(r *http.Request) (*http.Response, error) {
			return refused(r, 422), nil
		}); !errors.As(err, &problem) || calls.Load() != 1 {
			t.Errorf("%v after %d calls", err, calls.Load())
		}
		var answer *client.AnswerError
		if err := watch(t.Context(), func(r *http.Request) (*http.Response, error) {
			page := stream(r, readers("<html>"))
			page.Header.Set("Content-Type", "text/html")
			return page, nil
		}); !errors.As(err, &answer) {
			t.Errorf("%v, want that it is no daemon", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
		defer cancel()
		if err := watch(ctx, func(r *http.Request) (*http.Response, error) {
			return stream(r, silent(r, ":\n\n")), nil
		}); !errors.Is(err, context.DeadlineExceeded) || calls.Load() != 3 {
			t.Errorf("%v after %d calls, want 3: silence of 45 s each", err, calls.Load())
		}
	})
}
