package client

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/waitcast/waitcast/api/wire"
)

// Forecast requests the load forecast for the next hours; 0 means a week. The answer covers the cluster and each queue,
// or only the given queue. Forecast also returns the answer's JSON.
//
// Errors are those of WaitJSON.
func (c *Client) Forecast(ctx context.Context, cluster, queue string, hours float64) (*wire.LoadForecast,
	json.RawMessage, error) {
	query := queryOf(map[string]string{"cluster": cluster, "queue": queue}, nil)
	if hours > 0 {
		query.Set("hours", strconv.FormatFloat(hours, 'f', -1, 64))
	}
	var answer wire.LoadForecast
	raw, err := c.get(ctx, "/v1/forecast", query, &answer)
	if err != nil {
		return nil, nil, err
	}
	return &answer, raw, nil
}
