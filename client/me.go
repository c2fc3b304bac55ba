package client

import (
	"context"
	"encoding/json"

	"github.com/waitcast/waitcast/api/wire"
)

// MeQuery selects the data of one user. Empty and zero fields mean the daemon's defaults.
type MeQuery struct {
	Cluster string
	// User selects the user if the caller is an administrator. For other callers the credential decides.
	User string
	// Name is a job name. The answer includes the habit of this name, besides those of the waiting and running jobs.
	Name string
	// Limit is the maximum number of listed jobs. Offset is the number of jobs that are left out before them.
	Limit, Offset int
}

// Me requests the waiting jobs and the habits of the caller. The daemon identifies the caller by its Unix socket or by
// a credential. Me also returns the answer's JSON.
//
// Errors are those of WaitJSON.
func (c *Client) Me(ctx context.Context, q MeQuery) (*wire.Me, json.RawMessage, error) {
	query := queryOf(map[string]string{"cluster": q.Cluster, "user": q.User, "name": q.Name},
		map[string]int{"limit": q.Limit, "offset": q.Offset})
	var answer wire.Me
	raw, err := c.get(ctx, "/v1/me", query, &answer)
	if err != nil {
		return nil, nil, err
	}
	return &answer, raw, nil
}
