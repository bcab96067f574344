package access

import (
	"fmt"
	"strings"
)

// Action is one request in the terms of RBAC. Fields that do not apply stay empty.
type Action struct {
	Verb        string
	Group       string
	Resource    string
	Subresource string
	Namespace   string
	Name        string
}

// String returns the action in the words of messages, such as
// `patch widgets.demo.example.org in namespace "team-a"` or `get namespaces "kube-system"`.
func (a Action) String() string {
	var text strings.Builder
	text.WriteString(a.Verb + " " + a.Resource)
	if a.Group != "" {
		text.WriteString("." + a.Group)
	}
	if a.Subresource != "" {
		text.WriteString("/" + a.Subresource)
	}
	if a.Name != "" {
		fmt.Fprintf(&text, " %q", a.Name)
	}
	if a.Namespace != "" {
		fmt.Fprintf(&text, " in namespace %q", a.Namespace)
	}
	return text.String()
}

// Remedy returns a sentence that names what to grant so that the action is allowed.
func (a Action) Remedy() string {
	resource := a.Resource
	if a.Subresource != "" {
		resource += "/" + a.Subresource
	}
	where := "with a ClusterRole and a ClusterRoleBinding"
	if a.Namespace != "" {
		where = fmt.Sprintf("with a Role and a RoleBinding in namespace %q", a.Namespace)
	}
	return fmt.Sprintf("Grant the verb %q on the resource %q of the API group %q%s %s.", a.Verb, resource, a.Group, a.nameHint(), where)
}

// nameHint tells that a grant for the one name is enough, for the verbs that RBAC
// can limit to names.
func (a Action) nameHint() string {
	switch a.Verb {
	case "get", "update", "patch", "delete":
		if a.Name != "" {
			return fmt.Sprintf(" (the name %q is enough)", a.Name)
		}
	}
	return ""
}
