package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/waitcast/waitcast/predictor/backtest"
	"github.com/waitcast/waitcast/predictor/engine"
)

// runs replays traces, and keeps the results in a folder, so that an interrupted command goes on: what has a result is
// not replayed again. A folder is for one version of the engine.
type runs struct{ traces, folder string }

// replay replays a trace, with the processors that its header tells or with those that are learnt.
func (r runs) replay(name string, told bool) (*backtest.TraceResult, error) {
	kept := filepath.Join(r.folder, name+".json")
	if told {
		kept = filepath.Join(r.folder, name+".told.json")
	}
	data, err := os.ReadFile(kept)
	switch {
	case err == nil:
		var result backtest.TraceResult
		if err := json.Unmarshal(data, &result); err != nil {
			return nil, fmt.Errorf("%s: %w: remove it, and it is made again", kept, err)
		}
		return &result, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	trace, err := backtest.Open(filepath.Join(r.traces, name+".swf.gz"), name)
	if err != nil {
		return nil, err
	}
	o := backtest.Options{Warmup: .1}
	if told {
		o.Engine = engine.Config{Capacity: trace.Procs}
	}
	result, err := backtest.Run(trace, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	fmt.Fprintf(os.Stderr, "%s: %.0f s\n", filepath.Base(kept), result.Seconds)
	return result, r.keep(kept, result)
}

// keep writes a result, whole or not at all.
func (r runs) keep(path string, result *backtest.TraceResult) error {
	data, err := json.Marshal(result)
	if err != nil {
		return err
	}
	if err := errors.Join(os.MkdirAll(r.folder, 0o750), os.WriteFile(path+".part", data, 0o600)); err != nil {
		return err
	}
	return os.Rename(path+".part", path)
}
