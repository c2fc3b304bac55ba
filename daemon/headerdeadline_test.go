package daemon_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// speaker is a client that speaks HTTP/2 frame by frame.
type speaker struct {
	*http2.Framer
	conn *tls.Conn
}

// speak begins a connection.
func speak(t *testing.T, address string, config *tls.Config) *speaker {
	t.Helper()
	dialer := tls.Dialer{Config: config}
	conn, err := dialer.DialContext(t.Context(), "tcp", address)
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	s := &speaker{http2.NewFramer(conn, conn), conn.(*tls.Conn)}
	_, err = io.WriteString(conn, http2.ClientPreface)
	must(t, err)
	must(t, s.WriteSettings())
	return s
}

// begin sends the first part of a request's headers.
func (s *speaker) begin() {
	var block bytes.Buffer
	_ = hpack.NewEncoder(&block).WriteField(hpack.HeaderField{Name: ":method", Value: "GET"})
	_ = s.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndStream: true})
}

// ended reads until the connection ends, and returns how long that took.
func (s *speaker) ended(t *testing.T) time.Duration {
	t.Helper()
	begun := time.Now()
	must(t, s.conn.SetReadDeadline(begun.Add(patience)))
	for {
		if _, err := s.ReadFrame(); err != nil {
			return time.Since(begun)
		}
	}
}

// TestSlowHeadersOverHTTP2 proves that a connection over HTTP/2 ends if the headers of a request come too slowly, or in
// too many frames, or if a frame stays incomplete; and that long headers and streams are served.
func TestSlowHeadersOverHTTP2(t *testing.T) {
	t.Parallel() // it waits for deadlines
	s, authority := secureSite(t, "")
	d := s.start(t)
	address, config := d.Addr().String(), &tls.Config{RootCAs: authority.Pool, MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2"}, ServerName: "127.0.0.1"}
	for name, rest := range map[string]func(s *speaker){
		"nothing": func(s *speaker) { s.begin() },
		"half a frame": func(s *speaker) {
			_, _ = s.conn.Write([]byte{0, 0, 9, byte(http2.FrameHeaders)})
		},
		"empty frames, slowly": func(s *speaker) {
			s.begin()
			ticks := time.NewTicker(time.Second)
			defer ticks.Stop()
			for range ticks.C {
				if s.WriteContinuation(1, false, nil) != nil {
					return
				}
			}
		},
		"many empty frames": func(s *speaker) {
			s.begin()
			for s.WriteContinuation(1, false, nil) == nil { //nolint:revive // until the connection ends
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := speak(t, address, config)
			sent := make(chan struct{})
			go func() {
				defer close(sent)
				rest(s)
			}()
			if took := s.ended(t); took > time.Minute {
				t.Errorf("the connection ended after %s", took)
			}
			_ = s.conn.Close()
			<-sent
		})
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}}
	defer client.CloseIdleConnections()
	for range 3 {
		request, err := http.NewRequestWithContext(context.Background(), http.MethodGet,
			"https://"+address+"/healthz", nil)
		must(t, err)
		request.Header.Set("X-Long", strings.Repeat("x", 40<<10))
		answer, err := client.Do(request)
		must(t, err)
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusOK || answer.ProtoMajor != 2 {
			t.Errorf("long headers: %s over %s", answer.Status, answer.Proto)
		}
	}
}
