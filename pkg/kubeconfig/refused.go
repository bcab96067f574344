package kubeconfig

import (
	"encoding/json"
	"slices"
)

// refusedField is a field that would read a file or run a program.
type refusedField struct {
	name    string
	message string
}

const (
	pathMessage   = "is a path to a file, which is never read: put the content inline, for example with kubectl config view --raw --flatten"
	pluginMessage = "would run a plugin, which is never done: use a token or a client certificate, for example the token of a ServiceAccount on the provider"
)

var (
	refusedInCluster = []refusedField{
		{"certificate-authority", pathMessage},
	}
	refusedInUser = []refusedField{
		{"exec", pluginMessage},
		{"auth-provider", pluginMessage},
		{"tokenFile", "is a path to a file, which is never read: put the token itself into token"},
		{"client-certificate", pathMessage},
		{"client-key", pathMessage},
	}
)

// emptyValues are what kubectl takes for a field that is not set.
var emptyValues = []string{"null", `""`}

// refuse returns a refusal for the first of the fields that is set, whatever its
// shape. It is set also where inline data stands beside it: then the writer may rely
// on the wrong one of the two.
func refuse(fields map[string]json.RawMessage, refused []refusedField, at path) error {
	for _, field := range refused {
		value, ok := fields[field.name]
		if ok && !slices.Contains(emptyValues, string(value)) {
			return notAllowed(at.field(field.name), "%s", field.message)
		}
	}
	return nil
}
