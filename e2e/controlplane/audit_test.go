package controlplane

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

const auditLines = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"1","stage":"ResponseComplete","requestURI":"/apis/example.com/v1/namespaces/team-a/widgets/w1/status?fieldManager=konnector\u0026force=true","verb":"patch","user":{"username":"alice","groups":["system:authenticated"]},"sourceIPs":["127.0.0.1"],"userAgent":"konnector/v1","objectRef":{"resource":"widgets","namespace":"team-a","name":"w1","apiGroup":"example.com","apiVersion":"v1","subresource":"status"},"responseStatus":{"metadata":{},"code":200},"requestReceivedTimestamp":"2026-01-02T03:04:05.678901Z","stageTimestamp":"2026-01-02T03:04:05.700000Z"}
{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"2","stage":"ResponseStarted","requestURI":"/apis","verb":"get","user":{},"responseStatus":{"metadata":{},"code":401},"requestReceivedTimestamp":"2026-01-02T03:04:06.000000Z","stageTimestamp":"2026-01-02T03:04:06.000000Z"}
`

func TestParseAuditReadsCompleteLines(t *testing.T) {
	calls, err := parseAudit(t.Context(), strings.NewReader(auditLines+`{"kind":"Event","half`))
	if err != nil {
		t.Fatal(err)
	}
	want := []Call{
		{
			Time: time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC), User: "alice", UserAgent: "konnector/v1", Verb: "patch",
			Path: "/apis/example.com/v1/namespaces/team-a/widgets/w1/status", Query: "fieldManager=konnector&force=true",
			Group: "example.com", Resource: "widgets", Subresource: "status", Namespace: "team-a", Name: "w1", Code: 200,
		},
		{Time: time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC), Verb: "get", Path: "/apis", Code: 401},
	}
	if len(calls) != len(want) {
		t.Fatalf("%d calls, want %d: %v", len(calls), len(want), calls)
	}
	for i := range want {
		if calls[i] != want[i] {
			t.Errorf("call %d:\n got %#v\nwant %#v", i, calls[i], want[i])
		}
	}
	if manager := calls[0].Params().Get("fieldManager"); manager != "konnector" {
		t.Errorf("fieldManager = %q", manager)
	}
	if n := CountCalls(calls, func(c Call) bool { return c.Code == 401 }); n != 1 {
		t.Errorf("%d calls were refused, want 1", n)
	}
}

func TestParseAuditNamesTheBadLine(t *testing.T) {
	_, err := parseAudit(t.Context(), strings.NewReader(auditLines+"no JSON\n"))
	if err == nil || !strings.Contains(err.Error(), "no JSON") {
		t.Errorf("error = %v", err)
	}
}

func TestParseAuditEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := parseAudit(ctx, strings.NewReader(auditLines)); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want context canceled", err)
	}
}
