package kubeconfig

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// laughs returns anchors of which each holds ten aliases of the one before.
func laughs(levels int) string {
	var text strings.Builder
	text.WriteString("a0: &a0 [" + strings.Repeat("lol,", 10) + "]\n")
	for level := 1; level <= levels; level++ {
		fmt.Fprintf(&text, "a%d: &a%d [%s]\n", level, level, strings.Repeat(fmt.Sprintf("*a%d ,", level-1), 10))
	}
	return text.String()
}

func TestTextMadeToUseUpMemoryIsRefusedCheaply(t *testing.T) {
	const mebibyte = 1 << 20
	for _, row := range []struct {
		name  string
		input string
		says  string
	}{
		{"more than a Secret holds", given(goodCluster, goodUser) + "#" + strings.Repeat("x", mebibyte), "larger than 1 MiB"},
		{"lists of aliases of lists", laughs(9), "aliases"},
		{"fewer of them", laughs(4), "aliases"},
		{"a long text with many aliases", "a: &a " + strings.Repeat("x", mebibyte/2) + "\nb: [" + strings.Repeat("*a ,", 10000) + "]", "aliases"},
		{"a list that holds itself", "a: &a [*a ]", "aliases"},
		{"a map that merges itself", "a: &a {<<: *a }", "aliases"},
		{"aliases that double on each level", doubling(60), "aliases"},
		{"deep nesting", "a: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "nested too deeply"},
		{"deeper nesting than the parser takes", strings.Repeat("[", 90000), "neither YAML nor JSON"},
		{"deep nesting by indentation", indented(1000), "nested too deeply"},
		{"empty maps", "[" + strings.Repeat("{},", 300000) + "]", "too many entries"},
		{"lines", strings.Repeat("\n", mebibyte-1) + "a", "too many entries"},
		{"old line ends", strings.Repeat("?\r", mebibyte/2), "too many entries"},
		{"list items", strings.Repeat("- \n", 300000), "too many entries"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Parse([]byte(row.input), Options{})
			runtime.ReadMemStats(&after)
			if refusal := mustRefusal(t, err); refusal.Reason != isInvalid || !strings.Contains(refusal.Message, row.says) {
				t.Errorf("got %v, want %q", err, row.says)
			}
			if used := (after.TotalAlloc - before.TotalAlloc) / mebibyte; used > 64 {
				t.Errorf("it took %d MiB", used)
			}
		})
	}
}

func doubling(levels int) string {
	var text strings.Builder
	text.WriteString("a0: &a0 [x]\n")
	for level := 1; level <= levels; level++ {
		fmt.Fprintf(&text, "a%d: &a%d [*a%d , *a%d ]\n", level, level, level-1, level-1)
	}
	return text.String()
}

func indented(levels int) string {
	var text strings.Builder
	for level := range levels {
		text.WriteString(strings.Repeat(" ", level) + "a:\n")
	}
	return text.String()
}

func TestLargeFilesOfManyContextsAreAccepted(t *testing.T) {
	var users strings.Builder
	for i := range 600 {
		fmt.Fprintf(&users, "- name: arn:aws:eks:eu-central-1:123456789012:cluster/team-%d\n  user:\n    client-key-data: %s\n", i, strings.Repeat("QUJD", 300))
	}
	input := given(goodCluster, goodUser) + users.String()
	if _, err := Parse([]byte(input), Options{}); err != nil {
		t.Errorf("a file of %d bytes: %v", len(input), err)
	}
}
