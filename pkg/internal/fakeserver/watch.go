package fakeserver

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

// change is one write.
type change struct {
	version     int
	before, now *unstructured.Unstructured
	gone        bool
}

// watch is one open watch.
type watch struct {
	namespace string
	selector  labels.Selector

	mu      sync.Mutex
	news    sync.Cond
	waiting [][]byte
	closed  bool
}

func (w *watch) selects(object *unstructured.Unstructured) bool {
	return object != nil && (w.namespace == "" || w.namespace == object.GetNamespace()) &&
		w.selector.Matches(labels.Set(object.GetLabels()))
}

// show puts the change into the stream as the watcher sees it.
func (w *watch) show(c change) {
	had, has := w.selects(c.before), !c.gone && w.selects(c.now)
	var kind string
	switch {
	case had && has:
		kind = "MODIFIED"
	case has:
		kind = "ADDED"
	case had:
		kind = "DELETED"
	default:
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting = append(w.waiting, []byte(encode(map[string]any{"type": kind, "object": c.now.Object})))
	w.news.Signal()
}

// tell shows a change to all who watch. The caller holds the lock.
func (s *Server) tell(c change) {
	s.history = append(s.history, c)
	for each := range s.watches {
		each.show(c)
	}
}

// collection lists or watches.
func (s *Server) collection(request *http.Request, namespace string) (*http.Response, error) {
	query := request.URL.Query()
	selector, err := labels.Parse(query.Get("labelSelector"))
	if err != nil {
		return nil, err
	}
	opened := &watch{namespace: namespace, selector: selector}
	opened.news.L = &opened.mu
	if query.Get("sendInitialEvents") == "true" {
		return failure(request, Invalid("sendInitialEvents is forbidden")), nil // the client lists instead
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if query.Get("watch") == "" {
		items := []any{}
		for _, object := range s.objects {
			if opened.selects(object) {
				items = append(items, object.Object)
			}
		}
		return success(request, map[string]any{
			"apiVersion": Kind.GroupVersion().String(), "kind": Kind.Kind + "List",
			"metadata": map[string]any{"resourceVersion": strconv.Itoa(s.version)}, "items": items,
		}), nil
	}
	since, err := strconv.Atoi(strings.TrimSpace(query.Get("resourceVersion")))
	if err != nil {
		return nil, err
	}
	for _, c := range s.history {
		if c.version > since {
			opened.show(c)
		}
	}
	s.watches[opened] = true
	reader, writer := io.Pipe()
	answer := response(request, http.StatusOK, "application/json", nil)
	answer.Body, answer.ContentLength = reader, -1
	go s.stream(request.Context(), opened, writer)
	return answer, nil
}

// stream writes a watch's events until the client goes.
func (s *Server) stream(ctx context.Context, opened *watch, writer *io.PipeWriter) {
	stop := context.AfterFunc(ctx, func() {
		opened.mu.Lock()
		defer opened.mu.Unlock()
		opened.closed = true
		opened.news.Signal()
		_ = writer.CloseWithError(ctx.Err())
	})
	defer stop()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watches, opened)
	}()
	for {
		opened.mu.Lock()
		for len(opened.waiting) == 0 && !opened.closed {
			opened.news.Wait()
		}
		waiting, closed := opened.waiting, opened.closed
		opened.waiting = nil
		opened.mu.Unlock()
		if closed {
			return
		}
		for _, event := range waiting {
			if _, err := writer.Write(event); err != nil {
				return
			}
		}
	}
}
