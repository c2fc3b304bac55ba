package grafana

import (
	"fmt"
	"slices"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/heatmap"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// kind is the kind of a panel.
type kind int

const (
	lines kind = iota
	number
	heat
	list
)

// These are Grafana's names of units.
const (
	seconds = "s"
	share   = "percentunit"
	plain   = "short"
	amount  = "bytes"
	perSec  = "cps"
)

// panel is one panel.
type panel struct {
	kind         kind
	title, about string // about explains how to read the panel
	unit         string
	w, h         uint32
	queries      []query
	steps        []step   // thresholds, the lowest first
	limit        bool     // whether the thresholds are drawn as lines
	min, max     *float64 // of the axis
	stacked, log bool
	bands        [][2]string // pairs of series; the area between the two is filled
	says         map[string]string
	none         string // text to show if there is no data
	repeat       string
	names        []string // names of a list's columns, one for each query
}

// query is one query to Prometheus.
type query struct{ expr, legend string }

// step is a threshold.
type step struct {
	color string
	from  float64
}

// rising returns the thresholds of a value that is worse the higher it is.
func rising(warn, bad float64) []step {
	return []step{{"green", 0}, {"yellow", warn}, {"red", bad}}
}

// alarm returns the thresholds of a value that is wrong from 1 on.
func alarm() []step { return []step{{"green", 0}, {"red", 1}} }

// falling returns the thresholds of a value that is worse the lower it is.
func falling(bad, warn float64) []step {
	return []step{{"red", 0}, {"yellow", bad}, {"green", warn}}
}

func at(v float64) *float64 { return &v }

// ask returns a list with one query.
func ask(expr, legend string) []query { return []query{{expr, legend}} }

func (p *panel) build(id uint32, place dashboard.GridPos) (dashboard.Panel, error) {
	out, err := p.shape()
	if err != nil {
		return out, err
	}
	src := source()
	out.Id, out.Title, out.Description, out.GridPos, out.Datasource = &id, &p.title, &p.about, &place, &src
	if p.repeat != "" {
		out.Repeat, out.MaxPerRow = &p.repeat, cog.ToPtr(3.0)
		out.RepeatDirection = cog.ToPtr(dashboard.PanelRepeatDirectionH)
	}
	for i, q := range p.queries {
		target, err := p.target(i, q)
		if err != nil {
			return out, err
		}
		out.Targets = append(out.Targets, *target)
	}
	p.field(&out)
	if p.kind == list {
		out.Transformations = p.columns()
	}
	return out, nil
}

// shape builds the panel by its kind.
func (p *panel) shape() (dashboard.Panel, error) {
	switch p.kind {
	case number:
		return stat.NewPanelBuilder().GraphMode(common.BigValueGraphModeArea).ColorMode(
			common.BigValueColorModeValue).Orientation(common.VizOrientationAuto).
			ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"}).Values(false)).Build()
	case heat:
		return heatmap.NewPanelBuilder().Calculate(false).CellGap(1).
			Color(heatmap.NewHeatmapColorOptionsBuilder().Mode(heatmap.HeatmapColorModeScheme).Scheme("Oranges").
				Scale(heatmap.HeatmapColorScaleExponential).Exponent(.5).Steps(64).Fill("dark-orange")).
			YAxis(heatmap.NewYAxisConfigBuilder().Unit(p.unit).AxisPlacement(common.AxisPlacementLeft)).
			Tooltip(heatmap.NewHeatmapTooltipBuilder().Mode(common.TooltipDisplayModeSingle).ShowColorScale(
				true).YHistogram(true)).Build()
	case list:
		return listShape()
	}
	b := timeseries.NewPanelBuilder().LineWidth(1).FillOpacity(0).ShowPoints(common.VisibilityModeNever).
		SpanNulls(common.BoolOrFloat64{Bool: cog.ToPtr(false)}).
		Legend(common.NewVizLegendOptionsBuilder().DisplayMode(common.LegendDisplayModeList).Placement(
			common.LegendPlacementBottom).ShowLegend(true).Calcs([]string{})).
		Tooltip(
			common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti).Sort(common.SortOrderDescending))
	if p.stacked {
		b.Stacking(common.NewStackingConfigBuilder().Mode(common.StackingModeNormal).Group("A")).FillOpacity(30)
	}
	if p.log { // a wait of 0 has no logarithm, so the scale is linear below a minute
		b.ScaleDistribution(common.NewScaleDistributionConfigBuilder().Type(common.ScaleDistributionSymlog).Log(
			10).LinearThreshold(60))
	}
	if p.limit {
		b.ThresholdsStyle(common.NewGraphThresholdsStyleConfigBuilder().Mode(common.GraphThresholdsStyleModeDashed))
	}
	return b.Build()
}

// listShape builds a table. Grafana's tables no longer have a footer, but the library still adds one.
func listShape() (dashboard.Panel, error) {
	out, err := table.NewPanelBuilder().ShowHeader(true).CellHeight(common.TableCellHeightSm).
		CellOptions(common.TableCellOptions{TableAutoCellOptions: common.NewTableAutoCellOptions()}).Build()
	if o, ok := out.Options.(*table.Options); ok {
		o.Footer = nil
	}
	return out, err
}

func (p *panel) target(i int, q query) (*prometheus.Dataquery, error) {
	b := prometheus.NewDataqueryBuilder().Expr(q.expr).RefId(string(rune('A' + i))).Datasource(source()).EditorMode(
		prometheus.QueryEditorModeCode)
	switch p.kind {
	case list:
		b.Instant().Format(prometheus.PromQueryFormatTable)
	case heat:
		b.Range().Format(prometheus.PromQueryFormatHeatmap).LegendFormat(q.legend)
	default:
		b.Range().Format(prometheus.PromQueryFormatTimeSeries).LegendFormat(q.legend)
	}
	built, err := b.Build()
	if err != nil {
		return nil, err
	}
	target, ok := built.(prometheus.Dataquery)
	if !ok {
		return nil, fmt.Errorf("the query is a %T", built)
	}
	return &target, nil
}

// field sets the unit, the bounds and the thresholds of the values.
func (p *panel) field(out *dashboard.Panel) {
	if out.FieldConfig == nil {
		out.FieldConfig = dashboard.NewFieldConfigSource()
	}
	d := &out.FieldConfig.Defaults
	d.Unit, d.Min, d.Max = &p.unit, p.min, p.max
	if p.none != "" {
		d.NoValue = &p.none
	}
	steps := p.steps
	if len(steps) == 0 {
		steps = []step{{"green", 0}}
	}
	t := &dashboard.ThresholdsConfig{Mode: dashboard.ThresholdsModeAbsolute}
	for i, s := range steps {
		th := dashboard.Threshold{Color: s.color}
		if i > 0 {
			th.Value = at(s.from)
		}
		t.Steps = append(t.Steps, th)
	}
	d.Thresholds = t
	mode := dashboard.FieldColorModeIdPaletteClassicByName
	if p.kind != lines {
		mode = dashboard.FieldColorModeIdThresholds
	}
	d.Color = &dashboard.FieldColor{Mode: mode}
	if len(p.says) > 0 {
		options := map[string]dashboard.ValueMappingResult{}
		for value, text := range p.says {
			options[value] = dashboard.ValueMappingResult{Text: cog.ToPtr(text)}
		}
		d.Mappings = []dashboard.ValueMapping{
			{ValueMap: &dashboard.ValueMap{Type: dashboard.MappingTypeValueToText, Options: options}},
		}
	}
	out.FieldConfig.Overrides = p.overrides()
}

// overrides returns the settings that fill bands.
func (p *panel) overrides() []dashboard.DashboardFieldConfigSourceOverrides {
	out := []dashboard.DashboardFieldConfigSourceOverrides{}
	property := func(name string, properties ...dashboard.DynamicConfigValue) {
		out = append(out, dashboard.DashboardFieldConfigSourceOverrides{
			Matcher: dashboard.MatcherConfig{Id: "byName", Options: name}, Properties: properties,
		})
	}
	for _, band := range p.bands {
		property(band[0], dashboard.DynamicConfigValue{Id: "custom.fillBelowTo", Value: band[1]},
			dashboard.DynamicConfigValue{Id: "custom.fillOpacity", Value: 20})
		property(band[1], dashboard.DynamicConfigValue{Id: "custom.fillOpacity", Value: 0})
	}
	return out
}

// columns joins the results of a list's queries as columns, and names them.
func (p *panel) columns() []dashboard.DataTransformerConfig {
	renamed, hidden := map[string]string{}, map[string]bool{"Time": true}
	for i, name := range p.names {
		value := "Value"
		if len(p.queries) > 1 {
			value = fmt.Sprintf("Value #%c", 'A'+i)
		}
		if name == "" {
			hidden[value] = true
		} else {
			renamed[value] = name
		}
	}
	organize := dashboard.DataTransformerConfig{Id: "organize", Options: map[string]any{
		"excludeByName": hidden, "renameByName": renamed, "indexByName": map[string]int{},
		"includeByName": map[string]bool{},
	}}
	if len(p.queries) == 1 {
		return []dashboard.DataTransformerConfig{organize}
	}
	return []dashboard.DataTransformerConfig{{Id: "merge", Options: map[string]any{}}, organize}
}

// fan returns a panel of forecast quantiles, with bands between pairs of levels, from the outermost to the innermost
// pair.
func fan(p panel, expr string, pairs ...[2]string) panel {
	p.queries, p.bands = ask(expr, "{{level}}"), slices.Clone(pairs)
	return p
}
