package main

import (
	"math"
	"os"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// curve is one measure over all dimensions.
type curve struct {
	title string
	of    func(*cost) float64
}

// draw draws four measures, each over the size of every dimension. Both axes are logarithmic.
func draw(path string, rows []row) (err error) {
	curves := []curve{
		{"CPU time of one event and its view, ms", func(c *cost) float64 { return micros(c.view) / 1e3 }},
		{"CPU time of one forecast, ms", func(c *cost) float64 { return micros(c.forecast) / 1e3 }},
		{"refresh of the simulation by the clock, s", func(c *cost) float64 { return c.refresh.Seconds() }},
		{"heap, MiB", func(c *cost) float64 { return float64(c.heap) / (1 << 20) }},
	}
	image := vgsvg.New(18*vg.Centimeter, 13*vg.Centimeter)
	tiles := vgdraw.Tiles{Rows: 2, Cols: 2, PadX: 8 * vg.Millimeter, PadY: 4 * vg.Millimeter,
		PadLeft: 2 * vg.Millimeter, PadRight: 8 * vg.Millimeter, PadTop: 2 * vg.Millimeter}
	canvas := vgdraw.New(image)
	for i := range curves {
		p, err := curves[i].plot(rows)
		if err != nil {
			return err
		}
		p.Draw(tiles.At(canvas, i%2, i/2))
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	_, err = image.WriteTo(f)
	return err
}

func (c *curve) plot(rows []row) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = c.title
	p.Title.TextStyle.Font.Size, p.Legend.TextStyle.Font.Size = 9, 7
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.LogTicks{Prec: -1}, plot.LogTicks{Prec: -1}
	p.Legend.Top, p.Legend.Left = true, true
	for i, d := range dimensions() {
		var points plotter.XYs
		for j := range rows {
			if y := c.of(&rows[j].cost); rows[j].grown == d.name && y > 0 && !math.IsInf(y, 0) {
				points = append(points, plotter.XY{X: float64(rows[j].size), Y: y})
			}
		}
		if len(points) == 0 {
			continue
		}
		line, marks, err := plotter.NewLinePoints(points)
		if err != nil {
			return nil, err
		}
		line.Color, marks.Color = plotutil.Color(i), plotutil.Color(i)
		marks.Shape, marks.Radius = plotutil.Shape(i), 2
		p.Add(line, marks)
		p.Legend.Add(d.name, line, marks)
	}
	return p, nil
}
