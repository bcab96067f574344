package fakeserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/rest"
)

// Call is one request about an object, as a client made it.
type Call struct {
	// Verb is get, apply, patch, delete or create; patches of /status are "patch status".
	Verb string
	// Object is namespace/name, or the name of a namespace.
	Object string
}

// Server is an API server in memory. Its fields are set before the first call, or by Change.
type Server struct {
	// StatusSubresource says that the status is written at /status only.
	StatusSubresource bool
	// Refuse, if not nil, may answer a call of a client with an error.
	Refuse func(Call) error
	// Admit, if not nil, changes or refuses objects that a client writes to the main resource.
	Admit func(*unstructured.Unstructured) error
	// Unserved says that the resource is gone, Undiscoverable that discovery fails.
	Unserved, Undiscoverable bool

	manager *managedfields.FieldManager

	mu         sync.Mutex
	version    int
	objects    map[types.NamespacedName]*unstructured.Unstructured
	namespaces map[string]bool
	history    []change
	watches    map[*watch]bool
	calls      []Call
}

// New returns a server with namespaces and without objects.
func New(namespaces ...string) *Server {
	server := &Server{
		StatusSubresource: true,
		manager:           NewFieldManager(),
		version:           100,
		objects:           map[types.NamespacedName]*unstructured.Unstructured{},
		namespaces:        map[string]bool{"": true},
		watches:           map[*watch]bool{},
	}
	for _, each := range namespaces {
		server.namespaces[each] = true
	}
	return server
}

// Config returns the configuration of clients.
func (s *Server) Config() *rest.Config {
	return &rest.Config{
		Host:          "http://fake.example.org",
		Transport:     s,
		QPS:           -1,
		ContentConfig: rest.ContentConfig{ContentType: "application/json", AcceptContentTypes: "application/json"},
	}
}

// Change has a function change the fields of the server.
func (s *Server) Change(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// Calls returns what clients have asked since the last time, but lists and watches.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.calls
	s.calls = nil
	return calls
}

// Get returns an object, nil when there is none.
func (s *Server) Get(namespace, name string) *unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	object := s.objects[types.NamespacedName{Namespace: namespace, Name: name}]
	if object == nil {
		return nil
	}
	return object.DeepCopy()
}

// Create creates an object as another user; text is JSON without apiVersion and kind.
func (s *Server) Create(text string) *unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	object := parse([]byte(text))
	live := empty(object)
	return s.put(nil, s.manager.UpdateNoErrors(live, object, "user").(*unstructured.Unstructured), false)
}

// Update changes an object as another user; status says that it is done at /status.
func (s *Server) Update(namespace, name string, status bool, change func(object map[string]any)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	live := s.objects[types.NamespacedName{Namespace: namespace, Name: name}]
	object := live.DeepCopy()
	change(object.Object)
	s.put(live, s.update(live, object, "user"), status)
}

// Delete deletes an object as another user.
func (s *Server) Delete(namespace, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(s.objects[types.NamespacedName{Namespace: namespace, Name: name}])
}

// HasNamespace reports whether there is a namespace.
func (s *Server) HasNamespace(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.namespaces[name]
}

// update notes who owns what is changed.
func (s *Server) update(live, object *unstructured.Unstructured, manager string) *unstructured.Unstructured {
	return s.manager.UpdateNoErrors(live, object, manager).(*unstructured.Unstructured)
}

// put stores an object. live is the one before, nil for a new one. The caller holds the lock.
func (s *Server) put(live, object *unstructured.Unstructured, statusOnly bool) *unstructured.Unstructured {
	if live == nil {
		object.SetUID(types.UID("uid-" + strconv.Itoa(s.version)))
		object.SetGeneration(1)
		object.SetCreationTimestamp(metav1.NewTime(time.Unix(1, 0)))
	} else {
		s.restore(live, object, statusOnly)
		object.SetResourceVersion(live.GetResourceVersion())
		if same(live, object) {
			return live
		}
	}
	s.version++
	object.SetResourceVersion(strconv.Itoa(s.version))
	s.objects[keyOf(object)] = object
	s.tell(change{version: s.version, before: live, now: object})
	if object.GetDeletionTimestamp() != nil && len(object.GetFinalizers()) == 0 {
		s.erase(object)
	}
	return object
}

// restore takes back what the endpoint does not write, and counts the generation.
func (s *Server) restore(live, object *unstructured.Unstructured, statusOnly bool) {
	if s.StatusSubresource {
		if statusOnly {
			status, has := object.Object["status"]
			metadata := object.GetManagedFields()
			object.Object = live.DeepCopy().Object
			delete(object.Object, "status")
			if has {
				object.Object["status"] = status
			}
			object.SetManagedFields(metadata)
			return
		}
		delete(object.Object, "status")
		if status, has := live.Object["status"]; has {
			object.Object["status"] = status
		}
	}
	if text(live, s.StatusSubresource) != text(object, s.StatusSubresource) {
		object.SetGeneration(live.GetGeneration() + 1)
	}
}

// remove deletes an object, or marks it when finalizers hold it. The caller holds the lock.
func (s *Server) remove(object *unstructured.Unstructured) (gone bool) {
	if len(object.GetFinalizers()) == 0 {
		s.erase(object)
		return true
	}
	if object.GetDeletionTimestamp() == nil {
		marked := object.DeepCopy()
		now := metav1.NewTime(time.Unix(2, 0))
		marked.SetDeletionTimestamp(&now)
		s.put(object, marked, false)
	}
	return false
}

func (s *Server) erase(object *unstructured.Unstructured) {
	s.version++
	last := object.DeepCopy()
	last.SetResourceVersion(strconv.Itoa(s.version))
	delete(s.objects, keyOf(object))
	s.tell(change{version: s.version, before: object, now: last, gone: true})
}

// text returns what counts in the generation.
func text(object *unstructured.Unstructured, withoutStatus bool) string {
	counted := map[string]any{}
	for field, value := range object.Object {
		if field != "metadata" && (field != "status" || !withoutStatus) {
			counted[field] = value
		}
	}
	return encode(counted)
}

// same reports whether a write changes nothing but times in managed fields.
func same(a, b *unstructured.Unstructured) bool {
	strip := func(object *unstructured.Unstructured) string {
		object = object.DeepCopy()
		entries := object.GetManagedFields()
		for i := range entries {
			entries[i].Time = nil
		}
		object.SetManagedFields(entries)
		return encode(object.Object)
	}
	return strip(a) == strip(b)
}

func encode(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(data)
}

func parse(data []byte) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	decode(data, &object.Object)
	object.SetGroupVersionKind(Kind)
	return object
}

func empty(like *unstructured.Unstructured) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(Kind)
	object.SetNamespace(like.GetNamespace())
	object.SetName(like.GetName())
	return object
}

func keyOf(object *unstructured.Unstructured) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
}

// Forbidden returns the answer of RBAC to a call.
func Forbidden(call Call) error {
	_, name, _ := strings.Cut(call.Object, "/")
	verb, _, _ := strings.Cut(strings.Replace(call.Verb, "apply", "patch", 1), " ")
	words := fmt.Sprintf("User %q cannot %s resource %q in API group %q", "konnector", verb, Resource.Resource, Resource.Group)
	return apierrors.NewForbidden(Resource.GroupResource(), name, errors.New(words))
}

// Invalid returns the answer of validation.
func Invalid(message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid, Message: message,
	}}
}
