package main

import (
	"encoding/xml"
	"fmt"
	"math"
	"strings"
)

// Measures of the plot, in pixels.
const (
	plotWidth   = 860
	panelHeight = 260
	plotHeight  = 2*panelHeight + 110
	marginLeft  = 60
	marginRight = 20
	barGap      = 3
)

// Colours of bars: what the konnector did, and raw calls.
const (
	ours   = "#2b6cb0"
	theirs = "#a0aec0"
)

// bar is one bar, and group some bars with a name below them.
type bar struct {
	value  float64
	colour string
	label  string // above it
}

type group struct {
	name string
	bars []bar
}

// plot returns an SVG document: the ratio of throughput above, latencies below.
func plot(r *Report) string {
	c := &canvas{}
	c.text(marginLeft, 24, "start", 16, "konnector: throughput and latency against raw calls")
	c.text(marginLeft, 42, "start", 11, fmt.Sprintf("%s, %d cores, Kubernetes %s, commit %s, %s", r.Machine.CPU, r.Machine.Cores, r.Machine.Kubernetes, r.Machine.Commit, r.Started.Format("2006-01-02")))
	c.panel(70, "Bulk throughput, % of the raw limit", throughput(r), 100)
	c.panel(70+panelHeight+20, "Latency of one change, ms: p50, p95, p99", latencies(r), 0)
	c.legend(plotHeight - 12)
	return c.document()
}

func throughput(r *Report) []group {
	var groups []group
	for _, p := range r.Populations {
		for _, way := range []struct {
			name string
			bulk Bulk
		}{{"up", p.Up}, {"down", p.Down}} {
			ratio := 100 * way.bulk.Ratio()
			groups = append(groups, group{fmt.Sprintf("%d %s", p.Instances, way.name), []bar{
				{ratio, ours, fmt.Sprintf("%.0f %%", ratio)},
				{100, theirs, fmt.Sprintf("%.0f/s", median(way.bulk.Raw))},
			}})
		}
	}
	return groups
}

func latencies(r *Report) []group {
	var groups []group
	for _, p := range r.Populations {
		for _, way := range []struct {
			name    string
			latency Latency
		}{{"up", p.UpLatency}, {"down", p.DownLatency}} {
			groups = append(groups, group{fmt.Sprintf("%d %s", p.Instances, way.name),
				append(percentileBars(way.latency.Konnector, ours), percentileBars(way.latency.Raw, theirs)...)})
		}
	}
	return groups
}

func percentileBars(p Percentiles, colour string) []bar {
	var bars []bar
	for _, value := range []float64{p.P50, p.P95, p.P99} {
		bars = append(bars, bar{value, colour, fmt.Sprintf("%.0f", value)})
	}
	return bars
}

// canvas collects the elements of an SVG document.
type canvas struct{ strings.Builder }

// panel draws groups of bars side by side. A line is drawn at mark, unless that is zero.
func (c *canvas) panel(top float64, title string, groups []group, mark float64) {
	c.text(marginLeft, top+4, "start", 13, title)
	top += 24
	height, highest := float64(panelHeight-70), mark
	for _, each := range groups {
		for _, b := range each.bars {
			highest = max(highest, b.value)
		}
	}
	limit := niceLimit(highest)
	bottom := top + height
	for step := range 5 {
		value := limit * float64(step) / 4
		y := bottom - height*value/limit
		c.line(marginLeft, y, plotWidth-marginRight, y, "#e2e8f0")
		c.text(marginLeft-6, y+4, "end", 10, fmt.Sprintf("%g", value))
	}
	if len(groups) == 0 {
		return
	}
	slot := float64(plotWidth-marginLeft-marginRight) / float64(len(groups))
	for i, each := range groups {
		c.bars(marginLeft+slot*float64(i), slot, bottom, height/limit, each)
	}
	if mark > 0 {
		y := bottom - height*mark/limit
		c.line(marginLeft, y, plotWidth-marginRight, y, "#e53e3e")
	}
}

// bars draws one group in its slot, and scale is pixels for each unit.
func (c *canvas) bars(left, slot, bottom, scale float64, g group) {
	c.text(left+slot/2, bottom+16, "middle", 11, g.name)
	inner := slot * 0.8
	width := min(inner/float64(len(g.bars)), 60)
	x := left + (slot-width*float64(len(g.bars)))/2
	for _, b := range g.bars {
		high := b.value * scale
		fmt.Fprintf(c, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n", x, bottom-high, width-barGap, high, b.colour)
		c.text(x+(width-barGap)/2, bottom-high-3, "middle", 9, b.label)
		x += width
	}
}

func (c *canvas) legend(y float64) {
	for i, each := range []struct{ colour, name string }{{ours, "konnector"}, {theirs, "raw calls"}} {
		x := float64(marginLeft + 110*i)
		fmt.Fprintf(c, `<rect x="%.1f" y="%.1f" width="12" height="12" fill="%s"/>`+"\n", x, y-10, each.colour)
		c.text(x+18, y, "start", 11, each.name)
	}
}

func (c *canvas) line(x1, y1, x2, y2 float64, colour string) {
	fmt.Fprintf(c, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"/>`+"\n", x1, y1, x2, y2, colour)
}

func (c *canvas) text(x, y float64, anchor string, points int, text string) {
	fmt.Fprintf(c, `<text x="%.1f" y="%.1f" text-anchor="%s" font-size="%d">`, x, y, anchor, points)
	_ = xml.EscapeText(c, []byte(text)) // a builder takes every write
	c.WriteString("</text>\n")
}

func (c *canvas) document() string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" fill="#1a202c">
<rect width="100%%" height="100%%" fill="#ffffff"/>
%s</svg>
`, plotWidth, plotHeight, c.String())
}

// niceLimit returns the end of an axis: the next of 1, 2, 4, 5, 8 with zeros.
func niceLimit(highest float64) float64 {
	if highest <= 0 || math.IsNaN(highest) || math.IsInf(highest, 0) {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(highest)))
	for _, factor := range []float64{1, 2, 4, 5, 8} {
		if highest <= factor*unit {
			return factor * unit
		}
	}
	return 10 * unit
}
