package client

import (
	"context"
	"encoding/json"

	"github.com/waitcast/waitcast/api/wire"
)

// Health requests the conditions that keep the daemon from doing all of its work, and how new its data are. It also
// returns the answer as the daemon wrote it. The errors are those of WaitJSON.
func (c *Client) Health(ctx context.Context) (*wire.Health, json.RawMessage, error) {
	var health wire.Health
	raw, err := c.get(ctx, "/v1/health", nil, &health)
	if err != nil {
		return nil, nil, err
	}
	return &health, raw, nil
}
