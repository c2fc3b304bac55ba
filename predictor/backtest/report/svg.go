package report

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"image/color"
	"regexp"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// figure is a plot as an element of the page, with a text for readers who cannot see it.
type figure struct {
	ID, Title, Description string
	Legend                 []legendEntry
	// ViewBox and Body are the view box and the content of the SVG element.
	ViewBox string
	Body    template.HTML
}

// legendEntry explains a mark. Class is the mark's class of colors in the page. Mark is a character that looks like
// it.
type legendEntry struct{ Class, Mark, Text string }

// ink is one of the page's colors, which differ on a dark screen. A plot is drawn with placeholder colors. The page's
// CSS variables then replace them.
type ink uint8

// These are the inks, from 1. The placeholder of ink n is the color #0n0n0n.
const (
	text ink = iota + 1
	gridline
	served
	other
	band
	fact
	inks
)

func (i ink) color() color.Color { return color.RGBA{R: uint8(i), G: uint8(i), B: uint8(i), A: 0xff} }

// variable is the page's CSS variable of an ink.
func (i ink) variable() string {
	return [...]string{text: "--ink", gridline: "--line", served: "--served", other: "--other", band: "--band",
		fact: "--fact"}[i]
}

// These are the sizes of letters and of the plots. The library leaves room for the text that it measures, but the
// page's letters may be wider. Therefore it measures larger letters.
const (
	letters  = 9 * vg.Millimeter / 2.8
	measured = 1.12 * letters
	width    = 18 * vg.Centimeter
	margin   = 14 // points on either side, because letters may be wider than measured
)

// newPlot returns an empty plot in the style of the page.
func newPlot() *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	for _, a := range [...]*plot.Axis{&p.X, &p.Y} {
		a.LineStyle.Color, a.Tick.LineStyle.Color = text.color(), text.color()
		for _, style := range [...]*draw.TextStyle{&a.Label.TextStyle, &a.Tick.Label} {
			style.Color = text.color()
			style.Font = font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, measured)
		}
	}
	return p
}

// These expressions find the parts of an SVG that drawPlot replaces or removes: the sizes of letters, the fonts, and
// the opening of the element svg.
var (
	sizes   = regexp.MustCompile(`font-size:[^;"]*px`)
	faces   = regexp.MustCompile(`font-family:[^;"]*;font-variant:[^;"]*;font-weight:[^;"]*;font-style:[^;"]*;`)
	opening = regexp.MustCompile(`(?s)^.*?<svg[^>]*>`)
)

// drawPlot draws a plot of the given height, and returns f with the SVG in ViewBox and Body.
func drawPlot(p *plot.Plot, height vg.Length, f figure) (*figure, error) {
	canvas := vgsvg.New(width, height)
	p.Draw(draw.New(canvas))
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, err
	}
	svg := out.String()
	head := opening.FindString(svg)
	if head == "" {
		return nil, errors.New("the plot has no element svg")
	}
	f.ViewBox = fmt.Sprintf("-%d 0 %.0f %.0f", margin, width.Points()+2*margin, height.Points())
	svg = strings.TrimSuffix(strings.TrimSpace(svg[len(head):]), "</svg>")
	svg = faces.ReplaceAllString(svg, "")
	svg = sizes.ReplaceAllString(svg, fmt.Sprintf("font-size:%.4gpx", letters.Points()))
	for i := text; i < inks; i++ {
		svg = strings.ReplaceAll(svg, fmt.Sprintf("#%02[1]X%02[1]X%02[1]X", uint8(i)), "var("+i.variable()+")")
	}
	f.Body = template.HTML(svg) //nolint:gosec // the library escapes the names that it draws
	return &f, nil
}
