// Command verify-yaml tells whether files hold Kubernetes objects in YAML: each
// document parses, has no key twice, and says its apiVersion and kind.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

func main() {
	failed := false
	for _, file := range os.Args[1:] {
		if err := verify(file); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", file, err)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

func verify(file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for number := 1; ; number++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := isObject(document); err != nil {
			return fmt.Errorf("document %d: %w", number, err)
		}
	}
}

func isObject(document []byte) error {
	var fields map[string]any
	if err := yaml.UnmarshalStrict(document, &fields); err != nil {
		return err
	}
	if len(fields) == 0 { // a comment alone
		return nil
	}
	var object metav1.TypeMeta
	if err := yaml.Unmarshal(document, &object); err != nil {
		return err
	}
	if object.APIVersion == "" || object.Kind == "" {
		return errors.New("apiVersion or kind is missing")
	}
	return nil
}
