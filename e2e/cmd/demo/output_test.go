package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestWrap(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", ""},
		{"one two", "one two"},
		{"one two three", "one two\nthree"},
		{"  one\n two  ", "one two"},
		{"a-very-long-word and more", "a-very-long-word\nand more"},
		{"ä ö ü ß é", "ä ö ü ß\né"},
	} {
		if got := wrap(test.text, 8); got != test.want {
			t.Errorf("wrap(%q) = %q, want %q", test.text, got, test.want)
		}
	}
}

func TestClip(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", ""},
		{"12345678", "12345678"},
		{"1234      ", "1234"},
		{"123456789", "1234567…"},
		{"ÄÖÜäöüßé\nshort", "ÄÖÜäöüßé\nshort"},
	} {
		if got := clip(test.text, 8); got != test.want {
			t.Errorf("clip(%q) = %q, want %q", test.text, got, test.want)
		}
	}
}

func TestLatency(t *testing.T) {
	for took, want := range map[time.Duration]string{
		0:                       "within 1 ms",
		999 * time.Microsecond:  "within 1 ms",
		1600 * time.Microsecond: "after 2 ms",
		999 * time.Millisecond:  "after 999 ms",
		1040 * time.Millisecond: "after 1.0 s",
	} {
		if got := latency(took); got != want {
			t.Errorf("latency(%s) = %q, want %q", took, got, want)
		}
	}
}

func TestPrinterLayout(t *testing.T) {
	var out strings.Builder
	p := &printer{out: &out}
	p.step("First")
	p.text("A sentence.")
	p.command("one \\\n    --more\ntwo")
	p.output("NAME   AGE   \nx      1s\n\n")
	p.output("")
	p.arrived("there", 5*time.Millisecond)
	const want = `
 1  First
    A sentence.

      $ one \
          --more
      $ two
      NAME   AGE
      x      1s

    → there after 5 ms
`
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", &out, want)
	}
}

func TestPrinterColors(t *testing.T) {
	var out strings.Builder
	(&printer{out: &out, color: true}).step("First")
	if want := "\n\x1b[1m 1  First\x1b[0m\n"; out.String() != want {
		t.Errorf("printed %q, want %q", &out, want)
	}
}

func TestNoColorsInFiles(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if newPrinter(file).color {
		t.Error("a file gets colours")
	}
}
