package backtest

import (
	"bytes"
	"fmt"
	"html/template"
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/waitcast/waitcast/job/waittime"
)

//nolint:lll // a page, in which line ends would be blanks
const reportPage = `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>waitcast backtest</title>
<style>body{font:15px/1.45 system-ui,sans-serif;max-width:1080px;margin:2em auto;padding:0 1em;color:#222}
table{border-collapse:collapse;margin:1em 0}td,th{padding:.2em .7em;text-align:right;border-bottom:1px solid #ddd}td:first-child,th:first-child{text-align:left}
figure{margin:1em 0}figcaption{color:#555}svg{max-width:100%;height:auto}.served{font-weight:600}</style></head><body>
<h1>waitcast backtest</h1>
<p>Loss is the mean pinball loss of ln(wait + 60 s): lower is better. Covered is the share of waits at most the quantile.
Every method was asked at each submission with what was known then.</p>
{{range .}}<h2>{{.Trace.Trace}}</h2>
<p>{{.Trace.Jobs}} jobs; best constant forecast within a factor 2: {{printf "%.3f" .Trace.Constant.Within2}}.</p>
<table><tr><th>method</th><th>n</th>{{range .Levels}}<th>loss {{.}}</th>{{end}}{{range .Levels}}<th>covered {{.}}</th>{{end}}<th>within factor 2</th></tr>
{{$levels := .Levels}}{{range .Trace.Methods}}{{$m := .}}<tr{{if eq .Method "waitcast"}} class="served"{{end}}><td>{{.Method}}</td><td>{{.N}}</td>
{{range $levels}}<td>{{printf "%.4f" (index $m.LogPinball .)}}</td>{{end}}{{range $levels}}<td>{{printf "%.3f" (index (index $m.Coverage .) 1)}}</td>{{end}}<td>{{printf "%.3f" .Within2}}</td></tr>
{{end}}</table>
<figure>{{.Scatter}}<figcaption>Each point a job: the median served at its submission against its wait. On the line they are equal.</figcaption></figure>
<figure>{{.Reliability}}<figcaption>Reliability: the share of waits below each served quantile and at most it. The level should lie between both.</figcaption></figure>
<figure>{{.Error}}<figcaption>Month by month: pinball loss of the median.</figcaption></figure>
{{end}}</body></html>
`

// section is one trace of the report.
type section struct {
	Trace                       *TraceResult
	Levels                      []string
	Scatter, Reliability, Error template.HTML
}

// WriteReport writes a page with the figures and three pictures for each trace; samples are those of the traces, in
// their order.
func WriteReport(to io.Writer, r *Result, samples []*Sample) error {
	page, err := template.New("report").Parse(reportPage)
	if err != nil {
		return err
	}
	if len(samples) != len(r.Traces) {
		return fmt.Errorf("report: %d samples of %d traces", len(samples), len(r.Traces))
	}
	var sections []section
	for i := range r.Traces {
		s := section{Trace: &r.Traces[i]}
		for _, level := range waittime.ScoredLevels() {
			s.Levels = append(s.Levels, levelName(level))
		}
		for _, picture := range [...]struct {
			to   *template.HTML
			draw func(*TraceResult, *Sample) (*plot.Plot, error)
		}{{&s.Scatter, scatter}, {&s.Reliability, reliability}, {&s.Error, overTime}} {
			p, err := picture.draw(s.Trace, samples[i])
			if err != nil {
				return fmt.Errorf("report of %s: %w", s.Trace.Trace, err)
			}
			if *picture.to, err = svg(p); err != nil {
				return fmt.Errorf("report of %s: %w", s.Trace.Trace, err)
			}
		}
		sections = append(sections, s)
	}
	return page.Execute(to, sections)
}

// svg draws a plot as an element of a page.
func svg(p *plot.Plot) (template.HTML, error) {
	canvas := vgsvg.New(22*vg.Centimeter, 11*vg.Centimeter)
	p.Draw(draw.New(canvas))
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return "", err
	}
	text := out.Bytes()
	if i := bytes.Index(text, []byte("<svg")); i >= 0 { // without the prologue of a file
		text = text[i:]
	}
	return template.HTML(text), nil //nolint:gosec // drawn here from numbers
}

func blue(alpha uint8) color.NRGBA { return color.NRGBA{R: 0x1f, G: 0x5f, B: 0xa8, A: alpha} }

func scatter(_ *TraceResult, s *Sample) (*plot.Plot, error) {
	points := make(plotter.XYs, len(s.points))
	most := 60.0
	for i, p := range s.points {
		points[i] = plotter.XY{X: p.forecast + 1, Y: p.wait + 1} // a logarithm has no 0
		most = math.Max(most, math.Max(p.forecast, p.wait)+1)
	}
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = "median served + 1 s", "wait + 1 s"
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.LogTicks{Prec: -1}, plot.LogTicks{Prec: -1}
	dots, err := plotter.NewScatter(points)
	if err != nil {
		return nil, err
	}
	dots.GlyphStyle.Radius, dots.GlyphStyle.Shape, dots.GlyphStyle.Color = vg.Points(1.2),
		draw.CircleGlyph{}, blue(0x60)
	line, err := plotter.NewLine(plotter.XYs{{X: 1, Y: 1}, {X: most, Y: most}})
	if err != nil {
		return nil, err
	}
	p.Add(dots, line)
	return p, nil
}

func reliability(t *TraceResult, _ *Sample) (*plot.Plot, error) {
	var low, high plotter.XYs
	if m := t.Method(Waitcast); m != nil {
		for _, level := range waittime.ScoredLevels() {
			if c, ok := m.Coverage[levelName(level)]; ok {
				low, high = append(low, plotter.XY{X: level, Y: c[0]}), append(high, plotter.XY{X: level, Y: c[1]})
			}
		}
	}
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = "level", "share of waits"
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = .4, 1, 0, 1
	if err := addLines(p, low, high, plotter.XYs{{X: .4, Y: .4}, {X: 1, Y: 1}}); err != nil {
		return nil, err
	}
	return p, nil
}

func overTime(_ *TraceResult, s *Sample) (*plot.Plot, error) {
	var loss plotter.XYs
	for i, m := range s.months {
		if m.n > 0 {
			loss = append(loss, plotter.XY{X: float64(i), Y: m.loss / float64(m.n)})
		}
	}
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = "month", "loss of the median"
	p.Y.Min = 0
	if err := addLines(p, loss); err != nil {
		return nil, err
	}
	return p, nil
}

func addLines(p *plot.Plot, all ...plotter.XYs) error {
	for i, points := range all {
		if len(points) == 0 {
			continue
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return err
		}
		line.Color = blue(uint8(0xff - 0x50*(i%3)))
		p.Add(line)
	}
	return nil
}
