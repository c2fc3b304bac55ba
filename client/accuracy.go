package client

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"

	"github.com/waitcast/waitcast/api/wire"
)

// AccuracyQuery selects the forecasts to score; for an empty field the daemon chooses.
type AccuracyQuery struct {
	// Cluster may be empty where the daemon watches only one.
	Cluster string
	// Queue and SizeClass select; empty means any.
	Queue, SizeClass string
	// Made is live or replayed; empty means both.
	Made string
	// Since and Until are instants, or times before the newest record.
	Since, Until string
	// Limit and Offset select a page of the groups: at most so many, from that one on. A limit of 0 is left to the
	// daemon.
	Limit, Offset int
}

// Accuracy asks how forecasts turned out, and also returns the answer's JSON.
//
// Errors are those of WaitJSON.
func (c *Client) Accuracy(ctx context.Context, q AccuracyQuery) (*wire.Accuracy, json.RawMessage, error) {
	query := url.Values{}
	for name, text := range map[string]string{
		"cluster": q.Cluster, "queue": q.Queue, "size_class": q.SizeClass, "made": q.Made, "since": q.Since,
		"until": q.Until,
	} {
		if text != "" {
			query.Set(name, text)
		}
	}
	for name, number := range map[string]int{"limit": q.Limit, "offset": q.Offset} {
		if number > 0 {
			query.Set(name, strconv.Itoa(number))
		}
	}
	var answer wire.Accuracy
	raw, err := c.get(ctx, "/v1/accuracy", query, &answer)
	if err != nil {
		return nil, nil, err
	}
	return &answer, raw, nil
}

// Jobs asks for the jobs that wait, of one queue or, where that is empty, of all, at most limit of them (0: as the
// daemon thinks fit), and also returns the answer's JSON.
//
// Errors are those of WaitJSON.
func (c *Client) Jobs(ctx context.Context, cluster, queue string, limit int) (*wire.Jobs, json.RawMessage, error) {
	query := url.Values{}
	for name, text := range map[string]string{"cluster": cluster, "queue": queue} {
		if text != "" {
			query.Set(name, text)
		}
	}
	if limit > 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	var answer wire.Jobs
	raw, err := c.get(ctx, "/v1/jobs", query, &answer)
	if err != nil {
		return nil, nil, err
	}
	return &answer, raw, nil
}

// Job asks for one job that waits, and also returns the answer's JSON. keep is as in WaitOptions.
//
// Errors are those of WaitJSON.
func (c *Client) Job(ctx context.Context, cluster, id string, keep float64) (*wire.JobAnswer, json.RawMessage, error) {
	query := url.Values{}
	setKeep(query, keep)
	if cluster != "" {
		query.Set("cluster", cluster)
	}
	var answer wire.JobAnswer
	raw, err := c.get(ctx, "/v1/jobs/"+url.PathEscape(id), query, &answer)
	if err != nil {
		return nil, nil, err
	}
	return &answer, raw, nil
}
