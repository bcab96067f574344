package controlplane

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"
)

// Call is a request that the API server answered, or a watch that it started.
type Call struct {
	Time        time.Time // when the request arrived
	User        string    // empty when the request was not authenticated
	UserAgent   string
	Verb        string // of the API: get, list, watch, create, update, patch, delete, deletecollection; of HTTP when it is no resource
	Path        string
	Query       string // as sent; Params reads it
	Group       string
	Resource    string // empty for discovery, health and the like
	Subresource string
	Namespace   string
	Name        string
	Code        int // HTTP status
}

// Params returns the parameters of the request, such as labelSelector,
// fieldManager or sendInitialEvents.
func (c Call) Params() url.Values {
	values, _ := url.ParseQuery(c.Query)
	return values
}

// String returns the call on one line, for the messages of tests.
func (c Call) String() string {
	target := c.Path
	if c.Query != "" {
		target += "?" + c.Query
	}
	return fmt.Sprintf("%s %s: %s %s: %d", c.Time.Format("15:04:05.000"), c.User, c.Verb, target, c.Code)
}

// CountCalls returns how many calls match.
func CountCalls(calls []Call, match func(Call) bool) int { return len(SelectCalls(calls, match)) }

// SelectCalls returns the calls that match, in their order.
func SelectCalls(calls []Call, match func(Call) bool) []Call {
	var out []Call
	for _, call := range calls {
		if match(call) {
			out = append(out, call)
		}
	}
	return out
}

// Mark is a position in the audit log. The zero Mark is its beginning.
type Mark int64

// Mark returns the present end of the audit log: CallsSince then returns what
// is answered from now on. It is zero for an existing cluster.
func (cp *ControlPlane) Mark() Mark {
	info, err := os.Stat(cp.dir.auditLog())
	if err != nil {
		return 0 // not written yet
	}
	return Mark(info.Size())
}

// Calls returns all calls of all users in the order in which they were answered,
// ours ("controlplane") and the API server's own ("system:apiserver") included.
// A call whose answer the caller has seen is in it.
//
// Note that client-go's informers list by a watch with sendInitialEvents.
func (cp *ControlPlane) Calls(ctx context.Context) ([]Call, error) { return cp.CallsSince(ctx, 0) }

// CallsSince is Calls without those before the mark.
func (cp *ControlPlane) CallsSince(ctx context.Context, mark Mark) ([]Call, error) {
	if cp.Existing() {
		return nil, fmt.Errorf("audit log of %s: %w", cp.options.Name, ErrExisting)
	}
	file, err := os.Open(cp.dir.auditLog())
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if _, err := file.Seek(int64(mark), io.SeekStart); err != nil {
		return nil, err
	}
	return parseAudit(ctx, file)
}

// parseAudit reads one JSON event per line. A last line without end is still
// being written and does not count.
func parseAudit(ctx context.Context, log io.Reader) ([]Call, error) {
	var calls []Call
	reader := bufio.NewReaderSize(log, 64<<10)
	for ctx.Err() == nil {
		line, err := reader.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return calls, nil
		}
		if err != nil {
			return nil, err
		}
		var event auditEvent
		if err := json.Unmarshal(line, &event); err != nil {
			return nil, fmt.Errorf("audit log: %w in %.200q", err, line)
		}
		calls = append(calls, event.call())
	}
	return nil, ctx.Err()
}

// auditEvent is what we read of audit.k8s.io/v1 Event.
type auditEvent struct {
	Verb       string `json:"verb"`
	RequestURI string `json:"requestURI"`
	UserAgent  string `json:"userAgent"`
	User       struct {
		Username string `json:"username"`
	} `json:"user"`
	ObjectRef struct {
		APIGroup    string `json:"apiGroup"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	RequestReceivedTimestamp time.Time `json:"requestReceivedTimestamp"`
}

func (e auditEvent) call() Call {
	path, query, _ := strings.Cut(e.RequestURI, "?")
	return Call{
		Time:        e.RequestReceivedTimestamp,
		User:        e.User.Username,
		UserAgent:   e.UserAgent,
		Verb:        e.Verb,
		Path:        path,
		Query:       query,
		Group:       e.ObjectRef.APIGroup,
		Resource:    e.ObjectRef.Resource,
		Subresource: e.ObjectRef.Subresource,
		Namespace:   e.ObjectRef.Namespace,
		Name:        e.ObjectRef.Name,
		Code:        e.ResponseStatus.Code,
	}
}
