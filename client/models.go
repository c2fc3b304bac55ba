package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"

	"github.com/waitcast/waitcast/api/wire"
)

// Models requests the models of a queue. It also returns the answer's JSON. cluster may be empty if the daemon has
// only one cluster.
//
// Errors are those of WaitJSON.
func (c *Client) Models(ctx context.Context, cluster, queue string) (*wire.Models, json.RawMessage, error) {
	query := url.Values{}
	if cluster != "" {
		query.Set("cluster", cluster)
	}
	var answer wire.Models
	raw, err := c.get(ctx, "/v1/models/"+url.PathEscape(queue), query, &answer)
	if err != nil {
		return nil, nil, err
	}
	return &answer, raw, nil
}

// Queues requests the queues of one cluster. If cluster is empty, it requests the queues of all clusters. It also
// returns the answer's JSON.
//
// Errors are those of WaitJSON.
func (c *Client) Queues(ctx context.Context, cluster string) (*wire.Queues, json.RawMessage, error) {
	query := url.Values{}
	if cluster != "" {
		query.Set("cluster", cluster)
	}
	var answer wire.Queues
	raw, err := c.get(ctx, "/v1/queues", query, &answer)
	if err != nil {
		return nil, nil, err
	}
	return &answer, raw, nil
}

// Workload selects the jobs that the daemon draws from its live models. The daemon has a default for each empty or
// zero field.
type Workload struct {
	Cluster string
	// Queue is the queue; empty means all queues together.
	Queue string
	// Model is "lublin", "markov", "uniform_log" or "users".
	Model string
	// Jobs and Hours limit the size of the workload.
	Jobs  int64
	Hours float64
	// Format is "swf" or "jsonl".
	Format string
	// Seed is the seed of the random numbers. The same seed and models give the same jobs. nil means a random seed.
	Seed *uint64
}

// Workload requests jobs that the daemon draws from the live models. It returns them as a stream, which the caller
// reads and closes. The end of the context ends the stream. The returned number is the seed that was used.
//
// Errors are those of WaitJSON.
func (c *Client) Workload(ctx context.Context, w Workload) (io.ReadCloser, uint64, error) {
	target := c.base.JoinPath("/v1/workload")
	target.RawQuery = w.query().Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, 0, err
	}
	request.Header.Set("Accept", "text/plain, application/x-ndjson, application/problem+json")
	response, err := c.http.Do(request)
	if err != nil {
		return nil, 0, unreachable(c.URL(), err)
	}
	if response.StatusCode != http.StatusOK {
		defer response.Body.Close() //nolint:errcheck // it was only read
		_, err = c.answer(response, nil)
		return nil, 0, err
	}
	seed, err := strconv.ParseUint(response.Header.Get("Waitcast-Seed"), 10, 64)
	kind, _, mimeErr := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil || mimeErr != nil || kind != "text/plain" && kind != "application/x-ndjson" {
		_ = response.Body.Close()
		return nil, 0, &AnswerError{URL: c.URL(), Status: response.StatusCode,
			Err: fmt.Errorf("it is no workload (content type %q)", kind)}
	}
	return response.Body, seed, nil
}

func (w *Workload) query() url.Values {
	query := url.Values{}
	for name, text := range map[string]string{
		"cluster": w.Cluster, "queue": w.Queue, "model": w.Model, "format": w.Format,
	} {
		if text != "" {
			query.Set(name, text)
		}
	}
	if w.Jobs > 0 {
		query.Set("jobs", strconv.FormatInt(w.Jobs, 10))
	}
	if w.Hours > 0 {
		query.Set("hours", strconv.FormatFloat(w.Hours, 'f', -1, 64))
	}
	if w.Seed != nil {
		query.Set("seed", strconv.FormatUint(*w.Seed, 10))
	}
	return query
}
