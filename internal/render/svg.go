package render

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
)

// The sizes in a picture, in its own units.
const (
	svgWidth   = 960
	svgMargin  = 32
	svgRow     = 30  // a bar with its label
	svgLabel   = 232 // room for the label of a bar
	svgGap     = 8   // the part of svgLabel that is free before the bar
	svgText    = 224 // room for the amount and the text after it
	svgExtra   = 64  // the part of svgText for the text after the amount
	svgTick    = 90  // room for a label below an upright chart
	svgHeight  = 180 // of an upright chart
	svgLetters = 26  // columns of text that fit into svgLabel
)

const svgStyle = `text{font:15px system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","DejaVu Sans",sans-serif;fill:#16181d;font-variant-numeric:tabular-nums}` +
	`.title{font-size:24px;font-weight:700}.head{font-size:17px;font-weight:700}.soft{fill:#5a6270}.end{text-anchor:end}.middle{text-anchor:middle}` +
	`.ground{fill:#fff}.bar{fill:#2f6bd8}.axis{stroke:#16181d}.most{stroke:#868e9b;stroke-dasharray:4}` +
	`@media (prefers-color-scheme:dark){text{fill:#eceef2}.soft{fill:#a5adba}.ground{fill:#191c22}.bar{fill:#7aa8ff}.axis{stroke:#eceef2}.most{stroke:#7d8696}}`

// SVG returns a picture of charts, below each other under a title. It is one file with no script. It loads
// nothing, and suits light and dark screens.
func SVG(title string, lead []string, charts []Chart) []byte {
	d := &drawing{y: svgMargin + 20}
	d.text(svgMargin, d.y, "title", title)
	for _, line := range lead {
		d.y += 24
		d.text(svgMargin, d.y, "soft", line)
	}
	var words []string
	for _, c := range charts {
		words = append(words, c.describe())
		d.y += 52
		d.text(svgMargin, d.y, "head", Cut(Safe(c.Title), 60))
		d.number(svgWidth-svgMargin, d.y, "soft end", c.Note)
		d.y += 16
		switch {
		case c.alone():
			d.alone(c)
		case c.Upright:
			d.columns(c)
		default:
			d.bars(c)
		}
	}
	height := d.y + svgMargin
	var b bytes.Buffer
	fmt.Fprintf(&b,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%[1]d" height="%[2]d" role="img" aria-labelledby="title desc">`+"\n", svgWidth, height)
	fmt.Fprintf(&b, "<title id=\"title\">%s</title>\n<desc id=\"desc\">%s</desc>\n<style>%s</style>\n",
		escapeXML(title), escapeXML(strings.Join(words, " ")), svgStyle)
	fmt.Fprintf(&b, `<rect class="ground" width="%d" height="%d"/>`+"\n", svgWidth, height)
	b.Write(d.b.Bytes())
	b.WriteString("</svg>\n")
	return b.Bytes()
}

type drawing struct {
	b bytes.Buffer
	y int
}

func escapeXML(s string) string {
	var b bytes.Buffer
	xml.EscapeText(&b, []byte(Safe(s))) // a buffer never fails
	return b.String()
}

func (d *drawing) text(x, y int, class, s string) {
	if s != "" {
		fmt.Fprintf(&d.b, `<text x="%d" y="%d" class="%s">%s</text>`+"\n", x, y, class, escapeXML(s))
	}
}

// number is like text, with the digits grouped by their distance.
func (d *drawing) number(x, y int, class, s string) {
	fmt.Fprintf(&d.b, `<text x="%d" y="%d" class="%s">%s</text>`+"\n", x, y, class,
		grouped(escapeXML(s), `<tspan dx="2.4">`, "</tspan>"))
}

// alone writes a sentence: a single bar compares nothing.
func (d *drawing) alone(c Chart) {
	for _, b := range c.Bars {
		class := ""
		if b.Rest {
			class = "soft"
		}
		d.y += 20
		d.number(svgMargin, d.y, class, b.sentence(longLabel))
	}
}

func (d *drawing) bars(c Chart) {
	const room = svgWidth - 2*svgMargin - svgLabel - svgText
	s := c.scale()
	zero, top := s.zero(room), d.y
	for _, b := range c.Bars {
		soft, end := "", "end"
		if b.Rest {
			soft, end = ` class="soft"`, "soft end"
		}
		// The nested picture cuts off what is too wide in the viewer's font.
		fmt.Fprintf(&d.b,
			`<svg x="%d" y="%d" width="%d" height="%d"><text y="20"%s><title>%s</title>%s</text></svg>`+"\n",
			svgMargin, d.y, svgLabel-svgGap, svgRow, soft, escapeXML(b.name()), escapeXML(b.label(svgLetters)))
		if from, n := s.span(b.drawn(), room); n > 0 {
			fmt.Fprintf(&d.b, `<rect class="bar" x="%d" y="%d" width="%d" height="18" rx="3"/>`+"\n",
				svgMargin+svgLabel+from, d.y+6, n)
		}
		d.number(svgWidth-svgMargin-svgExtra, d.y+20, end, b.number())
		d.text(svgWidth-svgMargin, d.y+20, "soft end", b.Extra)
		d.y += svgRow
	}
	if zero > 0 {
		fmt.Fprintf(&d.b, `<path class="axis" d="M%d %dV%d"/>`+"\n", svgMargin+svgLabel+zero, top, d.y)
	}
}

func (d *drawing) columns(c Chart) {
	const room = svgWidth - 2*svgMargin
	most, _, least, _ := c.axis()
	d.number(svgMargin, d.y+12, "soft", most)
	d.y += 20
	fmt.Fprintf(&d.b, `<path class="most" d="M%d %dh%d"/>`+"\n", svgMargin, d.y, room)
	n := len(c.Bars)
	bottom := d.y + svgHeight
	s := c.scale()
	base := bottom - s.zero(svgHeight)
	for i, b := range c.Bars {
		left, right := svgMargin+room*i/n, svgMargin+room*(i+1)/n
		thick := max((right-left)*4/5, 1)
		if from, tall := s.span(b.Value, svgHeight); tall > 0 {
			fmt.Fprintf(&d.b, `<rect class="bar" x="%d" y="%d" width="%d" height="%d"><title>%s</title></rect>`+"\n",
				left+(right-left-thick)/2, bottom-from-tall, thick, tall, grouped(escapeXML(b.Label+": "+b.Text), "\u202f", ""))
		}
	}
	fmt.Fprintf(&d.b, `<path class="axis" d="M%d %dh%d"/>`+"\n", svgMargin, base, room)
	if least != "" {
		fmt.Fprintf(&d.b, `<path class="most" d="M%d %dh%d"/>`+"\n", svgMargin, bottom, room)
		bottom += 20
		d.number(svgMargin, bottom-4, "soft", least)
	}
	step, free := 1+n*svgTick/room, 0 // labels have room from free on
	for i := 0; i < n; i += step {
		left, right := svgMargin+room*i/n, svgMargin+room*(i+1)/n
		middle := min(max((left+right)/2, svgMargin+svgTick/2), svgWidth-svgMargin-svgTick/2)
		if middle >= free {
			d.text(middle, bottom+20, "soft middle", c.Bars[i].Label)
			free = middle + svgTick
		}
	}
	d.y = bottom + 24
}
