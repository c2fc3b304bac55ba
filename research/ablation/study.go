package ablation

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/waitcast/waitcast/predictor/backtest"
)

// Study is a set of runs. The results are stored in a folder, so that an interrupted study can continue. The results in
// a folder must come from one version of the engine.
type Study struct {
	// Folder is the folder of the results.
	Folder string
	// Traces are the paths of the logs. Variants are the names of the variants to run on each log (see Groups).
	Traces, Variants []string
	// Jobs is the number of jobs of each log that are replayed, from the first on; 0 means the first half.
	Jobs int
	// Progress is called before each run whose result is missing.
	Progress func(trace, variant string)
}

// Run performs the runs whose results are missing: first those of the first log, then those of the second, and so on.
// It stops at the first error.
func (s *Study) Run() error {
	for _, file := range s.Traces {
		var t *backtest.Trace
		for _, variant := range s.Variants {
			name := nameOf(file)
			if r, err := s.result(name, variant); err != nil || r != nil {
				if err != nil {
					return err
				}
				continue
			}
			if t == nil {
				all, err := backtest.Open(file, name)
				if err != nil {
					return err
				}
				t = First(all, s.Jobs)
			}
			if s.Progress != nil {
				s.Progress(name, variant)
			}
			r, err := Run(t, variant)
			if err != nil {
				return fmt.Errorf("%s without %s: %w", name, variant, err)
			}
			if err := s.keep(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// Results returns the stored results by trace and variant.
func (s *Study) Results() (map[string]map[string]*Result, error) {
	out := map[string]map[string]*Result{}
	for _, file := range s.Traces {
		name := nameOf(file)
		out[name] = map[string]*Result{}
		for _, variant := range s.Variants {
			r, err := s.result(name, variant)
			if err != nil {
				return nil, err
			}
			if r != nil {
				out[name][variant] = r
			}
		}
	}
	return out, nil
}

// nameOf returns the name of the trace in a file.
func nameOf(file string) string { return strings.TrimSuffix(filepath.Base(file), ".swf.gz") }

// path returns the path of the file that has a result. The path contains the number of jobs, so that studies with
// different numbers of jobs do not share results.
func (s *Study) path(trace, variant string) string {
	jobs := "half"
	if s.Jobs > 0 {
		jobs = fmt.Sprint(s.Jobs)
	}
	return filepath.Join(s.Folder, trace, jobs, strings.ReplaceAll(variant, " ", "_")+".json")
}

// result returns a stored result, nil if there is none.
func (s *Study) result(trace, variant string) (*Result, error) {
	data, err := os.ReadFile(s.path(trace, variant))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // none is no error
	} else if err != nil {
		return nil, err
	}
	var r Result
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("%s: %w: remove it, and it is made again", s.path(trace, variant), err)
	}
	return &r, nil
}

// keep stores a result. Even after a crash the file is either complete or missing.
func (s *Study) keep(r *Result) error {
	path := s.path(r.Trace, r.Variant)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".part", data, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".part", path)
}
