package render

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"strings"
)

// The places in a picture, in its own units.
const (
	svgWidth  = 960
	svgMargin = 32
	svgRow    = 28
	svgInset  = 16  // before the labels of a group
	svgNumber = 470 // the right end of the numbers
	svgChange = 492
	svgBar    = 584 // the left end of the bars, and of what was earned over time
	svgShare  = 56  // room for the share behind the longest bar
	svgTall   = 40  // of what was earned over time
	svgLetter = 10  // the width of a column of text, at most
)

const svgStyle = `text{font:15px system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","DejaVu Sans",sans-serif;fill:#16181d;font-variant-numeric:tabular-nums}` +
	`.title{font-size:24px;font-weight:700}.head{font-size:17px;font-weight:700}.soft{fill:#5a6270}.end{text-anchor:end}` +
	`.ground{fill:#fff}.bar{fill:#2f6bd8}.less{fill:#b3372f}.hollow{fill:none;stroke:#2f6bd8;stroke-width:1.5}.less.hollow{stroke:#b3372f}.axis{stroke:#868e9b}.up{fill:#0b6b3a}.down{fill:#a32020}` +
	`@media (prefers-color-scheme:dark){text{fill:#eceef2}.soft{fill:#a5adba}.ground{fill:#191c22}.bar{fill:#7aa8ff}.less{fill:#ff8f88}.hollow{fill:none;stroke:#7aa8ff}.less.hollow{stroke:#ff8f88}.up{fill:#82dba8}.down{fill:#ffa7a2}}`

// SVG returns the picture as one file with no script. It loads nothing, and suits light and dark screens.
func (p Picture) SVG() []byte {
	d := &drawing{y: svgMargin + 20}
	d.text(svgMargin, d.y, "title", p.Title)
	for _, line := range append([]string{p.Note}, p.Remarks...) {
		if line != "" {
			d.y += 24
			d.text(svgMargin, d.y, "soft", line)
		}
	}
	var words []string
	c := p.fit(noTerminal)
	letters := (svgNumber - 2*svgMargin - svgInset - svgLetter*c.number) / svgLetter // before the numbers
	for _, g := range p.Groups {
		words = append(words, g.describe())
		if d.y += svgRow; len(g.Rows) > 0 || g.Times != nil {
			d.y += svgTall - svgRow/2
		}
		d.row(g.Total, svgMargin, (svgNumber-svgMargin)/svgLetter-1-Width(g.Total.number()), "head")
		if g.Times != nil {
			d.times(g.Times(timesShown))
		}
		most := g.most()
		for _, r := range g.Rows {
			d.y += svgRow
			as := ""
			if r.Value == nil {
				as = "soft"
			}
			if alike(c.names, letters) { // then it has a line of its own
				d.text(svgMargin+svgInset, d.y, as, r.name())
				d.y += svgRow
				r.Label, r.Apart = "", ""
			}
			d.row(r, svgMargin+svgInset, letters, as)
			d.bar(r, length(r.Value, most, svgWidth-svgMargin-svgShare-svgBar))
		}
	}
	height := d.y + svgMargin
	var b bytes.Buffer
	fmt.Fprintf(&b,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%[1]d" height="%[2]d" role="img" aria-labelledby="title desc">`+"\n", svgWidth, height)
	fmt.Fprintf(&b, "<title id=\"title\">%s</title>\n<desc id=\"desc\">%s</desc>\n<style>%s</style>\n",
		escapeXML(p.Title), escapeXML(strings.Join(words, " ")), svgStyle)
	fmt.Fprintf(&b, `<rect class="ground" width="%d" height="%d"/>`+"\n", svgWidth, height)
	b.Write(d.b.Bytes())
	b.WriteString("</svg>\n")
	return b.Bytes()
}

type drawing struct {
	b bytes.Buffer
	y int // of the line of text
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

// row writes the texts of a row. The nested picture cuts off a label that is too wide in the viewer's font.
func (d *drawing) row(r PictureRow, x, letters int, class string) {
	if label := (name{r.Label, r.Apart}).in(letters); label != "" {
		fmt.Fprintf(&d.b, `<svg x="%d" y="%d" width="%d" height="%d"><text y="20" class="%s"><title>%s</title>%s</text></svg>`+"\n",
			x, d.y-20, (letters+2)*svgLetter, svgRow, class, escapeXML(r.name()), escapeXML(label))
	}
	if r.Number != "" { // groups of its digits are told by their distance
		fmt.Fprintf(&d.b, `<text x="%d" y="%d" class="%s">%s</text>`+"\n", svgNumber, d.y, strings.TrimSpace(class+" end"),
			grouped(escapeXML(r.Number), `<tspan dx="2.4">`, "</tspan>"))
	}
	d.text(svgChange, d.y, ChangeClass(r.Sign), r.Change)
}

func (d *drawing) bar(r PictureRow, long int) {
	if long > 0 {
		class := cmp.Or(barClass(r.Value, r.Hollow), "bar")
		fmt.Fprintf(&d.b, `<rect class="%s" x="%d" y="%d" width="%d" height="14" rx="3"/>`+"\n", class, svgBar, d.y-12, long)
		long += 8
	}
	d.text(svgBar+long, d.y, "soft", r.Share)
}

// times draws what was earned over time, as columns on a line for zero.
func (d *drawing) times(times []PictureTime) {
	const room = svgWidth - svgMargin - svgBar
	if s := scaleOf(times); s.whole.Sign() != 0 {
		columns, zero := s.rects(times, svgBar, d.y+4-svgTall, room, svgTall, 1)
		fmt.Fprintf(&d.b, `%s<path class="axis" d="M%d %dh%d"/>`+"\n", columns, svgBar, zero, room)
	}
}
