package client

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"github.com/waitcast/waitcast/api/wire"
)

// Size requests advice on the best size and queue. It also returns the answer's JSON.
//
// Errors are those of WaitJSON.
func (c *Client) Size(ctx context.Context, question *wire.SizeRequest) (*wire.Size, json.RawMessage, error) {
	var answer wire.Size
	raw, err := c.post(ctx, "/v1/size", question, &answer)
	if err != nil {
		return nil, nil, err
	}
	return &answer, raw, nil
}

// post sends a JSON request to a path below the daemon's URL and decodes the answer.
func (c *Client) post(ctx context.Context, path string, question, answer any) (json.RawMessage, error) {
	body, err := json.Marshal(question)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base.JoinPath(path).String(),
		bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, application/problem+json")
	response, err := c.http.Do(request)
	if err != nil {
		return nil, unreachable(c.URL(), err)
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	return c.answer(response, answer)
}

// Waits requests the forecasts for every combination of queues, sizes and time limits. It also returns the answer's
// JSON.
//
// Errors are those of WaitJSON.
func (c *Client) Waits(ctx context.Context, question *wire.WaitsRequest) (*wire.Waits, json.RawMessage, error) {
	var answer wire.Waits
	raw, err := c.post(ctx, "/v1/wait", question, &answer)
	if err != nil {
		return nil, nil, err
	}
	return &answer, raw, nil
}
