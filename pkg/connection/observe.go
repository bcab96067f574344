package connection

import (
	"context"
	"errors"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
	"github.com/kbind-dev/konnector/pkg/controller"
	"github.com/kbind-dev/konnector/pkg/kubeconfig"
	"github.com/kbind-dev/konnector/pkg/session"
)

// candidate is a kubeconfig for which no session is open yet.
type candidate struct {
	*kubeconfig.Config
	fingerprint string
}

// observe gathers what is known of a Connection, from memory alone. It returns a
// kubeconfig when the Secret has one that another session has to be opened for.
func (c *Controller) observe(ctx context.Context, connection *corev1alpha1.Connection) (Facts, *candidate) {
	facts := Facts{
		Connection: connection,
		LocalUID:   c.options.LocalUID,
		Namespaces: c.options.CredentialNamespaces,
		Bindings:   c.bindings(connection.Name),
	}
	data := c.observeSecret(ctx, connection, &facts.Secret)
	open := c.get(connection.Name)
	var next *candidate
	if data != nil {
		fingerprint := session.Fingerprint(data)
		config, err := kubeconfig.Parse(data, c.options.Kubeconfig)
		if refusal, is := errors.AsType[*kubeconfig.Refusal](err); is {
			facts.Secret.Refusal = refusal
		} else if open == nil || open.fingerprint != fingerprint {
			next = &candidate{Config: config, fingerprint: fingerprint}
		}
	}
	if open != nil {
		state := open.session.State()
		facts.Session = &state
		facts.Catalog = CatalogFacts{Synced: open.catalog.Synced(), Err: open.catalog.Err(), APIs: open.catalog.List()}
	}
	return facts, next
}

// observeSecret fills in what is known of the Secret, and returns the kubeconfig in it.
func (c *Controller) observeSecret(ctx context.Context, connection *corev1alpha1.Connection, facts *SecretFacts) []byte {
	ref := connection.Spec.KubeconfigSecretRef
	facts.Allowed = slices.Contains(c.options.CredentialNamespaces, ref.Namespace)
	if !facts.Allowed {
		return nil // not even read
	}
	view := c.secrets.get(controller.Outlive(ctx), connection.Name, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name})
	facts.Synced, facts.Err = view.synced, view.err
	if view.secret == nil {
		return nil
	}
	facts.Exists = true
	facts.Keys = slices.Collect(maps.Keys(view.secret.Data))
	data, has := view.secret.Data[ref.Key]
	facts.HasKey = has
	if !has {
		return nil
	}
	return append([]byte{}, data...) // never nil: an empty kubeconfig has to be refused
}
