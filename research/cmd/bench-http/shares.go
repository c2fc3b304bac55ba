package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/waitcast/waitcast/api/wire"
)

// floodConnections is the number of connections of the client that floods.
const floodConnections = 64

// smallPause is the time between two requests of the small client. The client sends at a steady rate, as a script
// would, so that slow answers do not reduce the number of measurements.
const smallPause = 50 * time.Millisecond

// question returns a body of POST /v1/wait with a number of candidates.
func question(sizes, limits int) []byte {
	q := struct {
		Places     []map[string]string `json:"places"`
		Procs      []int               `json:"procs"`
		TimeLimits []string            `json:"time_limits"`
	}{Places: []map[string]string{{"queue": "batch"}}}
	for i := range sizes {
		q.Procs = append(q.Procs, i+1)
	}
	for i := range limits {
		q.TimeLimits = append(q.TimeLimits, fmt.Sprintf("%dm", 30*(i+1)))
	}
	body, err := json.Marshal(q)
	if err != nil { // cannot happen: all values are numbers and texts
		return nil
	}
	return body
}

// flood is a request that the flooding client repeats.
type flood struct {
	name string
	body []byte
}

func floods() []flood {
	return []flood{{"none", nil}, {"large", question(16, 64)}, {"small", question(2, 2)}}
}

// measureShares measures the requests of a small client, of 4 candidates each, while another client floods the daemon
// with requests over many connections. Before that it measures them without a flood. The flooding client has a token,
// the small one has none.
func (d *server) measureShares(ctx context.Context, name string, o *options) error {
	for _, f := range floods() {
		count := &statuses{n: map[string]int{}}
		flooding, stop := context.WithCancel(ctx)
		var clients sync.WaitGroup
		if f.body != nil {
			for range floodConnections {
				clients.Go(func() { d.floodWith(flooding, f.body, count) })
			}
		}
		times, failed, err := d.askSmall(ctx, time.Duration(o.seconds)*time.Second)
		stop()
		clients.Wait()
		if err != nil {
			return err
		}
		slices.Sort(times)
		at := func(part float64) float64 { return times[int(part*float64(len(times)-1))].Seconds() * 1e3 }
		fmt.Printf("BenchmarkShares/%s/flood=%s %d %.2f p50-ms %.2f p90-ms %.2f p99-ms %.1f max-ms %d failed "+
			"%d flood-answered %d flood-refused\n", name, f.name, len(times), at(0.5), at(0.9), at(0.99), at(1), failed,
			count.n["200 OK"], count.sum()-count.n["200 OK"])
		fmt.Fprintln(os.Stderr, "the flood got", count.n)
	}
	return nil
}

// statuses counts answers by their status.
type statuses struct {
	mu sync.Mutex
	n  map[string]int
}

func (s *statuses) add(status string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n[status]++
}

func (s *statuses) sum() (n int) {
	for _, k := range s.n {
		n += k
	}
	return n
}

// floodWith repeats a request over its own connection until the context ends.
func (d *server) floodWith(ctx context.Context, body []byte, count *statuses) {
	client := d.ownClient()
	defer client.CloseIdleConnections()
	for ctx.Err() == nil {
		switch status, err := d.post(ctx, client, body, d.token); {
		case err == nil:
			count.add(status)
		case ctx.Err() == nil:
			count.add(err.Error())
		}
	}
}

// askSmall sends small requests for some time. It returns the duration of each, and how many had another status than
// 200.
func (d *server) askSmall(ctx context.Context, span time.Duration) (times []time.Duration, failed int, err error) {
	client, body := d.ownClient(), question(2, 2)
	defer client.CloseIdleConnections()
	tick := time.NewTicker(smallPause)
	defer tick.Stop()
	for end := time.Now().Add(span); time.Now().Before(end); {
		begun := time.Now()
		status, err := d.post(ctx, client, body, "")
		if err != nil {
			return nil, 0, err
		}
		times = append(times, time.Since(begun))
		if status != "200 OK" {
			failed++
		}
		select {
		case <-ctx.Done():
			return nil, 0, ctx.Err()
		case <-tick.C:
		}
	}
	if len(times) == 0 {
		return nil, 0, errors.New("nothing was asked")
	}
	return times, failed, nil
}

// ownClient returns a client with its own connections.
func (d *server) ownClient() *http.Client {
	if t, ok := d.client.Transport.(*http.Transport); ok {
		return &http.Client{Transport: t.Clone()}
	}
	return &http.Client{Transport: &http.Transport{}}
}

func (d *server) post(ctx context.Context, client *http.Client, body []byte, token string) (status string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.url+"/v1/wait", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode == http.StatusOK {
		_, err = io.Copy(io.Discard, resp.Body)
		return resp.Status, err
	}
	var problem wire.Problem
	err = json.NewDecoder(resp.Body).Decode(&problem)
	return resp.Status + ": " + problem.Detail, err
}
