package client

import (
	"context"
	"encoding/json"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/job"
)

// Now requests the jobs that would start at once, in one queue. If the queue is empty, it requests them for all
// queues. It also returns the answer's JSON. Only queue, user, account and quality of service of the request are
// used. An empty cluster means all clusters.
//
// Errors are those of WaitJSON.
func (c *Client) Now(ctx context.Context, cluster string, request job.Request) (*wire.Now, json.RawMessage, error) {
	query := queryOf(map[string]string{
		"cluster": cluster, "queue": request.Queue, "user": request.User, "account": request.Account,
		"qos": request.QOS,
	}, nil)
	var answer wire.Now
	raw, err := c.get(ctx, "/v1/now", query, &answer)
	if err != nil {
		return nil, nil, err
	}
	return &answer, raw, nil
}
