package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// event is a request that an API server has answered, or a watch that it began.
type event struct {
	Verb string `json:"verb"`
	User struct {
		Username string `json:"username"`
	} `json:"user"`
	Object struct {
		Group       string `json:"apiGroup"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	Response struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	Received time.Time `json:"requestReceivedTimestamp"`
	Answered time.Time `json:"stageTimestamp"`
}

// write reports whether the request changes something.
func (e *event) write() bool {
	switch e.Verb {
	case "create", "update", "patch", "delete", "deletecollection":
		return true
	default:
		return false
	}
}

// kind returns the verb with the kind of object, such as "patch widgets/status".
func (e *event) kind() string {
	switch {
	case e.Object.Resource == "":
		return e.Verb + " discovery"
	case e.Object.Subresource != "":
		return e.Verb + " " + e.Object.Resource + "/" + e.Object.Subresource
	default:
		return e.Verb + " " + e.Object.Resource
	}
}

// ledger follows the audit log of one cluster. Reading it costs the API server
// nothing, other than a watch or a list.
type ledger struct {
	path    string
	word    []byte // lines without it are skipped
	offset  int64
	partial []byte
	events  []event
}

// follow returns a ledger of what is answered from now on, limited to lines that
// hold a word; "" takes all.
func follow(where *cluster, word string) (*ledger, error) {
	l := &ledger{path: filepath.Join(where.Dir(), "audit.jsonl"), word: []byte(word)}
	info, err := os.Stat(l.path)
	if err != nil {
		return nil, err
	}
	l.offset = info.Size()
	return l, nil
}

// poll takes in what was written since the last time.
func (l *ledger) poll() error {
	file, err := os.Open(l.path)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.Seek(l.offset, io.SeekStart); err != nil {
		return err
	}
	added, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	l.offset += int64(len(added))
	return l.take(added)
}

// take splits text into lines and keeps an unfinished one for the next time.
func (l *ledger) take(added []byte) error {
	text := slices.Concat(l.partial, added)
	for {
		line, rest, complete := bytes.Cut(text, []byte("\n"))
		if !complete {
			l.partial = bytes.Clone(text)
			return nil
		}
		text = rest
		if !bytes.Contains(line, l.word) {
			continue
		}
		var read event
		if err := json.Unmarshal(line, &read); err != nil {
			return fmt.Errorf("audit log: %w in %.200q", err, line)
		}
		l.events = append(l.events, read)
	}
}

// names returns how many objects have a successful call that matches.
func (l *ledger) names(match func(*event) bool) int {
	seen := map[string]struct{}{}
	for i := range l.events {
		if e := &l.events[i]; e.Response.Code < 300 && match(e) {
			seen[e.Object.Name] = struct{}{}
		}
	}
	return len(seen)
}

// waitNames polls until count objects have a successful call that matches.
func (l *ledger) waitNames(ctx context.Context, count int, match func(*event) bool) error {
	have := 0
	err := until(ctx, bulkLimit, 100*time.Millisecond, func(context.Context) (bool, error) {
		if err := l.poll(); err != nil {
			return false, err
		}
		have = l.names(match)
		return have >= count, nil
	})
	if err != nil {
		return fmt.Errorf("%d of %d objects: %w", have, count, err)
	}
	return nil
}

// span returns the time from the first request that matches to the last answer.
func span(match func(*event) bool, ledgers ...*ledger) time.Duration {
	var first, last time.Time
	for _, l := range ledgers {
		for i := range l.events {
			e := &l.events[i]
			if !match(e) {
				continue
			}
			if first.IsZero() || e.Received.Before(first) {
				first = e.Received
			}
			if e.Answered.After(last) {
				last = e.Answered
			}
		}
	}
	return last.Sub(first)
}

// lastAnswer returns when the last request that matches was answered.
func (l *ledger) lastAnswer(match func(*event) bool) time.Time {
	var last time.Time
	for i := range l.events {
		if e := &l.events[i]; match(e) && e.Answered.After(last) {
			last = e.Answered
		}
	}
	return last
}

// tally counts events by their kind, with the side in front.
func tally(into Calls, side string, l *ledger, match func(*event) bool) {
	for i := range l.events {
		if e := &l.events[i]; match(e) {
			into[side+" "+e.kind()]++
		}
	}
}
