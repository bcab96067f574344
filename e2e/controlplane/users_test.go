package controlplane_test

import (
	"fmt"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kbind-dev/konnector/e2e/controlplane"
)

func knowsServiceAccount(t *testing.T, cp *controlplane.ControlPlane) {
	user, err := cp.AddServiceAccount(t.Context(), "robots", "r2")
	if err != nil {
		t.Fatal(err)
	}
	if name := whoAmI(t, user.Config()); name != "system:serviceaccount:robots:r2" || name != user.Name {
		t.Errorf("the API server knows %q as %q", user.Name, name)
	}
}

func refusesOthers(t *testing.T, cp *controlplane.ControlPlane) {
	user, err := cp.AddUser(t.Context(), "narrow")
	if err != nil {
		t.Fatal(err)
	}
	if err := user.SetRulesIn(t.Context(), []string{"default"}, allow("configmaps", "list")); err != nil {
		t.Fatal(err)
	}
	client := kubernetes.NewForConfigOrDie(user.Config()).CoreV1()
	if name := whoAmI(t, user.Config()); name != "narrow" {
		t.Errorf("the API server knows narrow as %q", name)
	}
	if _, err := client.ConfigMaps("default").List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("list ConfigMaps where that is allowed: %v", err)
	}
	if _, err := client.ConfigMaps("kube-system").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("list ConfigMaps in another namespace: %v, want forbidden", err)
	}
	if _, err := client.Secrets("default").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("list Secrets: %v, want forbidden", err)
	}
}

func actsByChangedRules(t *testing.T, cp *controlplane.ControlPlane) {
	user, err := cp.AddUser(t.Context(), "changing")
	if err != nil {
		t.Fatal(err)
	}
	client := kubernetes.NewForConfigOrDie(user.Config()).CoreV1()
	for range 5 {
		if err := user.SetRules(t.Context(), allow("configmaps", "list")); err != nil {
			t.Fatal(err)
		}
		if _, err := client.ConfigMaps("").List(t.Context(), metav1.ListOptions{}); err != nil {
			t.Errorf("list right after it was allowed: %v", err)
		}
		if err := user.SetRules(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := client.ConfigMaps("").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
			t.Errorf("list right after it was taken away: %v, want forbidden", err)
		}
	}
}

func tellsCalls(t *testing.T, cp *controlplane.ControlPlane) {
	user, err := cp.AddUser(t.Context(), "counted", allow("configmaps", "create", "get", "watch"))
	if err != nil {
		t.Fatal(err)
	}
	config := user.Config()
	config.UserAgent = "counting/1"
	client := kubernetes.NewForConfigOrDie(config)
	makeConfigMap(t, client, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "before"}})
	mark := cp.Mark()
	makeCalls(t, client)

	calls, err := cp.CallsSince(t.Context(), mark)
	if err != nil {
		t.Fatal(err)
	}
	mine := controlplane.SelectCalls(calls, func(c controlplane.Call) bool { return c.User == "counted" })
	for text, want := range map[string]int{
		"create configmaps after 201": 1,
		"get configmaps after 200":    20,
		"watch configmaps  200":       1,
		"get secrets none 403":        1,
	} {
		got := controlplane.CountCalls(mine, func(c controlplane.Call) bool {
			return c.UserAgent == "counting/1" && c.Namespace == "default" &&
				text == fmt.Sprintf("%s %s %s %d", c.Verb, c.Resource, c.Name, c.Code)
		})
		if got != want {
			t.Errorf("%d calls %q, want %d", got, text, want)
		}
	}
	if len(mine) != 23 || mine[21].Params().Get("labelSelector") != "a=b" {
		t.Errorf("calls of the user:\n%v", mine)
	}
}

// makeCalls creates one ConfigMap, gets it twenty times, starts a watch, and
// gets a Secret that it may not get.
func makeCalls(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	makeConfigMap(t, client, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "after"}})
	for range 20 {
		if _, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), "after", metav1.GetOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	watch, err := client.CoreV1().ConfigMaps("default").Watch(t.Context(), metav1.ListOptions{LabelSelector: "a=b"})
	if err != nil {
		t.Fatal(err)
	}
	watch.Stop()
	if _, err := client.CoreV1().Secrets("default").Get(t.Context(), "none", metav1.GetOptions{}); !apierrors.IsForbidden(err) {
		t.Fatal(err)
	}
}

func leadsThroughOther(t *testing.T, cp *controlplane.ControlPlane) {
	user, err := cp.AddUser(t.Context(), "elsewhere")
	if err != nil {
		t.Fatal(err)
	}
	url := strings.Replace(cp.AdminConfig().Host, "127.0.0.1", "localhost", 1)
	kubeconfig := user.Kubeconfig(controlplane.WithServer(url), controlplane.WithNamespace("here"))
	client, err := clientcmd.NewClientConfigFromBytes(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if namespace, _, err := client.Namespace(); namespace != "here" || err != nil {
		t.Errorf("namespace = %q, %v", namespace, err)
	}
	config, err := client.ClientConfig()
	if err != nil || config.Host != url {
		t.Fatalf("server = %q, %v, want %q", config.Host, err, url)
	}
	if name := whoAmI(t, config); name != "elsewhere" {
		t.Errorf("the API server knows elsewhere as %q", name)
	}
}

func whoAmI(t *testing.T, config *rest.Config) string {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	review, err := client.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return review.Status.UserInfo.Username
}

func allow(resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{resource}, Verbs: verbs}
}
