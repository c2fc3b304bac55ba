package study

import (
	"errors"
	"image/color"
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// logFrom is the ratio of the largest to the smallest value from which on the axis of the bounded slowdown is
// logarithmic.
const logFrom = 8

// PlotCurves draws the mean bounded slowdown over the load as SVG. For each policy and kind of estimates there is a
// thin line for the trace itself. If there are shaken copies, a thick line shows their mean, and a band reaches from
// their 5th to their 95th percentile.
func PlotCurves(to io.Writer, title string, groups []Group) error {
	p, err := curvesPlot(title, groups)
	if err != nil {
		return err
	}
	canvas := vgsvg.New(24*vg.Centimeter, 14*vg.Centimeter)
	p.Draw(draw.New(canvas))
	_, err = canvas.WriteTo(to)
	return err
}

func curvesPlot(title string, groups []Group) (*plot.Plot, error) {
	if len(groups) == 0 {
		return nil, errors.New("there is nothing to draw")
	}
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, "offered load", "mean bounded slowdown"
	p.Legend.Top, p.Legend.Left, p.Legend.Padding = true, true, vg.Points(3)
	p.Add(plotter.NewGrid())
	for i, c := range Curves(groups) {
		if err := addCurve(p, &c, plotutil.Color(i)); err != nil {
			return nil, err
		}
	}
	if p.Y.Min > 0 && p.Y.Max > logFrom*p.Y.Min {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	}
	return p, nil
}

func addCurve(p *plot.Plot, c *Curve, line color.Color) error {
	xy := func(y []float64) plotter.XYs {
		out := make(plotter.XYs, len(y))
		for i := range y {
			out[i] = plotter.XY{X: c.Groups[i].Offered, Y: y[i]}
		}
		return out
	}
	name := c.name()
	if shaken, ok := c.Shaken(); ok {
		n := len(shaken)
		edge := make(plotter.XYs, 2*n)
		for i, s := range shaken {
			edge[i] = plotter.XY{X: c.Groups[i].Offered, Y: s.Low}
			edge[2*n-1-i] = plotter.XY{X: c.Groups[i].Offered, Y: s.High}
		}
		band, err := plotter.NewPolygon(edge)
		if err != nil {
			return err
		}
		r, g, b, _ := line.RGBA()
		band.Color, band.LineStyle.Width = color.NRGBA{R: uint8(r >> 8), G: uint8(g >> 8), B: uint8(b >> 8), A: 60}, 0
		mean, err := plotter.NewLine(xy(Means(shaken)))
		if err != nil {
			return err
		}
		mean.Color, mean.Width = line, vg.Points(1.6)
		p.Add(band, mean)
		p.Legend.Add(name+", mean of shaken copies", mean)
	}
	single, err := plotter.NewLine(xy(c.Single()))
	if err != nil {
		return err
	}
	single.Color, single.Width = line, vg.Points(.6)
	single.Dashes = []vg.Length{vg.Points(3), vg.Points(2)}
	p.Add(single)
	p.Legend.Add(name+", the trace itself", single)
	return nil
}
