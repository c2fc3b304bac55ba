package study

import (
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/waitcast/waitcast/simulator"
)

// Plot draws a series as SVG: the length of the queue at the top, and the utilization at the bottom, both over days.
func Plot(to io.Writer, title string, series []simulator.Point) error {
	queue, use := make(plotter.XYs, len(series)), make(plotter.XYs, len(series))
	for i, p := range series {
		day := p.At / 86400
		queue[i] = plotter.XY{X: day, Y: p.Queue}
		use[i] = plotter.XY{X: day, Y: 100 * p.Utilization}
	}
	top, bottom := plot.New(), plot.New()
	top.Title.Text = title
	top.Y.Label.Text, bottom.Y.Label.Text, bottom.X.Label.Text = "jobs waiting", "utilization, %", "days"
	top.Y.Min, bottom.Y.Min, bottom.Y.Max = 0, 0, 100
	for p, points := range map[*plot.Plot]plotter.XYs{top: queue, bottom: use} {
		if len(points) == 0 {
			continue
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return err
		}
		line.Width = vg.Points(.7)
		p.Add(plotter.NewGrid(), line)
	}
	canvas := vgsvg.New(24*vg.Centimeter, 14*vg.Centimeter)
	tiles := draw.Tiles{Rows: 2, Cols: 1, PadX: vg.Millimeter, PadY: 4 * vg.Millimeter}
	rows := [][]*plot.Plot{{top}, {bottom}}
	for i, row := range plot.Align(rows, tiles, draw.New(canvas)) {
		rows[i][0].Draw(row[0])
	}
	_, err := canvas.WriteTo(to)
	return err
}
