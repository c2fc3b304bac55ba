package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/api"
	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/pipeline/accuracy"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// document is the part of an OpenAPI document that the pages show.
type document struct {
	Info struct {
		Description string `json:"description"`
	} `json:"info"`
	Tags []struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	} `json:"tags"`
	// Paths has the operations by path and method.
	Paths      map[string]map[string]*operation `json:"paths"`
	Components struct {
		Schemas map[string]*schema `json:"schemas"`
	} `json:"components"`
}

// operation is one HTTP method of one path.
type operation struct {
	ID          string      `json:"operationId"`
	Tags        []string    `json:"tags"`
	Summary     string      `json:"summary"`
	Description string      `json:"description"`
	Parameters  []parameter `json:"parameters"`
	// Security lists the alternative credentials, if they differ from those of all operations.
	Security    []map[string][]string `json:"security"`
	RequestBody content               `json:"requestBody"`
	Responses   map[string]*content   `json:"responses"`
}

// parameter is one parameter of an operation.
type parameter struct {
	Name        string `json:"name"`
	In          string `json:"in"`
	Description string `json:"description"`
	Required    bool   `json:"required"`
	Schema      schema `json:"schema"`
}

// content is a body in one or several media types.
type content struct {
	Content map[string]struct {
		Schema   schema             `json:"schema"`
		Examples map[string]example `json:"examples"`
	} `json:"content"`
}

// example is a body, and the request that it answers.
type example struct {
	Summary string          `json:"summary"`
	Value   json.RawMessage `json:"value"`
}

// schema is a type.
type schema struct {
	Ref         string             `json:"$ref"`
	Type        types              `json:"type"`
	Format      string             `json:"format"`
	Description string             `json:"description"`
	Enum        []any              `json:"enum"`
	Default     any                `json:"default"`
	Minimum     *float64           `json:"minimum"`
	Above       *float64           `json:"exclusiveMinimum"`
	Maximum     *float64           `json:"maximum"`
	OneOf       []*schema          `json:"oneOf"`
	Items       *schema            `json:"items"`
	Properties  map[string]*schema `json:"properties"`
	// Additional is the type of the values of a map, or a boolean.
	Additional json.RawMessage `json:"additionalProperties"`
	Required   []string        `json:"required"`
}

// types are the possible types of a value: one, or a list.
type types []string

// UnmarshalJSON implements json.Unmarshaler.
func (t *types) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*t = types{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(t))
}

// noViews implements api.Views for a daemon without clusters.
type noViews struct{}

// View implements api.Views.
func (noViews) View(string) *readmodel.View { return nil }

// Views implements api.Views.
func (noViews) Views() []*readmodel.View { return nil }

// Published implements api.Views.
func (noViews) Published() <-chan struct{} { return nil }

// Conditions implements api.Views.
func (noViews) Conditions() []readmodel.Condition { return nil }

// fixedLevel is a log level that never changes.
type fixedLevel struct{}

// Level implements api.LogLevel.
func (fixedLevel) Level() wire.LogLevel { return wire.LogLevel{} }

// Set implements api.LogLevel.
func (fixedLevel) Set(string, time.Duration) (wire.LogLevel, error) { return wire.LogLevel{}, nil }

// served returns the document of a daemon that has every operation.
func served() (*document, error) {
	server := api.New(noViews{}, api.Options{
		Version: "0", StaleAfter: time.Hour, Now: time.Now, Registry: prometheus.NewRegistry(), Log: zap.NewNop(),
		Accuracy: func(context.Context, api.AccuracyQuery) (*accuracy.Summary, error) { return nil, nil },
		History:  func(context.Context, api.HistoryQuery) (*accuracy.DailyWaits, error) { return nil, nil },
		Recent:   func(context.Context, api.RecentQuery) ([]api.RecentRow, error) { return nil, nil },
		Admin:    &api.Admin{LogLevel: fixedLevel{}},
	})
	defer server.Close()
	recorder := httptest.NewRecorder()
	request := httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/openapi.json", http.NoBody)
	server.Handler().ServeHTTP(recorder, request)
	if recorder.Code != http.StatusOK {
		return nil, fmt.Errorf("GET /openapi.json: status %d: %s", recorder.Code, recorder.Body)
	}
	doc := new(document)
	if err := json.Unmarshal(recorder.Body.Bytes(), doc); err != nil {
		return nil, fmt.Errorf("the OpenAPI document: %w", err)
	}
	return doc, nil
}
