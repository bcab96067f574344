package v1alpha1_test

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
	applycorev1alpha1 "github.com/kbind-dev/konnector/generated/applyconfiguration/core/v1alpha1"
	"github.com/kbind-dev/konnector/generated/clientset/versioned"
	"github.com/kbind-dev/konnector/generated/clientset/versioned/fake"
)

// bindEverything stands for a program of yours: it binds, in all namespaces, every
// API that the provider of a Connection offers, and returns how many these are.
func bindEverything(ctx context.Context, client versioned.Interface, connection string) (int, error) {
	found, err := client.CoreV1alpha1().Connections().Get(ctx, connection, metav1.GetOptions{})
	if err != nil {
		return 0, err
	}
	spec := applycorev1alpha1.BindingSpec().
		WithConnectionRef(applycorev1alpha1.ConnectionReference().WithName(connection))
	for _, api := range found.Status.ExportedAPIs {
		spec.WithAPIs(applycorev1alpha1.APIReference().WithName(api.Name))
	}
	binding := applycorev1alpha1.ClusterBinding(connection).WithSpec(spec)
	_, err = client.CoreV1alpha1().ClusterBindings().Apply(ctx, binding,
		metav1.ApplyOptions{FieldManager: "bind-everything", Force: true})
	return len(spec.APIs), err
}

// The fake clientset tests a program that uses the konnector's API without a cluster.
// It keeps what it is given and merges an Apply as an API server does. It sets no
// defaults and validates nothing.
func Example_fakeClientset() {
	ctx := context.Background()
	client := fake.NewClientset(&corev1alpha1.Connection{
		ObjectMeta: metav1.ObjectMeta{Name: "acme"},
		Status: corev1alpha1.ConnectionStatus{ExportedAPIs: []corev1alpha1.ExportedAPI{
			{Name: "databases.acme.example"},
			{Name: "widgets.acme.example"},
		}},
	})

	count, err := bindEverything(ctx, client, "acme")
	fmt.Println("bound:", count, "error:", err)

	binding, err := client.CoreV1alpha1().ClusterBindings().Get(ctx, "acme", metav1.GetOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("connection:", binding.Spec.ConnectionRef.Name)
	for _, api := range binding.Spec.APIs {
		fmt.Println("api:", api.Name)
	}

	_, err = bindEverything(ctx, client, "nobody")
	fmt.Println(err)
	// Output:
	// bound: 2 error: <nil>
	// connection: acme
	// api: databases.acme.example
	// api: widgets.acme.example
	// connections.core.kbind.io "nobody" not found
}
