package client

import (
	"context"
	"encoding/json"
	"net/url"

	"github.com/waitcast/waitcast/api/wire"
)

// AccuracyQuery selects the forecasts to score. The daemon has a default for each empty field.
type AccuracyQuery struct {
	// Cluster may be empty if the daemon has only one cluster.
	Cluster string
	// Queue and SizeClass select forecasts; empty means any.
	Queue, SizeClass string
	// Made is "live" or "replayed"; empty means both.
	Made string
	// Since and Until are instants, or times before the newest record.
	Since, Until string
	// Limit and Offset select a page of the groups: at most Limit groups after the first Offset. A limit of 0 means the
	// daemon's default.
	Limit, Offset int
}

// Accuracy requests the accuracy of forecasts. It also returns the answer's JSON.
//
// Errors are those of WaitJSON.
func (c *Client) Accuracy(ctx context.Context, q AccuracyQuery) (*wire.Accuracy, json.RawMessage, error) {
	query := queryOf(map[string]string{
		"cluster": q.Cluster, "queue": q.Queue, "size_class": q.SizeClass, "made": q.Made, "since": q.Since,
		"until": q.Until,
	}, map[string]int{"limit": q.Limit, "offset": q.Offset})
	var answer wire.Accuracy
	raw, err := c.get(ctx, "/v1/accuracy", query, &answer)
	if err != nil {
		return nil, nil, err
	}
	return &answer, raw, nil
}

// JobsQuery selects waiting jobs. Empty and zero fields mean the daemon's defaults.
type JobsQuery struct {
	Cluster, Queue string
	// Limit is the maximum number of listed jobs. Offset is the number of jobs that are left out before them.
	Limit, Offset int
}

// Jobs requests the waiting jobs. It also returns the answer's JSON.
//
// Errors are those of WaitJSON.
func (c *Client) Jobs(ctx context.Context, q JobsQuery) (*wire.Jobs, json.RawMessage, error) {
	query := queryOf(map[string]string{"cluster": q.Cluster, "queue": q.Queue},
		map[string]int{"limit": q.Limit, "offset": q.Offset})
	var answer wire.Jobs
	raw, err := c.get(ctx, "/v1/jobs", query, &answer)
	if err != nil {
		return nil, nil, err
	}
	return &answer, raw, nil
}

// Job requests one waiting job. It also returns the answer's JSON. keep has the meaning of WaitOptions.Keep.
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
