package client

import (
	"context"
	"encoding/json"

	"github.com/waitcast/waitcast/api/wire"
)

// MeQuery selects data of one user. Empty and zero fields mean the daemon's defaults.
type MeQuery struct {
	Cluster string
	// User selects the user, for administrators; for others the credential decides.
	User string
	// Name is a job name whose habit is included in addition to those of the waiting and running jobs.
	Name string
	// At most Limit waiting jobs are listed, after the first Offset.
	Limit, Offset int
}

// Me requests the waiting jobs and the habits of the caller, whom the daemon identifies by its Unix socket or by a
// token. It also returns the answer's JSON.
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
