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

// runs replays traces and stores the results in a folder, so that an interrupted command can continue without repeating
// them. A folder is valid for one version of the engine only.
type runs struct{ traces, folder string }

// replay replays a trace and stores the result, or returns the result that is stored already. If told is true, the
// number of processors is the one in the header; otherwise it is learnt.
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

// keep writes a result. After a crash the file is complete or missing.
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
