package main

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestLookChecksWhatIsShown(t *testing.T) {
	const out = "NAME    SIZE   PHASE   AGE\nhello   3              1s\nworld   4      Ready   1s\n"
	for _, test := range []struct {
		look look
		ok   bool
	}{
		{look{shows: "hello 3 1s"}, true},
		{look{shows: "world 4 Ready "}, true},
		{look{shows: "hello 4"}, false},
		{look{shows: "3 1s"}, false}, // not at the beginning of a line
		{look{shows: "NAME ", hides: "nobody"}, true},
		{look{shows: "NAME ", hides: "world"}, false},
	} {
		if err := test.look.check(out); (err == nil) != test.ok {
			t.Errorf("%+v: error = %v", test.look, err)
		}
	}
}

// TestStoryFits holds the story to what every printed line promises.
func TestStoryFits(t *testing.T) {
	for _, each := range append(story[:len(story):len(story)], ending...) {
		if each.title == "" || len(each.do) == 0 {
			t.Errorf("step %q lacks something", each.title)
		}
		for _, line := range commandLines(each) {
			if length := len(shellIndent) + len("$ ") + utf8.RuneCountInString(line); length > width {
				t.Errorf("step %q: %d characters: %s", each.title, length, line)
			}
		}
	}
}

func commandLines(s step) []string {
	var text []string
	for _, each := range s.do {
		switch each := each.(type) {
		case command:
			text = append(text, string(each))
		case look, change:
			text = append(text, reflect.ValueOf(each).FieldByName("run").String())
		}
	}
	return strings.Split(strings.Join(append(text, konnectorCommand+" &"), "\n"), "\n")
}
