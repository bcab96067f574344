package access

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func TestTextIsMadeSafe(t *testing.T) {
	for _, row := range []struct {
		name  string
		text  string
		limit int
		want  string
	}{
		{"plain text stays", "a b", 10, "a b"},
		{"other scripts stay", "größer ☂ 日本", 50, "größer ☂ 日本"},
		{"nothing stays nothing", "", 10, ""},
		{"lines become one", "  a\n\tb\r\n\vc  ", 10, "a b c"},
		{"line ends of Unicode as well", "a\u2028b\u2029c\u0085d", 20, "a b c d"},
		{"control characters go", "a\x00b\x07c\x7fd\u0080e", 10, "abcde"},
		{"colours go", "\x1b[1;31mred\x1b[0m", 10, "red"},
		{"colours with C1 characters go", "\u009b31mred", 10, "red"},
		{"sequences with a cursor go", "a\x1b[2J\x1b[?25lb", 10, "ab"},
		{"a sequence that is cut off goes", "a\x1b[31", 10, "a"},
		{"an escape at the end goes", "a\x1b", 10, "a"},
		{"two-byte sequences go", "a\x1bcb\x1b(Bc", 10, "abc"},
		{"titles of windows go", "a\x1b]0;evil\ab", 10, "ab"},
		{"links go, their text stays", "\x1b]8;;https://evil\x1b\\text\x1b]8;;\x1b\\", 10, "text"},
		{"a title with C1 characters goes", "a\u009d0;evil\u009cb", 10, "ab"},
		{"a title without end takes nothing along", "a\x1b]0;b", 10, "a0;b"},
		{"marks of direction go", "a\u202eb\u2066c", 10, "abc"},
		{"a byte order mark goes", "\uFEFFa", 10, "a"},
		{"invalid bytes are replaced", "a\xffb", 10, "a\uFFFDb"},
		{"text of just the limit stays", "12345", 5, "12345"},
		{"longer text is cut", "123456789", 6, "123…"},
		{"it is cut between characters", "ääää", 6, "ä…"},
		{"no space is left before the cut", "ab cdef", 6, "ab…"},
		{"the cut counts what is left", "\x1b[31m12345\x1b[0m\n\n", 5, "12345"},
		{"a small limit has no room for dots", "12345", 2, "12"},
		{"a limit of nothing", "12345", 0, ""},
		{"a limit below nothing", "12345", -1, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := Sanitize(row.text, row.limit); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

func TestLongTextIsReadOnlyAsFarAsItIsShown(t *testing.T) {
	hostile := strings.Repeat("\x1b]", 1<<20) + strings.Repeat("x", 1<<24)
	if got := Sanitize(hostile, 10); got != "xxxxxxx…" {
		t.Errorf("got %q", got)
	}
}

func FuzzSanitize(f *testing.F) {
	for _, text := range []string{"a\nb", "\x1b[31mred", "\x1b]0;x\a", "\xff\u009b", strings.Repeat("ä", 20)} {
		f.Add(text, 10)
	}
	f.Fuzz(func(t *testing.T, text string, limit int) {
		got := Sanitize(text, limit)
		switch {
		case len(got) > max(limit, 0):
			t.Errorf("%q has more than %d bytes", got, limit)
		case !utf8.ValidString(got) || strings.ContainsFunc(got, unicode.IsControl):
			t.Errorf("%q is not clean", got)
		case Sanitize(got, limit) != got:
			t.Errorf("%q changes when it is made safe again", got)
		}
	})
}

func TestMessageIsWhatTheServerSays(t *testing.T) {
	denied := apierrors.NewForbidden(widgets, "a", errors.New("User \"u\"\ncannot"))
	for _, row := range []struct {
		name string
		err  error
		want string
	}{
		{"no error", nil, ""},
		{"an answer", denied, `widgets.demo.example.org "a" is forbidden: User "u" cannot`},
		{"a wrapped answer", fmt.Errorf("applying: %w", denied), `widgets.demo.example.org "a" is forbidden: User "u" cannot`},
		{"an answer without words", fmt.Errorf("applying: %w", &apierrors.StatusError{}), "applying:"},
		{"no answer", fmt.Errorf("reading:\n%w", io.EOF), "reading: EOF"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := Message(row.err); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
	if got := Message(errors.New(strings.Repeat("x", 5000))); len(got) != MessageLimit || !strings.HasSuffix(got, "x…") {
		t.Errorf("got %d bytes", len(got))
	}
}
