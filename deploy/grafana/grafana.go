// Package grafana generates waitcast's Grafana dashboards. go generate writes them as JSON files into this folder; the
// tests compare them with the metrics of a daemon.
package grafana

//go:generate go run ./generate

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// File is one dashboard as Grafana loads it.
type File struct {
	// Name is the name of the file.
	Name string
	JSON []byte
}

// Dashboards returns every dashboard.
func Dashboards() ([]File, error) {
	var out []File
	for _, b := range []board{overview(), queueBoard(), accuracy(), daemon()} {
		built, err := b.build()
		if err != nil {
			return nil, fmt.Errorf("dashboard %s: %w", b.name, err)
		}
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(built); err != nil {
			return nil, fmt.Errorf("dashboard %s: %w", b.name, err)
		}
		out = append(out, File{b.name + ".json", text.Bytes()})
	}
	return out, nil
}

// board is a dashboard.
type board struct {
	name, title, about string
	variables          []cog.Builder[dashboard.VariableModel]
	rows               []row
}

// row is a headline with panels below it, from left to right, in lines of 24 columns.
type row struct {
	title  string
	panels []panel
}

// columns is the width of Grafana's grid.
const columns = 24

// tag is the tag of all the dashboards, by which they link to each other.
const tag = "waitcast"

// build lays the panels out. The library calls this schema deprecated. But the next schema needs Grafana 12.2 or newer,
// and all versions load this one.
//
//nolint:staticcheck // see above
func (b *board) build() (dashboard.Dashboard, error) {
	d := dashboard.NewDashboardBuilder("waitcast: "+b.title).
		Uid("waitcast-"+b.name).Description(b.about).Tags([]string{tag}).Editable().
		Time("now-6h", "now").Refresh("1m").Timezone("browser").Tooltip(dashboard.DashboardCursorSyncCrosshair).
		Variables(b.variables).
		Link(dashboard.NewDashboardLinkBuilder("waitcast").Type(dashboard.DashboardLinkTypeDashboards).Tags(
			[]string{tag}).
			AsDropdown(true).IncludeVars(true).KeepTime(true).Icon("external link"))
	id, y := uint32(0), uint32(0)
	for _, r := range b.rows {
		id++
		d.WithRow(dashboard.NewRowBuilder(r.title).Id(id).GridPos(dashboard.GridPos{X: 0, Y: y, W: columns, H: 1}))
		y++
		x, line := uint32(0), uint32(0)
		for i := range r.panels {
			p := &r.panels[i]
			if x+p.w > columns {
				x, y, line = 0, y+line, 0
			}
			id++
			made, err := p.build(id, dashboard.GridPos{X: x, Y: y, W: p.w, H: p.h})
			if err != nil {
				return dashboard.Dashboard{}, fmt.Errorf("panel %q: %w", p.title, err)
			}
			d.WithPanel(ready{made})
			x, line = x+p.w, max(line, p.h)
		}
		y += line
	}
	built, err := d.Build()
	for i := range built.Templating.List { // only intervals use these fields, but the library always sets them
		built.Templating.List[i].Auto, built.Templating.List[i].AutoMin, built.Templating.List[i].AutoCount = nil, nil,
			nil
	}
	return built, err
}

// ready is a panel that is already built.
type ready struct{ dashboard.Panel }

// Build implements cog.Builder.
func (r ready) Build() (dashboard.Panel, error) { return r.Panel, nil }

// source returns the data source that is selected in the dashboard.
func source() common.DataSourceRef {
	return common.DataSourceRef{Type: cog.ToPtr("prometheus"), Uid: cog.ToPtr("${datasource}")}
}

// dataSource returns the variable of the data source.
func dataSource() cog.Builder[dashboard.VariableModel] {
	return dashboard.NewDatasourceVariableBuilder("datasource").Label("Data source").Type("prometheus")
}

// choice returns a variable with the values of a label.
func choice(name, label, query string, several bool) cog.Builder[dashboard.VariableModel] {
	v := dashboard.NewQueryVariableBuilder(name).Label(label).Query(dashboard.StringOrMap{String: &query}).
		Datasource(source()).Refresh(dashboard.VariableRefreshOnTimeRangeChanged).Sort(dashboard.VariableSortNaturalAsc)
	if !several {
		return v
	}
	all := dashboard.VariableOption{
		Selected: cog.ToPtr(true),
		Text:     dashboard.StringOrArrayOfString{ArrayOfString: []string{"All"}},
		Value:    dashboard.StringOrArrayOfString{ArrayOfString: []string{"$__all"}},
	}
	return v.Multi(true).IncludeAll(true).AllValue(".*").Current(all)
}

// clusters and queues return the variables that every dashboard has.
func clusters(several bool) cog.Builder[dashboard.VariableModel] {
	return choice("cluster", "Cluster", "label_values(waitcast_as_of_timestamp_seconds, cluster)", several)
}

func queues(several bool) cog.Builder[dashboard.VariableModel] {
	return choice("queue", "Queue", `label_values(waitcast_queue_jobs{cluster=~"$cluster"}, queue)`, several)
}
