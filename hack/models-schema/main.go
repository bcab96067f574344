// Command models-schema prints the OpenAPI definitions of our API types as JSON.
// The generator of apply configurations reads them, so that the fake clientset
// merges an Apply as an API server does.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/kbind-dev/konnector/generated/openapi"
)

func main() {
	ref := func(name string) spec.Ref {
		return spec.MustCreateRef("#/definitions/" + name)
	}
	definitions := map[string]spec.Schema{}
	for name, definition := range openapi.GetOpenAPIDefinitions(ref) {
		if schema, isV2 := definition.Schema.Extensions[common.ExtensionV2Schema].(spec.Schema); isV2 {
			definitions[name] = schema
			continue
		}
		definitions[name] = definition.Schema
	}
	document := spec.Swagger{SwaggerProps: spec.SwaggerProps{
		Swagger:     "2.0",
		Definitions: definitions,
		Info:        &spec.Info{InfoProps: spec.InfoProps{Title: "konnector", Version: "v1alpha1"}},
		Paths:       &spec.Paths{},
	}}
	if err := json.NewEncoder(os.Stdout).Encode(document); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
