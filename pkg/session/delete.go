package session

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// Deleter deletes objects of the provider.
type Deleter interface {
	// Delete deletes the object with the UID. It reports whether the object is gone
	// with the answer; otherwise it lives on until its finalizers are done. Another
	// object of that name is left alone, and the error is a conflict.
	Delete(ctx context.Context, resource schema.GroupVersionResource, key types.NamespacedName, uid types.UID) (gone bool, err error)
}

// restDeleter reads the answer of a deletion, which the dynamic client drops. An
// API server answers with a Status when the object is gone, and with the object
// when something still holds it; so nothing has to be asked to know.
type restDeleter struct {
	client rest.Interface
}

func newDeleter(config *rest.Config, client *http.Client) (Deleter, error) {
	config = rest.CopyConfig(config)
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	unversioned, err := rest.UnversionedRESTClientForConfigAndClient(config, client)
	if err != nil {
		return nil, err
	}
	return restDeleter{client: unversioned}, nil
}

func (d restDeleter) Delete(ctx context.Context, resource schema.GroupVersionResource, key types.NamespacedName, uid types.UID) (gone bool, err error) {
	options, err := json.Marshal(metav1.DeleteOptions{
		TypeMeta:      metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"},
		Preconditions: metav1.NewUIDPreconditions(string(uid)),
	})
	if err != nil {
		return false, err
	}
	path := []string{"/apis", resource.Group, resource.Version}
	if key.Namespace != "" {
		path = append(path, "namespaces", key.Namespace)
	}
	path = append(path, resource.Resource, key.Name)
	answer, err := d.client.Delete().AbsPath(path...).SetHeader("Content-Type", "application/json").Body(options).Do(ctx).Raw()
	if err != nil {
		return false, err
	}
	var kind metav1.TypeMeta
	if err := json.Unmarshal(answer, &kind); err != nil {
		return false, fmt.Errorf("answer to the deletion of %s: %w", key, err)
	}
	return kind.Kind == "Status", nil
}
