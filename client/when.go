package client

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/job"
)

// When requests the waits of a job by the hour of its submission, for the given number of full hours; 0 means the
// daemon's default. It also returns the answer's JSON. Only queue, processors, nodes and time limit of the request
// are used.
//
// Errors are those of WaitJSON.
func (c *Client) When(ctx context.Context, cluster string, r job.Request, hours int) (*wire.When, json.RawMessage,
	error) {
	query := waitQuery(cluster, job.Request{Queue: r.Queue, Procs: r.Procs, Nodes: r.Nodes, TimeLimit: r.TimeLimit})
	maps.Copy(query, queryOf(nil, map[string]int{"hours": hours}))
	var answer wire.When
	raw, err := c.get(ctx, "/v1/when", query, &answer)
	if err != nil {
		return nil, nil, err
	}
	return &answer, raw, nil
}
