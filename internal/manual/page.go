package manual

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// page is an unfinished manual page in mdoc(7).
type page struct{ strings.Builder }

func newPage(name string, section int, date time.Time, short string) *page {
	p := &page{}
	p.line(date.Format(".Dd January 2, 2006"))
	p.line(fmt.Sprintf(".Dt %s %d", strings.ToUpper(name), section))
	p.line(".Os")
	p.heading("NAME")
	p.line(".Nm " + name)
	p.line(".Nd " + escape(strings.TrimSuffix(short, ".")))
	return p
}

func (p *page) line(text string) {
	p.WriteString(strings.TrimRight(text, " "))
	p.WriteByte('\n')
}

func (p *page) heading(title string) { p.line(".Sh " + title) }

// text writes paragraphs, which are separated by empty lines. A paragraph that begins with a space is not wrapped.
func (p *page) text(text string) {
	for i, paragraph := range strings.Split(strings.Trim(text, "\n"), "\n\n") {
		if strings.HasPrefix(paragraph, " ") {
			p.literal(paragraph)
			continue
		}
		if i > 0 {
			p.line(".Pp")
		}
		p.filled(paragraph)
	}
}

// filled writes text that may be wrapped. Each sentence starts on a new line, as is usual in mdoc.
func (p *page) filled(text string) {
	text = strings.Join(strings.Fields(text), " ")
	for text != "" {
		line := firstSentence(text)
		text = strings.TrimSpace(text[len(line):])
		p.line(escape(line))
	}
}

// firstSentence returns the text up to the first full stop before a space and a character that is not a small letter.
// If there is none, it returns the whole text.
func firstSentence(text string) string {
	for end := 0; ; {
		stop := strings.Index(text[end:], ". ")
		if stop < 0 {
			return text
		}
		end += stop + 2
		if next, _ := utf8.DecodeRuneInString(text[end:]); !unicode.IsLower(next) {
			return text[:end-1]
		}
	}
}

// literal writes lines unchanged and indented.
func (p *page) literal(text string) {
	p.line(".Bd -literal -offset indent")
	for line := range strings.Lines(text) {
		p.line(escape(strings.TrimPrefix(strings.TrimRight(line, "\n"), "  ")))
	}
	p.line(".Ed")
}

func (p *page) part(part Part) {
	p.heading(part.Title)
	if part.Text != "" {
		p.text(part.Text)
	}
	if len(part.List) == 0 {
		return
	}
	p.line(".Bl -tag -width indent")
	for _, item := range part.List {
		p.line(".It Sy " + escape(strings.ReplaceAll(item.Term, `"`, `'`)))
		p.filled(item.Text)
	}
	p.line(".El")
}

// seeAlso lists other pages, sorted by section and name.
func (p *page) seeAlso(pages []string) {
	if len(pages) == 0 {
		return
	}
	type reference struct{ section, name string }
	var all []reference
	for _, other := range pages {
		name, section, _ := strings.Cut(strings.TrimSuffix(other, ")"), "(")
		all = append(all, reference{section, name})
	}
	slices.SortFunc(all, func(a, b reference) int {
		return strings.Compare(a.section+a.name, b.section+b.name)
	})
	p.heading("SEE ALSO")
	for i, r := range all {
		comma := " ,"
		if i == len(all)-1 {
			comma = ""
		}
		p.line(".Xr " + r.name + " " + r.section + comma)
	}
}

// escape prevents roff from interpreting text. It escapes backslashes, a control character at the beginning of a line,
// and dashes: those of options must be ASCII so that users can copy them.
func escape(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
