package daemon_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// fuzzSeed is the seed of the malformed requests, so that they are the same in every run.
const fuzzSeed = 9817

// malformed is a request with an error, as it is sent.
type malformed struct {
	kind string
	wire []byte
	// silent is true if the server may close the connection without an answer, because the text is no request.
	silent bool
	// perhaps is true if the request may be valid by chance.
	perhaps bool
	// also is another status with which Go's server itself may answer this kind: 501 for a transfer coding, 505 for a
	// version of HTTP.
	also int
}

// mangler makes malformed requests.
type mangler struct{ *rand.Rand }

func (m *mangler) pick(of ...string) string { return of[m.IntN(len(of))] }

// junk returns up to n bytes, printable or not.
func (m *mangler) junk(n int, printable bool) string {
	b := make([]byte, 1+m.IntN(n))
	for i := range b {
		if b[i] = byte(m.IntN(256)); printable {
			b[i] = "abcXYZ0189%&=?;:/\\'\"<>{}[]()+-.,_~!$*@|^`"[m.IntN(41)]
		}
	}
	return string(b)
}

// escaped returns junk that is valid in a query's value.
func (m *mangler) escaped(n int) string {
	var out strings.Builder
	for _, c := range []byte(m.junk(n, false)) {
		fmt.Fprintf(&out, "%%%02X", c)
	}
	return out.String()
}

func request(method, target, headers, body string) []byte {
	return fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n%s", method, target, headers, body)
}

func post(target, body string) []byte {
	return request("POST", target, fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\n", len(body)),
		body)
}

// generators returns functions that generate one kind of malformed request each.
func (m *mangler) generators() []func() malformed {
	return []func() malformed{m.path, m.method, m.number, m.text, m.parameter, m.encoding, m.body, m.types, m.media,
		m.credential, m.question, m.length, m.chunks, m.headers, m.version, m.garbage, m.mutated}
}

func (m *mangler) path() malformed {
	return malformed{kind: "path", wire: request("GET", "/"+m.pick("v1/", "v2/", "", "metrics/", "v1/models/",
		"v1/jobs/")+"x"+m.escaped(40), "", "")}
}

func (m *mangler) method() malformed {
	return malformed{kind: "method", wire: request(m.pick("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW", "get"),
		m.pick("/v1/wait", "/v1/jobs", "/v1/queues", "/metrics", "/v1/size"), "", "")}
}

func (m *mangler) number() malformed {
	value := m.pick("-1", "1e9", "NaN", "0x10", "9999999999999999999999", "1.5", "%00", "", "-9223372036854775808",
		m.escaped(20)+"%FF")
	return malformed{kind: "number", wire: request("GET", "/v1/"+m.pick("wait?queue=short&procs=",
		"wait?queue=short&procs=1&nodes=-", "jobs?limit=-", "wait?procs=1&explain=-")+value, "", "")}
}

func (m *mangler) text() malformed {
	return malformed{kind: "text", wire: request("GET", "/v1/wait?procs=1&"+m.pick("queue=short&time_limit",
		"queue=short&memory", "queue=short&cluster", "queue")+"=%00"+m.escaped(60), "", "")}
}

func (m *mangler) parameter() malformed {
	return malformed{kind: "parameter", wire: request("GET", m.pick("/v1/wait?queue=short&procs=1&", "/v1/now?",
		"/v1/jobs?", "/v1/queues?", "/v1/forecast?", "/v1/accuracy?",
		"/v1/workload?")+"x"+m.escaped(20)+"="+m.escaped(20),
		"", "")}
}

func (m *mangler) encoding() malformed {
	return malformed{kind: "encoding", wire: request("GET", m.pick("/v1/%", "/v1/jobs/%zz",
		"/v1/wait?queue=%G1&procs=1",
		"/%2", "/v1/wait?procs=1;queue=short&x=%"), "", "")}
}

func (m *mangler) body() malformed {
	good := `{"places":[{"queue":"short"}],"procs":[1,2],"time_limits":["1h"]}`
	bad := m.pick(
		good[:m.IntN(len(good)-1)], strings.Repeat("[", 1+m.IntN(5000)), strings.Repeat(`{"places":`, 1+m.IntN(2000)),
		good+m.pick("x", "{}", ","), "\xff\xfe"+good, m.junk(200, false)+"\x01",
		`{"procs":[1e400]}`, `{"procs":[NaN]}`, "null", "[]", `""`, `{"procs":`+strings.Repeat("9", 1+m.IntN(400)),
	)
	return malformed{kind: "body", wire: post(m.pick("/v1/wait", "/v1/size"), bad)}
}

func (m *mangler) types() malformed {
	value := m.pick("null", "true", `"x"`, "{}", "-1", "1e308", "[[]]", `[{"queue":7}]`, "[null]", "[-5]", `[""]`)
	field := m.pick("places", "procs", "runtime", "objective", "sizes", "running", "standing", "unknown")
	return malformed{kind: "types", wire: post("/v1/size", fmt.Sprintf(`{%q:%s,"x%d":1}`, field, value, m.IntN(100)))}
}

func (m *mangler) media() malformed {
	return malformed{kind: "media", wire: request("POST", m.pick("/v1/wait", "/v1/size"),
		"Content-Type: "+m.pick("text/html", "application/xml", "x/y", "multipart/form-data",
			"application/x-www-form-urlencoded")+"\r\nContent-Length: 5\r\n", "a=b&c")}
}

func (m *mangler) credential() malformed {
	value := m.pick("Bearer "+m.pick("x", "a b", strings.Repeat("y", 1+m.IntN(500))), "Bearer \xff\xfe")
	return malformed{kind: "credential", wire: request(m.pick("GET", "HEAD"),
		m.pick("/v1/quarantine", "/v1/queues", "/metrics", "/v1/jobs"), "Authorization: "+value+"\r\n", "")}
}

func (m *mangler) question() malformed {
	return malformed{kind: "question", wire: request("GET", "/v1/watch?request="+m.pick("", "%7B",
		"%7B%22places%22%3A7%7D", "%5B%5D", m.escaped(300)), "", "")}
}

func (m *mangler) length() malformed {
	return malformed{kind: "length", wire: request("POST", "/v1/size", "Content-Type: application/json\r\n"+m.pick(
		"Content-Length: -1\r\n", "Content-Length: x\r\n", "Content-Length: 99999999999999999999\r\n",
		"Content-Length: 2\r\nContent-Length: 3\r\n", "Content-Length: 1073741824\r\n", "Content-Length: +2\r\n",
		"Content-Length: 0x2\r\n",
	), "{}")}
}

func (m *mangler) chunks() malformed {
	headers, also := "Transfer-Encoding: chunked\r\n", 0
	if m.IntN(4) == 0 {
		headers, also = m.pick("Transfer-Encoding: zip\r\n", "Transfer-Encoding: chunked, chunked\r\n",
			"Transfer-Encoding: \x0bchunked\r\n"), http.StatusNotImplemented
	}
	body := m.pick("zz\r\n{}\r\n0\r\n\r\n", "-1\r\n", "2\r\n{}garbage\r\n0\r\n\r\n", "ffffffffffffffffff\r\n{}",
		"1\r\n{\r\n0\r\n\r\n", "2;"+strings.Repeat("x", 5000)+"\r\n{}\r\n0\r\n\r\n", "5\r\n{\r\n\r\n\r\n", "\r\n\r\n")
	return malformed{kind: "chunks", wire: request("POST", m.pick("/v1/size", "/v1/wait"),
		"Content-Type: application/json\r\n"+headers, body), also: also}
}

func (m *mangler) headers() malformed {
	return malformed{kind: "headers", wire: m.choose(
		"GET /healthz HTTP/1.1\r\n\r\n", "GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
		"GET /healthz HTTP/1.1\r\nHost: a\r\nX Y: z\r\n\r\n", "GET /healthz HTTP/1.1\r\nHost: a\r\n: z\r\n\r\n",
		"GET /healthz HTTP/1.1\r\nHost: a\r\nX: a\x00b\r\n\r\n", "GET /healthz HTTP/1.1\r\nHost: a b\r\n\r\n",
		"GET /healthz HTTP/1.1\r\nHost : a\r\n\r\n", "GET /healthz HTTP/1.1\r\nnothing\r\n\r\n",
		"GET /healthz HTTP/1.1\r\nHost: a\r\nX: "+strings.Repeat("y", 70_000)+"\r\n\r\n",
		"GET /"+strings.Repeat("y", 70_000)+" HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /healthz HTTP/1.1\r\n X: folded\r\nHost: a\r\n\r\n",
	)}
}

func (m *mangler) choose(of ...string) []byte { return []byte(m.pick(of...)) }

func (m *mangler) version() malformed {
	if m.IntN(2) == 0 {
		return malformed{kind: "version", wire: m.choose("GET / HTTP/3.0\r\nHost: a\r\n\r\n",
			"GET / HTTP/9.9\r\nHost: a\r\n\r\n", "GET / HTTP/0.9\r\nHost: a\r\n\r\n"),
			also: http.StatusHTTPVersionNotSupported}
	}
	return malformed{kind: "version", wire: m.choose("GET /\r\n\r\n", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET / HTTP/x.y\r\n\r\n", "GET / FTP/1.1\r\n\r\n", "GET / HTTP/1.1 x\r\n\r\n", "/ HTTP/1.1\r\n\r\n")}
}

func (m *mangler) garbage() malformed {
	text := m.junk(300, m.IntN(2) == 0)
	if m.IntN(4) == 0 {
		text = "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + text // TLS to a daemon without TLS
	}
	return malformed{kind: "garbage", wire: []byte(text + "\r\n\r\n"), silent: true,
		also: http.StatusHTTPVersionNotSupported}
}

// mutated returns a good request in which some bytes are changed.
func (m *mangler) mutated() malformed {
	good := [][]byte{
		request("GET", "/v1/wait?queue=short&procs=4&time_limit=1:00:00&user=alice",
			"Accept: application/json\r\nIf-None-Match: W/\"1\"\r\n", ""),
		request("GET", "/v1/jobs?queue=short&limit=10", "", ""),
		post("/v1/wait", `{"places":[{"queue":"short"}],"procs":[1,2],"time_limits":["1h"]}`),
		post("/v1/size", `{"places":[{"queue":"short"}],"sizes":[2,4],"runtime":{"amdahl":{"serial":0.1,"t1_seconds":`+
			`3600}},"objective":{"kind":"mean"}}`),
	}
	wire := bytes.Clone(good[m.IntN(len(good))])
	for range 1 + m.IntN(4) {
		at := m.IntN(len(wire))
		switch m.IntN(3) {
		case 0:
			wire[at] = byte(m.IntN(256))
		case 1:
			wire = append(wire[:at], wire[at+1:]...)
		default:
			wire = append(wire[:at], append([]byte{wire[at]}, wire[at:]...)...)
		}
	}
	return malformed{kind: "mutated", wire: wire, silent: true, perhaps: true, also: http.StatusHTTPVersionNotSupported}
}

// reception counts the answers by kind and status; status 0 is a connection that was closed without an answer.
type reception struct {
	mu    sync.Mutex
	seen  map[string]map[int]int
	wrong []string
}

// send sends one request on its own connection and checks the answer.
func (o *reception) send(t testing.TB, address string, r malformed) {
	conn, err := net.Dial("tcp", address) //nolint:noctx // on loopback
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = conn.Close() }()
	_ = conn.(*net.TCPConn).SetLinger(0) // otherwise the ports run out
	_ = conn.SetDeadline(time.Now().Add(patience))
	_, _ = conn.Write(r.wire) // the server may have closed already
	_ = conn.(*net.TCPConn).CloseWrite()
	status, detail := 0, ""
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	switch {
	case err == nil:
		status = resp.StatusCode
		if status >= 500 {
			body, _ := io.ReadAll(resp.Body)
			detail = string(body)
		}
		_ = resp.Body.Close()
	case errors.Is(err, os.ErrDeadlineExceeded):
		detail = "no answer in time"
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.seen[r.kind] == nil {
		o.seen[r.kind] = map[int]int{}
	}
	o.seen[r.kind][status]++
	good := status >= 400 && status < 500 || status == 0 && r.silent && detail == "" || r.perhaps && status >= 200 &&
		status < 400 || r.also != 0 && status == r.also
	if !good && len(o.wrong) < 20 {
		o.wrong = append(o.wrong, fmt.Sprintf("%s: %d %s (%v) for %.200q", r.kind, status, detail, err, r.wire))
	}
}

// heapNow returns the number of live bytes on the heap.
func heapNow() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestMalformedRequests proves that 8,000 malformed requests, 50,000 with WAITCAST_LONG, get answers with status 4xx,
// and none with 5xx (except two that Go's server itself gives), that nothing panics, and that neither the number of
// goroutines nor the memory grows.
func TestMalformedRequests(t *testing.T) {
	total := 8_000
	switch {
	case long():
		total = 50_000
	case testing.Short():
		total = 2_000
	}
	// Each sender has a slot for expensive requests. A request without one would wait for it in vain: senders close
	// their side at once, and a disconnected client gets no slot.
	s := newSite(t, "accounting", "limits: {expensive: 4}\n")
	log := workload(t, 4, 100)
	s.add(t, text(log))
	end := log[len(log)-1].at
	d := s.startAt(t, func() time.Time { return end })
	d.caughtUp()
	o := &reception{seen: map[string]map[int]int{}}
	address := d.Addr().String()
	m := &mangler{rand.New(rand.NewPCG(fuzzSeed, 1))} //nolint:gosec // the same ones each time
	makers := m.generators()
	run := func(n int) {
		jobs := make(chan malformed, 64)
		var senders sync.WaitGroup
		for range 4 {
			senders.Go(func() {
				for r := range jobs {
					o.send(t, address, r)
				}
			})
		}
		for i := range n {
			jobs <- makers[i%len(makers)]()
		}
		close(jobs)
		senders.Wait()
		d.http.CloseIdleConnections()
		d.eventually("no connection but the one that asks",
			func() bool { return d.metric("waitcast_http_connections") == "1" })
		d.http.CloseIdleConnections()
	}
	run(total / 10)
	goroutines, heap := runtime.NumGoroutine(), heapNow()
	begun := time.Now()
	run(total - total/10)
	took := time.Since(begun)
	for _, w := range o.wrong {
		t.Error(w)
	}
	eventually(t, "no more goroutines than before", func() bool { return runtime.NumGoroutine() <= goroutines+2 })
	after := heapNow()
	if after > heap+4<<20 {
		t.Errorf("the heap grew from %d to %d bytes", heap, after)
	}
	for _, e := range d.logs.All() {
		if strings.Contains(e.Message, "panic") {
			t.Errorf("log: %s", e.Message)
		}
	}
	t.Logf("%d requests, the last nine tenths in %.1f s; goroutines %d before, %d after; heap %.2f MiB before, %.2f "+
		"MiB after", total, took.Seconds(), goroutines, runtime.NumGoroutine(),
		float64(heap)/(1<<20), float64(after)/(1<<20))
	for kind, by := range o.seen {
		t.Logf("%-10s %v", kind, by)
	}
}
