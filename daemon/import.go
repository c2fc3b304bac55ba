package daemon

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/waitcast/waitcast/api"
	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/collector/slurm"
	"github.com/waitcast/waitcast/daemon/intake"
	"github.com/waitcast/waitcast/history"
	"github.com/waitcast/waitcast/pipeline"
	"github.com/waitcast/waitcast/pipeline/past"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// imports has the importer of each cluster.
type imports map[string]*intake.Importer

// openImports creates the importer of every cluster.
func (c *collectingCore) openImports(context.Context) error {
	c.imports = imports{}
	for _, machine := range c.cfg.Clusters {
		options, err := CollectorOptions(machine)
		if err != nil {
			return err
		}
		for _, other := range c.cfg.Clusters {
			if other.Name != machine.Name {
				options.Others = append(options.Others, other.Name)
			}
		}
		c.imports[machine.Name] = intake.New(intake.Config{
			Cluster: machine.Name, Options: options, Zone: machine.TimeZone, TempDir: c.cfg.DataDir,
			Retention: c.cfg.HistoryRetention, Now: c.opts.Now, Store: c.store, Learner: c.pipeline, Log: c.opts.Log,
		})
		c.metrics.TouchImports(machine.Name)
	}
	return nil
}

// errImportEnds is the answer to an import that is cut off because its core ends.
var errImportEnds error = &api.Refused{Status: http.StatusServiceUnavailable,
	Detail: "the import was interrupted: the daemon is stopping, or a reload restarts it",
	Hint:   "import the same log again: what was taken in counts once"}

// closeImports stops all imports.
func (c *collectingCore) closeImports() error {
	for _, i := range c.imports {
		i.Close(errImportEnds)
	}
	return nil
}

// takeImport imports logs. It is the api.ImportFunc.
func (c *collectingCore) takeImport(ctx context.Context, req api.ImportRequest,
	progress func(wire.ImportProgress)) (*wire.ImportReport, error) {
	i := c.imports[req.Cluster]
	if i == nil {
		return nil, &api.Refused{Status: http.StatusNotFound, Detail: fmt.Sprintf("no cluster %q", req.Cluster),
			Hint: "known: " + c.imports.names()}
	}
	if err := checkFormat(req.Format, req.Columns); err != nil {
		return nil, err
	}
	if req.Columns != "" {
		req.Format = slurm.SacctName
	}
	report, err := i.Import(ctx, intake.Request{
		Format: req.Format, Columns: req.Columns, Mode: past.Mode(req.Mode), Files: req.Files, Progress: progress,
	})
	if err == nil {
		c.countBad(report)
	}
	return report, err
}

// checkFormat returns an error for a format that recorded logs do not have, and for columns that lack a required one or
// are given for another format than that of sacct.
func checkFormat(format, columns string) error {
	refuse := func(err error) error {
		return &api.Refused{Status: http.StatusUnprocessableEntity, Detail: err.Error(),
			Hint: "leave the format out: it is recognized by the content of a log"}
	}
	if format != "" {
		if _, err := history.Named(history.Formats(nil), format); err != nil {
			return refuse(err)
		}
	}
	switch {
	case columns == "":
		return nil
	case format != "" && format != slurm.SacctName:
		return refuse(fmt.Errorf("columns are those of format %s", slurm.SacctName))
	}
	if err := slurm.CheckSacctColumns(columns); err != nil {
		return refuse(fmt.Errorf("columns: %w", err))
	}
	return nil
}

// countBad counts the bad lines of an import.
func (c *collectingCore) countBad(report *wire.ImportReport) {
	from := intake.Source(report.Cluster)
	for _, b := range report.Bad {
		c.metrics.BadLines.WithLabelValues(report.Cluster, from, b.Reason).Add(float64(b.Lines))
	}
}

func (m imports) names() string {
	var all []string
	for name := range m {
		all = append(all, name)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// collectingViews are the views of a daemon that collects. Their conditions include those of the imports.
type collectingViews struct {
	*pipeline.Pipeline
	core *collectingCore
}

// Conditions implements api.Views.
func (v collectingViews) Conditions() []readmodel.Condition {
	out := v.Pipeline.Conditions()
	for _, machine := range v.core.cfg.Clusters {
		if c := v.core.histories.condition(machine.Name, v.core.imports[machine.Name]); c != nil {
			out = append(out, *c)
		}
	}
	return out
}
