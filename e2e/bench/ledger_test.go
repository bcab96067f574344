package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

const (
	lineOne = `{"stage":"ResponseComplete","verb":"patch","user":{"username":"konnector"},"objectRef":{"resource":"widgets","name":"a","apiGroup":"one.example.org"},"responseStatus":{"code":200},"requestReceivedTimestamp":"2026-01-01T00:00:01.000000Z","stageTimestamp":"2026-01-01T00:00:02.000000Z"}`
	lineTwo = `{"stage":"ResponseComplete","verb":"patch","user":{"username":"konnector"},"objectRef":{"resource":"widgets","subresource":"status","name":"a","apiGroup":"one.example.org"},"responseStatus":{"code":200},"requestReceivedTimestamp":"2026-01-01T00:00:03.000000Z","stageTimestamp":"2026-01-01T00:00:05.500000Z"}`
	refused = `{"stage":"ResponseComplete","verb":"patch","user":{"username":"konnector"},"objectRef":{"resource":"widgets","name":"b","apiGroup":"one.example.org"},"responseStatus":{"code":409},"requestReceivedTimestamp":"2026-01-01T00:00:03.000000Z","stageTimestamp":"2026-01-01T00:00:04.000000Z"}`
	another = `{"verb":"list","user":{"username":"admin"},"objectRef":{"resource":"widgets","apiGroup":"two.example.org"},"responseStatus":{"code":200}}`
)

func everything(*event) bool { return true }

func TestLedgerTakesWholeLinesOfItsGroup(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	text := lineOne + "\n" + another + "\n" + lineTwo + "\n" + refused + "\n"
	l := &ledger{path: path, word: []byte("one.example.org")}
	for end := range len(text) + 1 { // as if read while each byte is being written
		if end%97 != 0 && end != len(text) {
			continue
		}
		if err := os.WriteFile(path, []byte(text[:end]), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := l.poll(); err != nil {
			t.Fatal(err)
		}
	}
	if len(l.events) != 3 {
		t.Fatalf("%d events, want 3", len(l.events))
	}
	if got := l.names(everything); got != 1 {
		t.Errorf("%d names with success, want 1", got)
	}
	if got := span(everything, l); got != 4500*time.Millisecond {
		t.Errorf("span %s, want 4.5s", got)
	}
	if got := l.lastAnswer(isApply).Second(); got != 4 {
		t.Errorf("last answer at second %d, want 4", got)
	}
	calls := Calls{}
	tally(calls, "consumer", l, everything)
	if calls["consumer patch widgets"] != 2 || calls["consumer patch widgets/status"] != 1 {
		t.Errorf("calls: %v", calls)
	}
}

func TestLedgerRefusesWhatIsNoJSON(t *testing.T) {
	if err := (&ledger{}).take([]byte("not JSON\n")); err == nil {
		t.Error("no error")
	}
}

func TestSpanOfNothingIsZero(t *testing.T) {
	if got := span(everything, &ledger{}); got != 0 {
		t.Errorf("got %s", got)
	}
}

func TestKinds(t *testing.T) {
	discovery := &event{Verb: "get"}
	if got := discovery.kind(); got != "get discovery" || discovery.write() {
		t.Errorf("%q, write %t", got, discovery.write())
	}
	if patch := (&event{Verb: "patch"}); !patch.write() {
		t.Error("a patch is no write")
	}
}
