package controlplane

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// inForceLimit bounds how long the API server may take to act by new rules. It
// learns of them by watch, which takes milliseconds.
const inForceLimit = 20 * time.Second

// bind writes role and binding of the user, for a namespace or, when that is
// empty, for the whole cluster.
func (u *User) bind(ctx context.Context, namespace string, rules []rbacv1.PolicyRule) error {
	meta := metav1.ObjectMeta{Name: "e2e:" + u.Name, Namespace: namespace}
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name}
	subjects := []rbacv1.Subject{u.subject}
	api := u.cp.probe.RbacV1()
	if namespace == "" {
		return errors.Join(
			write(ctx, u.cp, api.ClusterRoles(), meta.Name, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules}),
			write(ctx, u.cp, api.ClusterRoleBindings(), meta.Name, &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}),
		)
	}
	ref.Kind = "Role"
	return errors.Join(
		write(ctx, u.cp, api.Roles(namespace), meta.Name, &rbacv1.Role{ObjectMeta: meta, Rules: rules}),
		write(ctx, u.cp, api.RoleBindings(namespace), meta.Name, &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}),
	)
}

// writer is what the typed clients of all kinds have in common.
type writer[T any] interface {
	Create(context.Context, T, metav1.CreateOptions) (T, error)
	Update(context.Context, T, metav1.UpdateOptions) (T, error)
	Delete(context.Context, string, metav1.DeleteOptions) error
}

// write creates the object, or replaces what is there under its name.
func write[T any](ctx context.Context, cp *ControlPlane, client writer[T], name string, object T) error {
	_, err := client.Create(ctx, object, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = client.Update(ctx, object, metav1.UpdateOptions{})
		return err
	}
	if err == nil {
		cp.onCleanUp(func(ctx context.Context) error {
			return client.Delete(ctx, name, metav1.DeleteOptions{})
		})
	}
	return err
}

// waitInForce returns when the API server acts by the user's rules, those for
// the whole cluster and those for the namespace. former are rules of before.
func (u *User) waitInForce(ctx context.Context, namespace string, former []rbacv1.PolicyRule) error {
	reviewer, err := u.impersonated()
	if err != nil {
		return err
	}
	wanted := slices.Concat(u.rules[""], u.rules[namespace])
	if namespace == "" {
		namespace = metav1.NamespaceDefault // a review is always of one namespace
		wanted = slices.Concat(wanted, u.rules[namespace])
	}
	limited, cancel := context.WithTimeout(ctx, inForceLimit)
	defer cancel()
	err = wait.PollUntilContextCancel(limited, 5*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		review := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace}}
		review, err := reviewer.AuthorizationV1().SelfSubjectRulesReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return false, err
		}
		return inForce(review.Status, wanted, former), nil
	})
	if err != nil {
		return fmt.Errorf("waiting for the rules of %s to be in force: %w", u.Name, err)
	}
	return nil
}

// impersonated returns a client that acts as the user, so that the audit log
// has its requests under our name.
func (u *User) impersonated() (*kubernetes.Clientset, error) {
	config := rest.CopyConfig(u.cp.probeConfig)
	config.Impersonate = rest.ImpersonationConfig{UserName: u.Name, Groups: []string{"system:authenticated"}}
	return kubernetes.NewForConfig(config)
}

// inForce tells whether the answer holds all that is wanted, and nothing more of
// what was wanted formerly.
func inForce(answer authorizationv1.SubjectRulesReviewStatus, wanted, former []rbacv1.PolicyRule) bool {
	var have []rbacv1.PolicyRule
	for _, rule := range answer.ResourceRules {
		have = append(have, rbacv1.PolicyRule{Verbs: rule.Verbs, APIGroups: rule.APIGroups, Resources: rule.Resources, ResourceNames: rule.ResourceNames})
	}
	for _, rule := range answer.NonResourceRules {
		have = append(have, rbacv1.PolicyRule{Verbs: rule.Verbs, NonResourceURLs: rule.NonResourceURLs})
	}
	for _, rule := range wanted {
		if !holds(have, rule) {
			return false
		}
	}
	for _, rule := range former {
		if !holds(wanted, rule) && holds(have, rule) {
			return false
		}
	}
	return true
}

func holds(rules []rbacv1.PolicyRule, rule rbacv1.PolicyRule) bool {
	return slices.ContainsFunc(rules, func(other rbacv1.PolicyRule) bool {
		return equality.Semantic.DeepEqual(rule, other) // nil and empty lists are the same
	})
}

// onCleanUp remembers how to take back what was made in an existing cluster.
// Our own clusters go as a whole.
func (cp *ControlPlane) onCleanUp(undo func(context.Context) error) {
	if !cp.Existing() {
		return
	}
	cp.cleanupMu.Lock()
	defer cp.cleanupMu.Unlock()
	cp.cleanups = append(cp.cleanups, undo)
}

// cleanUp takes everything back, the latest first.
func (cp *ControlPlane) cleanUp() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	cp.cleanupMu.Lock()
	defer cp.cleanupMu.Unlock()
	var errs []error
	for _, undo := range slices.Backward(cp.cleanups) {
		if err := undo(ctx); err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, err)
		}
	}
	cp.cleanups = nil
	return errors.Join(errs...)
}
