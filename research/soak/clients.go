package soak

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// floodConnections is the number of connections of the flooding client, which sends requests without a pause.
	floodConnections = 64
	// smallAsked is the number of small requests that the second client sends before the flood, and again during the
	// flood. smallPause is the pause between two of them.
	smallAsked, smallPause = 40, 25 * time.Millisecond
	// smallDelay is the maximum by which the 99th percentile of the second client's answer times may increase during
	// the flood.
	smallDelay = 200 * time.Millisecond
)

// clients has what two clients of the daemon measured: one floods the daemon, and the second one sends small requests.
type clients struct {
	alone, beside     []time.Duration // answer times of the second client, before and during the flood
	refused           int             // number of the second client's requests that were not answered
	flooded, rejected int64           // requests of the flood that were answered, and that were not
}

// floodedByClient lets a client flood the daemon from an address of its own, while a second client sends small requests
// and the log grows.
func (s *run) floodedByClient(ctx context.Context) error {
	if err := s.caughtUp(ctx); err != nil {
		return err
	}
	small := newClient("127.0.0.1")
	defer small.CloseIdleConnections()
	alone, refused, err := s.askSmall(ctx, small)
	if err != nil {
		return err
	}
	flooding, stop := context.WithCancel(ctx)
	defer stop()
	var answered, rejected atomic.Int64
	var all sync.WaitGroup
	for range floodConnections {
		all.Go(func() { s.program.flood(flooding, &answered, &rejected) })
	}
	err = s.burst(1)
	beside, more, askErr := s.askSmall(ctx, small)
	stop()
	all.Wait()
	if err == nil {
		err = askErr
	}
	c := &s.clients
	c.alone, c.beside = append(c.alone, alone...), append(c.beside, beside...)
	c.refused += refused + more
	c.flooded += answered.Load()
	c.rejected += rejected.Load()
	return err
}

// newClient returns a client that connects from the given address, which is one of the loopback network.
func newClient(address string) *http.Client {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	return &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext}, Timeout: 30 * time.Second}
}

// question returns a body of POST /v1/wait that requests the waits in one queue, with the sizes from 1 to the given
// number.
func question(sizes int) ([]byte, error) {
	body := struct {
		Places     []map[string]string `json:"places"`
		Procs      []int               `json:"procs"`
		TimeLimits []string            `json:"time_limits"`
	}{Places: []map[string]string{{"queue": queues()[0]}}, TimeLimits: []string{"10m", "1h"}}
	for n := range sizes {
		body.Procs = append(body.Procs, n+1)
	}
	return json.Marshal(body)
}

// flood sends large requests over one connection until the context ends.
func (p *process) flood(ctx context.Context, answered, rejected *atomic.Int64) {
	client := newClient("127.0.0.2")
	defer client.CloseIdleConnections()
	body, err := question(128)
	if err != nil {
		rejected.Add(1)
		return
	}
	for ctx.Err() == nil {
		switch status, err := p.post(ctx, client, body); {
		case err == nil && status == http.StatusOK:
			answered.Add(1)
		case ctx.Err() == nil:
			rejected.Add(1)
			wait(ctx, time.Millisecond) // not too fast, so that work floods the daemon, not refusals
		}
	}
}

// post sends POST /v1/wait, reads the whole answer, and returns its status.
func (p *process) post(ctx context.Context, client *http.Client, body []byte) (status int, err error) {
	p.mu.Lock()
	url := p.url
	p.mu.Unlock()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/wait", bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }() // nothing was written
	var text bytes.Buffer
	_, err = text.ReadFrom(resp.Body)
	return resp.StatusCode, err
}

// askSmall sends smallAsked small requests. It returns the times of the answers, and the number of requests without an
// answer.
func (s *run) askSmall(ctx context.Context, client *http.Client) (times []time.Duration, refused int, err error) {
	body, err := question(1)
	if err != nil {
		return nil, 0, err
	}
	for range smallAsked {
		begun := time.Now()
		status, err := s.program.post(ctx, client, body)
		switch {
		case ctx.Err() != nil:
			return nil, 0, ctx.Err()
		case err != nil || status != http.StatusOK:
			refused++
			s.tell("the second client's question: status %d, %v", status, err)
		default:
			times = append(times, time.Since(begun))
		}
		wait(ctx, smallPause)
	}
	return times, refused, nil
}

// ninetyNinth returns the 99th percentile of times, 0 if there are none.
func ninetyNinth(times []time.Duration) time.Duration {
	if len(times) == 0 {
		return 0
	}
	times = slices.Sorted(slices.Values(times))
	return times[int(.99*float64(len(times)-1))]
}

// String returns the line about the clients in the report.
func (c *clients) String() string {
	return fmt.Sprintf("client floods: %d questions answered, %d not; the second client's 99th percentile %v beside "+
		"them, %v without, %d of %d not answered", c.flooded, c.rejected, ninetyNinth(c.beside).Round(time.Millisecond),
		ninetyNinth(c.alone).Round(time.Millisecond), c.refused, c.refused+len(c.alone)+len(c.beside))
}

// judge calls miss for each condition that does not hold: all requests of the second client are answered; a request of
// the flood is answered; and, unless mild is true, the second client is not delayed by more than smallDelay.
func (c *clients) judge(mild bool, miss func(string, ...any)) {
	if c.refused > 0 {
		miss("client floods: %d questions of the second client were not answered", c.refused)
	}
	if len(c.beside) > 0 && c.flooded == 0 {
		miss("client floods: not one question of the flood was answered: there was none")
	}
	if later := ninetyNinth(c.beside) - ninetyNinth(c.alone); later > smallDelay && !mild {
		miss("client floods: the second client's 99th percentile is %v later, the limit is %v", later, smallDelay)
	}
}
