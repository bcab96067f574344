package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	width = 100 // of what we print, at most

	textIndent  = "    "
	shellIndent = "      "
)

// printer writes what a person reads. Its methods may be called from several
// goroutines.
type printer struct {
	mu    sync.Mutex
	out   io.Writer
	color bool
	steps int // printed so far
}

// newPrinter returns one that uses colours when the file is a terminal and
// nobody objects (see https://no-color.org).
func newPrinter(file *os.File) *printer {
	info, err := file.Stat()
	terminal := err == nil && info.Mode()&os.ModeCharDevice != 0
	return &printer{out: file, color: terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

// Select Graphic Rendition of a terminal.
const (
	bold  = "1"
	green = "32"
	cyan  = "36"
)

// paint returns the text in a style, if styles are wanted.
func (p *printer) paint(style, text string) string {
	if !p.color || text == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

func (p *printer) line(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.out, format+"\n", args...)
}

// title prints a heading without a number.
func (p *printer) title(text string) { p.line("\n%s", p.paint(bold, text)) }

// step prints the heading of the next step.
func (p *printer) step(text string) {
	p.steps++
	p.line("\n%s", p.paint(bold, fmt.Sprintf("%2d  %s", p.steps, text)))
}

// text prints sentences.
func (p *printer) text(text string) {
	p.line("%s", indent(wrap(text, width-len(textIndent)), textIndent))
}

// command prints what is typed at a shell: one or several lines, some of which
// may go on in the next one.
func (p *printer) command(text string) {
	prompt, out := "$ ", ""
	for line := range strings.SplitSeq(text, "\n") {
		out += "\n" + shellIndent + prompt + p.paint(cyan, line)
		prompt = "$ "
		if strings.HasSuffix(line, "\\") {
			prompt = ""
		}
	}
	p.line("%s", out)
}

// output prints what a command has answered.
func (p *printer) output(text string) {
	if text = strings.TrimRight(text, "\n"); text != "" {
		p.line("%s", indent(clip(text, width-len(shellIndent)), shellIndent))
	}
}

// arrived prints where a change has arrived, and how long that took.
func (p *printer) arrived(what string, took time.Duration) {
	p.line("\n%s", textIndent+p.paint(green, "→ "+what+" "+latency(took)))
}

// done prints what is ready, and when.
func (p *printer) done(what string, took time.Duration) {
	p.line("%s%s %-60s %6s", shellIndent, p.paint(green, "✓"), what, seconds(took))
}

// latency returns how long after something else a change was seen.
func latency(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return "within 1 ms"
	case d < time.Second:
		return fmt.Sprintf("after %d ms", d.Round(time.Millisecond).Milliseconds())
	default:
		return "after " + seconds(d)
	}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// wrap breaks text at spaces into lines of at most that many characters, unless
// a word alone is longer.
func wrap(text string, limit int) string {
	var out strings.Builder
	used := 0
	for _, word := range strings.Fields(text) {
		length := utf8.RuneCountInString(word)
		switch {
		case used == 0:
		case used+1+length > limit:
			out.WriteByte('\n')
			used = 0
		default:
			out.WriteByte(' ')
			used++
		}
		out.WriteString(word)
		used += length
	}
	return out.String()
}

// clip cuts lines that are longer than the limit, and shows that it did.
func clip(text string, limit int) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if runes := []rune(strings.TrimRight(line, " ")); len(runes) > limit {
			lines[i] = string(runes[:limit-1]) + "…"
		} else {
			lines[i] = string(runes)
		}
	}
	return strings.Join(lines, "\n")
}

// indent puts the prefix before each line that is not empty.
func indent(text, prefix string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if line != "" {
			lines[i] = prefix + line
		}
	}
	return strings.Join(lines, "\n")
}
