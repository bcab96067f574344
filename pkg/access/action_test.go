package access

import "testing"

func TestActionsReadAsRBACDoes(t *testing.T) {
	for _, row := range []struct {
		action Action
		words  string
		remedy string
	}{
		{Action{Verb: "patch", Group: "demo.example.org", Resource: "widgets", Namespace: "team-a"},
			`patch widgets.demo.example.org in namespace "team-a"`,
			`Grant the verb "patch" on the resource "widgets" of the API group "demo.example.org" with a Role and a RoleBinding in namespace "team-a".`},
		{Action{Verb: "get", Resource: "namespaces", Name: "kube-system"},
			`get namespaces "kube-system"`,
			`Grant the verb "get" on the resource "namespaces" of the API group "" (the name "kube-system" is enough) with a ClusterRole and a ClusterRoleBinding.`},
		{Action{Verb: "list", Group: "demo.example.org", Resource: "widgets"},
			`list widgets.demo.example.org`,
			`Grant the verb "list" on the resource "widgets" of the API group "demo.example.org" with a ClusterRole and a ClusterRoleBinding.`},
		{Action{Verb: "patch", Group: "demo.example.org", Resource: "widgets", Subresource: "status", Namespace: "team-a", Name: "a"},
			`patch widgets.demo.example.org/status "a" in namespace "team-a"`,
			`Grant the verb "patch" on the resource "widgets/status" of the API group "demo.example.org" (the name "a" is enough) with a Role and a RoleBinding in namespace "team-a".`},
		{Action{Verb: "create", Resource: "namespaces", Name: "team-a"},
			`create namespaces "team-a"`,
			`Grant the verb "create" on the resource "namespaces" of the API group "" with a ClusterRole and a ClusterRoleBinding.`},
	} {
		t.Run(row.words, func(t *testing.T) {
			if got := row.action.String(); got != row.words {
				t.Errorf("got %q", got)
			}
			if got := row.action.Remedy(); got != row.remedy {
				t.Errorf("got %q", got)
			}
		})
	}
}
