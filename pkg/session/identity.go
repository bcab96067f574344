package session

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	"github.com/kbind-dev/konnector/pkg/access"
)

// logicalClusterGroup is served by kcp, where a workspace has no namespace
// kube-system but an object that stands for itself.
const logicalClusterGroup = "core.kcp.io"

// Refused is the error of a call that the credentials don't allow.
type Refused struct {
	Action access.Action
	Err    error
}

// Error names what is not allowed, and the server's words.
func (r Refused) Error() string { return fmt.Sprintf("%s: %s", r.Action, access.Message(r.Err)) }

// Unwrap returns the server's error.
func (r Refused) Unwrap() error { return r.Err }

// refused names the action when an error is a refusal, and returns others as they are.
func refused(action access.Action, err error) error {
	if access.Classify(err) == access.Denied {
		return Refused{Action: action, Err: err}
	}
	return err
}

// Identify returns the UID of a cluster: that of its logical cluster where there
// is one, and otherwise that of Namespace kube-system. It asks only for what
// discovery shows, and an answer that is refused is an error, never another question.
func Identify(ctx context.Context, groups discovery.ServerGroupsInterfaceWithContext, objects dynamic.Interface) (types.UID, error) {
	served, err := groups.ServerGroupsWithContext(ctx)
	if err != nil {
		return "", refused(access.Action{Verb: "get", Resource: "/apis"}, err)
	}
	resource, name := schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, metav1.NamespaceSystem
	for _, group := range served.Groups {
		if group.Name == logicalClusterGroup {
			resource = schema.GroupVersionResource{Group: group.Name, Version: group.PreferredVersion.Version, Resource: "logicalclusters"}
			name = "cluster"
		}
	}
	object, err := objects.Resource(resource).Get(ctx, name, metav1.GetOptions{})
	action := access.Action{Verb: "get", Group: resource.Group, Resource: resource.Resource, Name: name}
	if apierrors.IsNotFound(err) {
		return "", fmt.Errorf("%s: the cluster has no such object, so that it can't be told from others: %w", action, err)
	}
	if err != nil {
		return "", refused(action, err)
	}
	return object.GetUID(), nil
}
