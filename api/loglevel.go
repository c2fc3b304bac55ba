package api

import (
	"context"
	"net/http"
	"runtime/pprof"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/api/ask"
	"github.com/waitcast/waitcast/api/wire"
)

type logLevelOutput struct {
	CacheControl string `header:"Cache-Control"`
	Body         wire.LogLevel
}

type setLogLevelInput struct{ Body wire.SetLogLevel }

// registerLogLevel adds the operations on the log level, if it can be changed.
func (s *Server) registerLogLevel(a huma.API) {
	if s.opts.Admin.LogLevel == nil {
		return
	}
	register(a, huma.Operation{
		OperationID: "get-log-level", Method: http.MethodGet, Path: logLevelPath, Security: adminOnly(),
		Middlewares: huma.Middlewares{s.adminOperation},
		Summary:     "The daemon's log level",
		Errors:      []int{http.StatusUnauthorized},
	}, func(context.Context, *struct{}) (*logLevelOutput, error) {
		return &logLevelOutput{"no-store", s.opts.Admin.LogLevel.Level()}, nil
	})
	register(a, huma.Operation{
		OperationID: "put-log-level", Method: http.MethodPut, Path: logLevelPath, Security: adminOnly(),
		Middlewares: huma.Middlewares{s.adminOperation},
		Summary:     "Change the daemon's log level for some time",
		Errors:      []int{http.StatusUnauthorized, http.StatusUnprocessableEntity},
	}, func(_ context.Context, in *setLogLevelInput) (*logLevelOutput, error) {
		level, err := s.opts.Admin.LogLevel.Set(in.Body.Level, time.Duration(in.Body.ForSeconds*float64(time.Second)))
		if err != nil {
			return nil, ask.Invalid("level", err.Error())
		}
		return &logLevelOutput{"no-store", level}, nil
	})
}

// logLevelPath is the path of the level of the log.
const logLevelPath = "/v1/log-level"

// goroutinesPath is the path of the stacks of the process: functions, files and lines of the program, and no data.
const goroutinesPath = "/v1/goroutines"

func (s *Server) getGoroutines(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	const byStack = 1 // each stack once, with its number of goroutines
	if err := pprof.Lookup("goroutine").WriteTo(w, byStack); err != nil {
		s.opts.Log.Debug("goroutines: the client is gone", zap.Error(err))
	}
}
