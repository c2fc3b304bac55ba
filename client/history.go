package client

import (
	"context"
	"encoding/json"

	"github.com/waitcast/waitcast/api/wire"
)

// HistoryQuery selects the waits to report. The daemon has a default for each empty field.
type HistoryQuery struct {
	// Cluster may be empty if the daemon has only one cluster. An empty Queue means any queue.
	Cluster, Queue string
	// Since and Until limit the starts of the jobs. They are instants, or times before the newest record.
	Since, Until string
	// Limit and Offset select a page of the days: at most Limit days after the first Offset. A limit of 0 means the
	// daemon's default.
	Limit, Offset int
}

// History requests the waits by queue and day. It also returns the answer's JSON.
//
// Errors are those of WaitJSON.
func (c *Client) History(ctx context.Context, q HistoryQuery) (*wire.History, json.RawMessage, error) {
	query := queryOf(map[string]string{"cluster": q.Cluster, "queue": q.Queue, "since": q.Since, "until": q.Until},
		map[string]int{"limit": q.Limit, "offset": q.Offset})
	var answer wire.History
	raw, err := c.get(ctx, "/v1/history", query, &answer)
	if err != nil {
		return nil, nil, err
	}
	return &answer, raw, nil
}
