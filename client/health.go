package client

import (
	"context"

	"github.com/waitcast/waitcast/api/wire"
)

// Health requests the conditions that keep the daemon from doing all of its work. The errors are those of WaitJSON.
func (c *Client) Health(ctx context.Context) (*wire.Health, error) {
	var health wire.Health
	if _, err := c.get(ctx, "/v1/health", nil, &health); err != nil {
		return nil, err
	}
	return &health, nil
}
