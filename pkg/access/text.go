package access

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// MessageLimit is the size in bytes of the longest text that Message and Describe return.
const MessageLimit = 1024

const ellipsis = "…"

// Message returns the words of the API server in err, or else those of err itself,
// made safe by Sanitize for a condition or an Event. It returns "" for nil.
func Message(err error) string {
	if err == nil {
		return ""
	}
	text := err.Error()
	if status, ok := statusOf(err); ok && status.Message != "" {
		text = status.Message
	}
	return Sanitize(text, MessageLimit)
}

// Sanitize returns text as one line of valid UTF-8 of at most limit bytes: white
// space is folded, terminal sequences, control characters and marks that change the
// direction of text are removed, and what is too long ends with "…".
func Sanitize(text string, limit int) string {
	var out strings.Builder
	gap := false
	for len(text) > 0 && out.Len() <= limit {
		if n := escapeLen(text); n > 0 {
			text = text[n:]
			continue
		}
		r, size := utf8.DecodeRuneInString(text)
		text = text[size:]
		switch {
		case unicode.IsSpace(r):
			gap = out.Len() > 0
		case !isHidden(r):
			if gap {
				out.WriteByte(' ')
				gap = false
			}
			out.WriteRune(r) // an invalid byte was decoded as U+FFFD
		}
	}
	return cut(out.String(), limit)
}

func isHidden(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\uFEFF'
}

// cut returns text, or as much of it as fits into limit bytes together with "…".
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end, tail := limit-len(ellipsis), ellipsis
	if end < 0 {
		end, tail = max(limit, 0), ""
	}
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return strings.TrimRight(text[:end], " ") + tail
}

// escapeLen returns the length of the terminal sequence at the start of text, or 0.
func escapeLen(text string) int {
	switch {
	case strings.HasPrefix(text, "\x1b["), strings.HasPrefix(text, "\u009b"):
		n := 2 + span(text[2:], 0x30, 0x3f)
		n += span(text[n:], 0x20, 0x2f)
		return n + one(text[n:], 0x40, 0x7e)
	case len(text) > 1 && text[0] == 0x1b && strings.IndexByte("]P^_X", text[1]) >= 0, strings.HasPrefix(text, "\u009d"):
		return 2 + stringLen(text[2:])
	case text[0] == 0x1b:
		n := 1 + span(text[1:], 0x20, 0x2f)
		return n + one(text[n:], 0x30, 0x7e)
	}
	return 0
}

// stringLen returns the length of a string argument with its terminator, or 0 where
// none follows soon: then only the introducer goes, not the rest of the message.
func stringLen(text string) int {
	const soon = 512
	text = text[:min(len(text), soon)]
	end := 0
	for _, terminator := range []string{"\a", "\x1b\\", "\u009c"} {
		if i := strings.Index(text, terminator); i >= 0 && (end == 0 || i+len(terminator) < end) {
			end = i + len(terminator)
		}
	}
	return end
}

// span returns how many bytes at the start of text lie between low and high.
func span(text string, low, high byte) int {
	n := 0
	for n < len(text) && text[n] >= low && text[n] <= high {
		n++
	}
	return n
}

func one(text string, low, high byte) int {
	return min(span(text, low, high), 1)
}
