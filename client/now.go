package client

import (
	"context"
	"encoding/json"
	"net/url"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/job"
)

// Now asks what would start at once, in one queue or, where that is empty, in all, and also returns the answer's JSON.
// Of the request the queue, the user, the account and the quality of service count; cluster may be empty for all.
//
// Errors are those of WaitJSON.
func (c *Client) Now(ctx context.Context, cluster string, request job.Request) (*wire.Now, json.RawMessage, error) {
	query := url.Values{}
	for name, text := range map[string]string{
		"cluster": cluster, "queue": request.Queue, "user": request.User, "account": request.Account,
		"qos": request.QOS,
	} {
		if text != "" {
			query.Set(name, text)
		}
	}
	var answer wire.Now
	raw, err := c.get(ctx, "/v1/now", query, &answer)
	if err != nil {
		return nil, nil, err
	}
	return &answer, raw, nil
}
