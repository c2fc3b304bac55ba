package daemon

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/waitcast/waitcast/api"
	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/collector"
)

// imports are the importers of a daemon by cluster.
type imports struct {
	byCluster map[string]*importer
	formats   map[string]collector.Format
}

func newImports() *imports {
	return &imports{byCluster: map[string]*importer{}, formats: importFormats()}
}

// take is the api.ImportFunc.
func (m *imports) take(ctx context.Context, req api.ImportRequest,
	progress func(wire.ImportProgress)) (*wire.ImportReport, error) {
	i := m.byCluster[req.Cluster]
	if i == nil {
		detail := fmt.Sprintf("no cluster %q", req.Cluster)
		return nil, &api.Refused{Status: http.StatusNotFound, Detail: detail, Hint: "known: " + names(m.byCluster)}
	}
	format, ok := m.formats[req.Format]
	if !ok {
		return nil, &api.Refused{
			Status: http.StatusUnprocessableEntity, Detail: fmt.Sprintf("logs of format %q cannot be imported",
				req.Format),
			Hint: "formats whose records tell whole jobs can: " + names(m.formats),
		}
	}
	if err := i.begin(); err != nil {
		return nil, err
	}
	run := newImportRun(i, format, req, progress)
	report, err := run.all(ctx)
	i.release(run.base.deliveries + run.sent)
	return report, err
}

func names[V any](of map[string]V) string {
	var all []string
	for name := range of {
		all = append(all, name)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
