package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// server is a running waitcastd.
type server struct {
	cmd    *exec.Cmd
	log    string
	url    string
	token  string
	client http.Client
	idle99 float64       // the 99th percentile in ms, while nothing happened in the cluster
	ended  chan struct{} // closed when it has ended
}

func startDaemon(ctx context.Context, dir string, secure bool, o *options) (*server, error) {
	d := &server{log: filepath.Join(dir, "daemon.log")}
	var err error
	if d.token, err = newToken(filepath.Join(dir, "tokens.yaml")); err != nil {
		return nil, err
	}
	config := fmt.Sprintf(`listen: 127.0.0.1:0
data_dir: %s
tokens_file: %s
stale_after: 1h
log: {format: json}
access: {others: public} # all may ask in anybody's name, as without tokens
limits: {requests_per_second: 0} # one client asks it all
clusters:
  - name: large
    time_zone: UTC
    sources:
      - {format: pbs, path: %s/accounting}
`, filepath.Join(dir, "data"), filepath.Join(dir, "tokens.yaml"), dir)
	if secure {
		config += fmt.Sprintf("web_config_file: %s\n", filepath.Join(dir, "web.yaml"))
		pool, err := certify(dir)
		if err != nil {
			return nil, err
		}
		d.client.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	}
	path := filepath.Join(dir, "waitcast.yaml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		return nil, err
	}
	log, err := os.Create(d.log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the daemon has its own descriptor
	d.cmd = exec.CommandContext(ctx, o.daemon, "--config", path)
	d.cmd.Stdout, d.cmd.Stderr = log, log
	d.cmd.Cancel = func() error { return d.cmd.Process.Signal(os.Interrupt) }
	if err := d.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w (make build)", o.daemon, err)
	}
	d.ended = make(chan struct{})
	go func() {
		defer close(d.ended)
		_ = d.cmd.Wait() // the log has the reason why the daemon ended
	}()
	return d, nil
}

// certify writes a self-signed certificate for loopback, its key, and the web-config file that names them.
func certify(dir string) (*x509.CertPool, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(24 * time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true,
		BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for name, data := range map[string][]byte{
		"server.crt": public, "server.key": pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}),
		"web.yaml": []byte("tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return nil, err
		}
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(public)
	return pool, nil
}

func (d *server) stop() {
	_ = d.cmd.Process.Signal(os.Interrupt)
	<-d.ended
}

// ready waits until the daemon has read the history and the queue. The daemon writes its address to its log.
func (d *server) ready(ctx context.Context, o *options) error {
	address := regexp.MustCompile(`https?://127\.0\.0\.1:[0-9]+`)
	for {
		if log, err := os.ReadFile(d.log); err == nil && d.url == "" {
			d.url = string(address.Find(log))
		}
		if d.url != "" {
			running, queued, err := d.state(ctx)
			if err == nil && running >= o.running*9/10 && queued >= o.queued*9/10 {
				if _, err = d.get(ctx, "/readyz"); err == nil { // the log has been read to its end
					return nil
				}
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-d.ended:
			log, _ := os.ReadFile(d.log)
			return fmt.Errorf("the daemon has ended: %s", log)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (d *server) get(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := d.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s", path, resp.Status)
	}
	return body, err
}

// state returns the numbers of running and waiting jobs over all queues.
func (d *server) state(ctx context.Context) (running, queued int, err error) {
	text, err := d.get(ctx, "/v1/queues")
	if err != nil {
		return 0, 0, err
	}
	var body struct {
		Queues []struct {
			Running int `json:"running_jobs"`
			Queued  int `json:"queued_jobs"`
		} `json:"queues"`
	}
	if err := json.Unmarshal(text, &body); err != nil {
		return 0, 0, err
	}
	for _, q := range body.Queues {
		running += q.Running
		queued += q.Queued
	}
	return running, queued, nil
}

// work counts background work since the start of the daemon.
type work struct{ simulations, loads, trainings float64 }

func (d *server) work(ctx context.Context) (work, error) {
	text, err := d.get(ctx, "/metrics")
	if err != nil {
		return work{}, err
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return work{}, err
	}
	sum := func(name string) (n float64) {
		for _, m := range families[name].GetMetric() {
			n += m.GetCounter().GetValue()
		}
		return n
	}
	return work{sum("waitcast_engine_simulations_total"), sum("waitcast_load_forecasts_total"),
		sum("waitcast_engine_trainings_total")}, nil
}

// usage returns the CPU time that the daemon has used in seconds, and its resident memory in bytes (proc_pid_stat(5);
// ticks are hundredths of a second). Both are 0 if the process has ended.
func (d *server) usage() (seconds float64, memory int64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", d.cmd.Process.Pid))
	if err != nil {
		return 0, 0
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	var user, system, pages int64
	_, _ = fmt.Sscan(fields[11], &user) // proc_pid_stat(5) guarantees digits
	_, _ = fmt.Sscan(fields[12], &system)
	_, _ = fmt.Sscan(fields[21], &pages)
	return float64(user+system) / 100, pages * int64(os.Getpagesize())
}
