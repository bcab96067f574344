package controlplane

import (
	"context"
	"fmt"
	"slices"
	"sync"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// usersNamespace holds the ServiceAccounts that stand for users of an existing
// cluster, where we cannot sign certificates.
const usersNamespace = "konnector-e2e-users"

// User is somebody who may do what the rules allow and nothing else.
type User struct {
	// Name is the user's name for RBAC and in the audit log.
	Name string

	cp      *ControlPlane
	config  *clientcmdapi.Config
	subject rbacv1.Subject

	mu    sync.Mutex
	rules map[string][]rbacv1.PolicyRule // by namespace; "" is the whole cluster
}

// AddUser returns a user with a client certificate for name, who may do in the
// whole cluster what the rules say. It returns when the rules are in force. A
// name that was there before gets a new certificate and the new rules. In an
// existing cluster the user is a ServiceAccount, and User.Name differs from name.
func (cp *ControlPlane) AddUser(ctx context.Context, name string, rules ...rbacv1.PolicyRule) (*User, error) {
	if cp.Existing() {
		return cp.AddServiceAccount(ctx, usersNamespace, name, rules...)
	}
	pair, err := cp.credentials.ca.client(name)
	if err != nil {
		return nil, err
	}
	user := &User{
		Name:    name,
		cp:      cp,
		config:  cp.kubeconfig(name, pair),
		subject: rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name},
	}
	return user, user.SetRules(ctx, rules...)
}

// AddServiceAccount returns a user who is a ServiceAccount with a token of its
// own, and otherwise is like AddUser. A missing namespace is made.
func (cp *ControlPlane) AddServiceAccount(ctx context.Context, namespace, name string, rules ...rbacv1.PolicyRule) (*User, error) {
	if err := cp.ensureNamespace(ctx, namespace); err != nil {
		return nil, err
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err := cp.probe.CoreV1().ServiceAccounts(namespace).Create(ctx, account, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("making a ServiceAccount: %w", err)
	}
	if err == nil {
		cp.onCleanUp(func(ctx context.Context) error {
			return cp.probe.CoreV1().ServiceAccounts(namespace).Delete(ctx, name, metav1.DeleteOptions{})
		})
	}
	token, err := cp.token(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	cluster := cp.admin.Clusters[cp.admin.Contexts[cp.admin.CurrentContext].Cluster]
	user := &User{
		Name:    "system:serviceaccount:" + namespace + ":" + name,
		cp:      cp,
		config:  newKubeconfig(cp.options.Name, name, cluster, &clientcmdapi.AuthInfo{Token: token}),
		subject: rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name},
	}
	return user, user.SetRules(ctx, rules...)
}

// token returns one that lasts a day. Clusters may shorten it.
func (cp *ControlPlane) token(ctx context.Context, namespace, name string) (string, error) {
	seconds := int64(24 * 60 * 60)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	request, err := cp.probe.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("token for ServiceAccount %s/%s: %w", namespace, name, err)
	}
	return request.Status.Token, nil
}

// ensureNamespace makes the namespace unless it exists.
func (cp *ControlPlane) ensureNamespace(ctx context.Context, name string) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err := cp.probe.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
	switch {
	case apierrors.IsAlreadyExists(err):
		return nil
	case err != nil:
		return fmt.Errorf("making a namespace: %w", err)
	}
	cp.onCleanUp(func(ctx context.Context) error {
		return cp.probe.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{})
	})
	return nil
}

// Kubeconfig returns the user's kubeconfig. It refers to no file; context and
// cluster have the name of the control plane.
func (u *User) Kubeconfig(edits ...KubeconfigEdit) []byte { return encode(u.config, edits...) }

// Config returns the configuration for a client of this user, as
// ControlPlane.AdminConfig does for the administrator.
func (u *User) Config() *rest.Config {
	config, err := restConfig(u.config, "")
	if err != nil {
		panic(err) // nothing in it comes from outside
	}
	return config
}

// SetRules replaces what the user may do in the whole cluster, and returns when
// the API server acts by it. No rules take away everything. What SetRulesIn
// gave is not touched.
func (u *User) SetRules(ctx context.Context, rules ...rbacv1.PolicyRule) error {
	return u.set(ctx, "", rules)
}

// SetRulesIn is like SetRules for what the user may do in each of the namespaces.
func (u *User) SetRulesIn(ctx context.Context, namespaces []string, rules ...rbacv1.PolicyRule) error {
	for _, namespace := range namespaces {
		if err := u.set(ctx, namespace, rules); err != nil {
			return err
		}
	}
	return nil
}

func (u *User) set(ctx context.Context, namespace string, rules []rbacv1.PolicyRule) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	rules = slices.Clone(rules)
	if err := u.bind(ctx, namespace, rules); err != nil {
		return fmt.Errorf("rules for %s: %w", u.Name, err)
	}
	if u.rules == nil {
		u.rules = map[string][]rbacv1.PolicyRule{}
	}
	former := u.rules[namespace]
	u.rules[namespace] = rules
	return u.waitInForce(ctx, namespace, former)
}
