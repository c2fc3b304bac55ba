// Command openapi writes docs/openapi.json, the OpenAPI document that a daemon with every operation serves.
//
//	go generate ./api
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/api"
	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/pipeline/accuracy"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: openapi FILE")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "openapi:", err)
		os.Exit(1)
	}
}

// write writes the document into a file, indented so that changes can be compared.
func write(file string) error {
	doc, err := served()
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, doc, "", " "); err != nil {
		return err
	}
	return os.WriteFile(file, append(out.Bytes(), '\n'), 0o644)
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

// served returns the OpenAPI document of a daemon that has every operation.
func served() ([]byte, error) {
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
	return recorder.Body.Bytes(), nil
}
