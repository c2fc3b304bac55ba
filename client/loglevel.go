package client

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/waitcast/waitcast/api/wire"
)

const logLevelPath = "/v1/log-level"

// LogLevel requests the level of the daemon's log. It also returns the answer's JSON. It needs the admin token.
//
// Errors are those of WaitJSON.
func (c *Client) LogLevel(ctx context.Context, token string) (*wire.LogLevel, json.RawMessage, error) {
	var answer wire.LogLevel
	raw, err := c.getAs(ctx, token, logLevelPath, nil, &answer)
	if err != nil {
		return nil, nil, err
	}
	return &answer, raw, nil
}

// SetLogLevel changes the level of the daemon's log for a duration. If the duration is 0, the level stays until the
// next change. SetLogLevel needs the admin token.
//
// Errors are those of WaitJSON.
func (c *Client) SetLogLevel(ctx context.Context, token, level string, duration time.Duration) (*wire.LogLevel,
	json.RawMessage, error) {
	body, err := json.Marshal(wire.SetLogLevel{Level: level, ForSeconds: duration.Seconds()})
	if err != nil {
		return nil, nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, c.base.JoinPath(logLevelPath).String(),
		bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, application/problem+json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, nil, unreachable(c.URL(), err)
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	var answer wire.LogLevel
	raw, err := c.answer(response, &answer)
	if err != nil {
		return nil, nil, err
	}
	return &answer, raw, nil
}
