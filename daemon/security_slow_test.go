package daemon_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/internal/certtest"
)

// slow opens a connection that sends a text and then nothing, until the test ends.
func slow(t *testing.T, address, says string) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", address) //nolint:noctx // on loopback
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, says); err != nil {
		t.Fatal(err)
	}
	return conn.(*net.TCPConn)
}

// unread repeats requests on one connection without reading the answers, until the daemon stops reading requests.
func unread(t *testing.T, address, target string) {
	t.Helper()
	conn := slow(t, address, "")
	_ = conn.SetReadBuffer(4096)
	ask := strings.Repeat("GET "+target+" HTTP/1.1\r\nHost: localhost\r\n\r\n", 200)
	_ = conn.SetWriteDeadline(time.Now().Add(patience))
	go func() { // ends with the connection
		for {
			if _, err := io.WriteString(conn, ask); err != nil {
				return
			}
		}
	}()
}

// watchQuestion is a request that can be answered from the site's log.
const watchQuestion = `{"places":[{"queue":"short"}],"sizes":[1,2],"runtime":{"amdahl":{"serial":0.1,"t1_seconds":` +
	`3600}}}`

// TestSlowClients proves that other clients are answered while hundreds of clients send headers or bodies slowly, or do
// not read their answers. The slow ones are disconnected, but a stream may last longer than the deadline of ordinary
// answers.
func TestSlowClients(t *testing.T) {
	// The test mostly waits for the deadlines of slow clients.
	t.Parallel()

	s := newSite(t, "accounting", "limits: {write_timeout: 20s}\n") // much less than the lifetime of a silent stream
	log := workload(t, 4, 100)
	s.add(t, text(log))
	end := log[len(log)-1].at
	d := s.startAt(t, func() time.Time { return end })
	d.caughtUp()
	address := d.Addr().String()

	watch := slow(t, address,
		"GET /v1/watch?request="+url.QueryEscape(watchQuestion)+" HTTP/1.1\r\nHost: localhost\r\n\r\n")
	first, err := bufio.NewReader(watch).ReadString('\n')
	if err != nil || !strings.Contains(first, "200") {
		t.Fatalf("%q, %v", first, err)
	}
	const each = 100
	var headers []*net.TCPConn
	for range each {
		headers = append(headers, slow(t, address, "GET /v1/queues HTTP/1.1\r\nHost: localhost\r\nX-Slow: "))
		slow(t, address, "POST /v1/size HTTP/1.1\r\nHost: localhost\r\nContent-Type: "+
			"application/json\r\nContent-Length: 1000\r\n\r\n{")
		slow(t, address, "") // nothing at all
	}
	for range 20 {
		unread(t, address, "/openapi.json")
	}
	open := func() int {
		n, err := strconv.Atoi(d.metric("waitcast_http_connections"))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := open(); n < each { // those without headers are disconnected after 5 s, perhaps before all are open
		t.Fatalf("%d connections are open, want those of the slow clients", n)
	}
	d.http.Timeout = patience
	for i := range 100 {
		for _, path := range []string{"/v1/queues", "/v1/jobs", "/v1/wait?queue=short&procs=2", "/healthz"} {
			if status, body := d.get(path); status != http.StatusOK {
				t.Fatalf("round %d: %s: %d %s", i, path, status, body)
			}
		}
	}
	//nolint:noctx // the client has a deadline
	resp, err := d.http.Post("http://"+address+"/v1/size", "application/json", strings.NewReader(watchQuestion))
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("a question with a body: %v, %v", resp, err)
	} else {
		_ = resp.Body.Close()
	}
	// the watcher, the requesting client, and one that may be idle
	d.eventually("all slow clients cut off", func() bool { return open() <= 3 })
	_ = headers[0].SetReadDeadline(time.Now().Add(patience))
	if left, err := io.ReadAll(headers[0]); err != nil || len(left) > 0 && !strings.Contains(string(left), " 408 ") {
		t.Errorf("who sends headers slowly got %q, %v", left, err)
	}
	if n := d.metric("waitcast_watch_subscribers"); n != "1" {
		t.Errorf("%s watchers, want the one that is there since long before the deadline", n)
	}
}

// TestStreamsOverHTTP2 proves that a stream over HTTP/2 lasts longer than the deadline of ordinary answers, without
// events and with later events.
func TestStreamsOverHTTP2(t *testing.T) {
	if os.Getenv("WAITCAST_LONG") == "" {
		t.Skip("WAITCAST_LONG is not set: the stream must be silent for 15 s")
	}
	s, authority := secureSite(t, "limits: {write_timeout: 1s}\n")
	log := workload(t, 4, 100)
	s.add(t, text(log))
	end := log[len(log)-1].at
	d := s.startAt(t, func() time.Time { return end })
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authority.Pool,
		MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true}}
	defer client.CloseIdleConnections()
	base := "https://" + d.Addr().String()
	d.eventually("ready", func() bool {
		resp, err := client.Get(base + "/readyz") //nolint:noctx // on loopback
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	//nolint:noctx // ends with the test
	resp, err := client.Get(base + "/v1/watch?request=" + url.QueryEscape(watchQuestion))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	lines, beat := bufio.NewScanner(resp.Body), false
	begun := time.Now()
	for !beat && lines.Scan() {
		beat = strings.HasPrefix(lines.Text(), ":") // comes after 15 s of silence
	}
	if resp.ProtoMajor != 2 || !beat {
		t.Errorf("HTTP/%d: the stream ended after %s: %v", resp.ProtoMajor, time.Since(begun), lines.Err())
	}
}

// secureSite does the same as newSite, with TLS.
func secureSite(t *testing.T, extra string) (*site, *certtest.Authority) {
	t.Helper()
	authority, dir := certtest.New(t), t.TempDir()
	cert, key := authority.Issue(dir, "server")
	web := filepath.Join(dir, "web.yaml")
	write(t, web, fmt.Sprintf("tls_server_config: {cert_file: %q, key_file: %q}\n", cert, key))
	return newSite(t, "accounting", fmt.Sprintf("web_config_file: %q\n%s", web, extra)), authority
}
