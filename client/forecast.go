package client

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"

	"github.com/waitcast/waitcast/api/wire"
)

// Forecast asks what the next hours bring, at most so many (0: a week), for the cluster and each queue, or where one is
// named for that; and also returns the answer's JSON.
//
// Errors are those of WaitJSON.
func (c *Client) Forecast(ctx context.Context, cluster, queue string, hours float64) (*wire.LoadForecast,
	json.RawMessage, error) {
	query := url.Values{}
	for name, text := range map[string]string{"cluster": cluster, "queue": queue} {
		if text != "" {
			query.Set(name, text)
		}
	}
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
