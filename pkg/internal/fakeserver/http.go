package fakeserver

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// RoundTrip answers a client. Server is a [http.RoundTripper], so that no network is in between.
func (s *Server) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := request.Context().Err(); err != nil {
		return nil, err
	}
	var body []byte
	if request.Body != nil {
		var err error
		body, err = io.ReadAll(request.Body)
		if err != nil {
			return nil, err
		}
	}
	path := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	root := []string{"apis", Resource.Group, Resource.Version}
	switch {
	case request.URL.Path == "/api/v1/namespaces" && request.Method == http.MethodPost:
		return s.createNamespace(request, body), nil
	case request.URL.Path == "/apis", request.URL.Path == "/api", strings.Join(path, "/") == strings.Join(root, "/"):
		return s.discovery(request), nil
	case len(path) > len(root) && strings.HasPrefix(request.URL.Path, "/"+strings.Join(root, "/")+"/"):
		return s.serve(request, path[len(root):], body)
	}
	return failure(request, apierrors.NewServiceUnavailable("no such thing here")), nil
}

// serve answers a request to the resource; path is what follows the version.
func (s *Server) serve(request *http.Request, path []string, body []byte) (*http.Response, error) {
	if s.is(&s.Unserved) {
		return response(request, http.StatusNotFound, "text/plain", []byte("404 page not found\n")), nil
	}
	var key types.NamespacedName
	if path[0] == "namespaces" {
		key.Namespace, path = path[1], path[2:]
	}
	if len(path) == 1 {
		return s.collection(request, key.Namespace)
	}
	key.Name = path[1]
	call := Call{Verb: verbOf(request, len(path) > 2), Object: key.Namespace + "/" + key.Name}
	if err := s.note(call); err != nil {
		return failure(request, err), nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	object, err := s.handle(request, key, len(path) > 2, body)
	if err != nil {
		return failure(request, err), nil
	}
	return success(request, object), nil
}

// is returns a field.
func (s *Server) is(field *bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *field
}

// note records a call, and returns the answer if it is refused.
func (s *Server) note(call Call) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, call)
	if s.Refuse != nil {
		return s.Refuse(call)
	}
	return nil
}

func verbOf(request *http.Request, status bool) string {
	verb := strings.ToLower(request.Method)
	if request.Header.Get("Content-Type") == string(types.ApplyPatchType) {
		verb = "apply"
	}
	if status {
		verb += " status"
	}
	return verb
}

// handle does one request on one object. The caller holds the lock.
func (s *Server) handle(request *http.Request, key types.NamespacedName, status bool, body []byte) (any, error) {
	live := s.objects[key]
	manager := request.URL.Query().Get("fieldManager")
	if request.Header.Get("Content-Type") == string(types.ApplyPatchType) {
		return s.apply(live, key, manager, body)
	}
	if live == nil {
		return nil, apierrors.NewNotFound(Resource.GroupResource(), key.Name)
	}
	switch request.Method {
	case http.MethodGet:
		return live.Object, nil
	case http.MethodPatch:
		return s.patch(live, status, manager, types.PatchType(request.Header.Get("Content-Type")), body)
	case http.MethodDelete:
		var options metav1.DeleteOptions
		decode(body, &options)
		if uid := options.Preconditions; uid != nil && uid.UID != nil && *uid.UID != live.GetUID() {
			return nil, apierrors.NewConflict(Resource.GroupResource(), key.Name, errors.New("the UID in the precondition does not match"))
		}
		if s.remove(live) {
			return metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess}, nil
		}
		return s.objects[key].Object, nil
	}
	return nil, apierrors.NewMethodNotSupported(Resource.GroupResource(), request.Method)
}

func (s *Server) apply(live *unstructured.Unstructured, key types.NamespacedName, manager string, body []byte) (any, error) {
	wanted := parse(body)
	if live == nil && wanted.GetUID() != "" {
		return nil, apierrors.NewConflict(Resource.GroupResource(), key.Name, errors.New("uid mismatch: no existing object was found"))
	}
	if live == nil && !s.namespaces[key.Namespace] {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, key.Namespace)
	}
	base := live
	if base == nil {
		base = empty(wanted)
	}
	applied, err := s.manager.Apply(base, wanted, manager, true)
	if err != nil {
		return nil, err
	}
	object := applied.(*unstructured.Unstructured).DeepCopy()
	if err := precondition(live, wanted); err != nil {
		return nil, err
	}
	if s.Admit != nil {
		if err := s.Admit(object); err != nil {
			return nil, err
		}
	}
	return s.put(live, object, false).Object, nil
}

func (s *Server) patch(live *unstructured.Unstructured, status bool, manager string, kind types.PatchType, body []byte) (any, error) {
	before, err := live.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var after []byte
	if kind == types.JSONPatchType {
		patch, decodeErr := jsonpatch.DecodePatch(body)
		if decodeErr != nil {
			return nil, apierrors.NewBadRequest(decodeErr.Error())
		}
		after, err = patch.Apply(before)
	} else {
		after, err = jsonpatch.MergePatch(before, body)
	}
	if err != nil {
		return nil, Invalid(err.Error())
	}
	object := parse(after)
	if err := precondition(live, object); err != nil {
		return nil, err
	}
	if s.Admit != nil && !status {
		if err := s.Admit(object); err != nil {
			return nil, err
		}
	}
	return s.put(live, s.update(live, object, manager), status).Object, nil
}

// precondition compares what identifies the object of a write with the one that is there.
func precondition(live, wanted *unstructured.Unstructured) error {
	if live == nil {
		return nil
	}
	uid, version := wanted.GetUID(), wanted.GetResourceVersion()
	if (uid != "" && uid != live.GetUID()) || (version != "" && version != live.GetResourceVersion()) {
		return apierrors.NewConflict(Resource.GroupResource(), live.GetName(), errors.New("the object has been modified"))
	}
	return nil
}

func (s *Server) createNamespace(request *http.Request, body []byte) *http.Response {
	var namespace metav1.PartialObjectMetadata
	decode(body, &namespace)
	if err := s.note(Call{Verb: "create namespace", Object: namespace.Name}); err != nil {
		return failure(request, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.namespaces[namespace.Name] {
		return failure(request, apierrors.NewAlreadyExists(schema.GroupResource{Resource: "namespaces"}, namespace.Name))
	}
	s.namespaces[namespace.Name] = true
	namespace.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}
	return success(request, namespace)
}

func (s *Server) discovery(request *http.Request) *http.Response {
	group := metav1.GroupVersionForDiscovery{GroupVersion: Resource.GroupVersion().String(), Version: Resource.Version}
	switch {
	case s.is(&s.Undiscoverable):
		return failure(request, apierrors.NewServiceUnavailable("try again"))
	case request.URL.Path == "/api":
		return response(request, http.StatusNotFound, "text/plain", []byte("404 page not found\n"))
	case request.URL.Path == "/apis":
		return success(request, metav1.APIGroupList{
			TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"},
			Groups:   []metav1.APIGroup{{Name: Resource.Group, Versions: []metav1.GroupVersionForDiscovery{group}, PreferredVersion: group}},
		})
	}
	list := metav1.APIResourceList{
		TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: group.GroupVersion,
	}
	if !s.is(&s.Unserved) {
		list.APIResources = []metav1.APIResource{{Name: Resource.Resource, Kind: Kind.Kind, Namespaced: true}}
	}
	return success(request, list)
}

func success(request *http.Request, value any) *http.Response {
	return response(request, http.StatusOK, "application/json", []byte(encode(value)))
}

// failure answers as API servers do: errors without a status are the server's own.
func failure(request *http.Request, err error) *http.Response {
	answer := metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: err.Error()}
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok {
		answer = status.ErrStatus
	}
	answer.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	return response(request, int(answer.Code), "application/json", []byte(encode(answer)))
}

func response(request *http.Request, code int, contentType string, body []byte) *http.Response {
	return &http.Response{
		Status: fmt.Sprintf("%d %s", code, http.StatusText(code)), StatusCode: code,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        http.Header{"Content-Type": {contentType}},
		Body:          io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)),
		Request:       request,
	}
}

func decode(data []byte, into any) {
	if len(data) == 0 {
		return
	}
	if err := utiljson.Unmarshal(data, into); err != nil {
		panic(err)
	}
}
