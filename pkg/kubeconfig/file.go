package kubeconfig

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"
	kjson "sigs.k8s.io/json"
)

// file is a kubeconfig whose entries are not decoded yet, so that only those that
// are used have to be sound.
type file struct {
	Kind           string  `json:"kind"`
	APIVersion     string  `json:"apiVersion"`
	CurrentContext string  `json:"current-context"`
	Contexts       []entry `json:"contexts"`
	Clusters       []entry `json:"clusters"`
	Users          []entry `json:"users"`
}

// entry is one of any of the three lists; it holds one of the values.
type entry struct {
	Name    string          `json:"name"`
	Context json.RawMessage `json:"context"`
	Cluster json.RawMessage `json:"cluster"`
	User    json.RawMessage `json:"user"`
}

// selection is what the current context leads to, with the paths that name it.
type selection struct {
	contextPath, clusterPath, userPath path

	context clientcmdv1.Context
	cluster clientcmdv1.Cluster
	user    clientcmdv1.AuthInfo

	server *url.URL
	proxy  *url.URL // nil for that of the environment
}

// path is the place of an entry's value in the file.
type path string

func pathOf(list, name, value string) path {
	return path(fmt.Sprintf("%s[name=%s].%s", list, shown(name), value))
}

func (p path) field(name string) string {
	if p == "" {
		return name
	}
	return string(p) + "." + name
}

func readFile(data []byte) (*file, error) {
	converted, err := toJSON(data)
	if err != nil {
		return nil, err
	}
	switch converted[0] {
	case '{':
	case 'n': // null, as comments alone give
		return nil, invalid(wholeFile, "is empty: put a kubeconfig with inline credentials there")
	default:
		return nil, invalid(wholeFile, "is no kubeconfig: check that it is not base64 inside of base64, as when encoded text is put into data a second time")
	}
	fields, err := split(converted, wholeFile)
	if err != nil {
		return nil, err
	}
	found := &file{}
	if err := decode(fields, found, ""); err != nil {
		return nil, err
	}
	if (found.Kind != "" && found.Kind != "Config") || (found.APIVersion != "" && found.APIVersion != "v1") {
		return nil, invalid("kind", "is not that of a kubeconfig: it has to be kind Config of apiVersion v1")
	}
	return found, nil
}

// current returns the entries that the current context leads to.
func (f *file) current() (*selection, error) {
	name := f.CurrentContext
	if name == "" {
		return nil, f.noCurrentContext()
	}
	chosen := &selection{contextPath: pathOf("contexts", name, "context")}
	found, err := find(f.Contexts, name, "contexts", "current-context")
	if err != nil {
		return nil, err
	}
	fields, err := split(found.Context, chosen.contextPath)
	if err != nil {
		return nil, err
	}
	if err := decode(fields, &chosen.context, chosen.contextPath); err != nil {
		return nil, err
	}
	if namespace := chosen.context.Namespace; namespace != "" && len(validation.IsDNS1123Label(namespace)) > 0 {
		return nil, invalid(chosen.contextPath.field("namespace"), "is no name of a namespace: use lower case letters, digits and dashes, or leave it out")
	}
	if err := f.follow(chosen); err != nil {
		return nil, err
	}
	return chosen, nil
}

// follow decodes the cluster and the user of the context. What is not allowed in
// either goes first: it stays refused whatever else is mended.
func (f *file) follow(chosen *selection) error {
	context := &chosen.context
	cluster, err := find(f.Clusters, context.Cluster, "clusters", chosen.contextPath.field("cluster"))
	if err != nil {
		return err
	}
	user, err := find(f.Users, context.AuthInfo, "users", chosen.contextPath.field("user"))
	if err != nil {
		return err
	}
	chosen.clusterPath = pathOf("clusters", context.Cluster, "cluster")
	chosen.userPath = pathOf("users", context.AuthInfo, "user")
	clusterFields, err := split(cluster.Cluster, chosen.clusterPath)
	if err != nil {
		return err
	}
	userFields, err := split(user.User, chosen.userPath)
	if err != nil {
		return err
	}
	if err := refuse(clusterFields, refusedInCluster, chosen.clusterPath); err != nil {
		return err
	}
	if err := refuse(userFields, refusedInUser, chosen.userPath); err != nil {
		return err
	}
	if err := decode(clusterFields, &chosen.cluster, chosen.clusterPath); err != nil {
		return err
	}
	return decode(userFields, &chosen.user, chosen.userPath)
}

func (f *file) noCurrentContext() error {
	switch len(f.Contexts) {
	case 0:
		return invalid("contexts", "is empty: add a context with a cluster and a user, and name it in current-context")
	case 1:
		return invalid("current-context", "is not set: set it to %q, the only context of the file", shown(f.Contexts[0].Name))
	}
	return invalid("current-context", "is not set: set it to the context that leads to the provider")
}

// find returns the entry of that name; field is where the name comes from.
func find(entries []entry, name, list, field string) (*entry, error) {
	if name == "" {
		return nil, invalid(field, "is not set: set it to a name in %s", list)
	}
	var found *entry
	for i := range entries {
		switch {
		case entries[i].Name != name:
		case found != nil:
			return nil, invalid(list, "has more than one entry named %q: leave one", shown(name))
		default:
			found = &entries[i]
		}
	}
	if found == nil {
		return nil, invalid(field, "names %q, which is not in %s: add it there, or correct the name", shown(name), list)
	}
	return found, nil
}

// split returns the fields of an object, or none where it is not set.
func split(raw json.RawMessage, at path) (map[string]json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	if len(raw) == 0 {
		return fields, nil
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &fields); err != nil {
		return nil, invalid(string(at), "is no object with fields: check the indentation of what follows")
	}
	delete(fields, "extensions") // of no use here, and of any shape
	return fields, nil
}

// decode puts fields into a struct one at a time, so that a refusal can name the
// field without the words of the decoder. Unknown fields, and those that differ in
// case, are ignored as kubectl does.
func decode(fields map[string]json.RawMessage, into any, at path) error {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		single, err := json.Marshal(map[string]json.RawMessage{name: fields[name]})
		if err == nil {
			err = kjson.UnmarshalCaseSensitivePreserveInts(single, into)
		}
		if err != nil {
			return invalid(at.field(name), "cannot be decoded: data has to be base64 in one piece, and text that looks like a number, a date or a truth value needs quotes")
		}
	}
	return nil
}
