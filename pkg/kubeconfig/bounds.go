package kubeconfig

import (
	"bytes"
	"regexp"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

const (
	// sizeLimit is that of a Secret.
	sizeLimit = 1 << 20

	// separatorLimit bounds the number of YAML nodes, each of which needs one of the
	// separators and costs some hundred bytes. Files of a thousand clusters stay below.
	separatorLimit = 100_000

	// depthLimit is far above what a kubeconfig needs, extensions included.
	depthLimit = 100

	// expansionLimit bounds the size of the text with all its aliases written out.
	expansionLimit = 4 << 20

	// nodeCost stands for the separators and quotes around each node.
	nodeCost = 16
)

// toJSON returns YAML or JSON as JSON, after checks that keep time and memory small
// for text that was made to use up both. It reads only the first document.
func toJSON(data []byte) (converted []byte, err error) {
	// The parsers of YAML have panicked on hostile text before; one Secret must not
	// take down the connections of all others.
	defer func() {
		if recover() != nil {
			converted, err = nil, invalid(wholeFile, "is neither YAML nor JSON")
		}
	}()
	switch {
	case len(data) > sizeLimit:
		return nil, invalid(wholeFile, "is larger than 1 MiB: leave only the context that is used, with kubectl config view --raw --minify --flatten")
	case len(bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\uFEFF")))) == 0:
		return nil, invalid(wholeFile, "is empty: put a kubeconfig with inline credentials there")
	case separators(data) > separatorLimit:
		return nil, invalid(wholeFile, "has too many entries: leave only the context that is used, with kubectl config view --raw --minify --flatten")
	}
	var document yamlv3.Node
	if err := yamlv3.Unmarshal(data, &document); err != nil {
		return nil, invalid(wholeFile, "is neither YAML nor JSON%s: check indentation, quotes and aliases", lineOf(err))
	}
	budget := expansionLimit
	if !fits(&document, &budget, 0) {
		return nil, invalid(wholeFile, "is nested too deeply, or grows too large when its YAML aliases are resolved: write it without anchors and aliases")
	}
	converted, err = yaml.YAMLToJSON(data)
	if err != nil {
		return nil, invalid(wholeFile, "is neither YAML nor JSON%s: check indentation, quotes and aliases", lineOf(err))
	}
	return converted, nil
}

// separators counts the characters without which no further YAML node can begin.
func separators(data []byte) int {
	count := 0
	for _, char := range data {
		switch char {
		case '\n', '\r', ',', ':', '-', '?', '[', '{':
			count++
		}
	}
	return count
}

// fits walks a document with its aliases as if they were written out, until it ends
// or the budget does.
func fits(node *yamlv3.Node, budget *int, depth int) bool {
	*budget -= nodeCost + len(node.Value)
	if *budget < 0 || depth > depthLimit {
		return false
	}
	if node.Alias != nil {
		return fits(node.Alias, budget, depth+1)
	}
	for _, child := range node.Content {
		if !fits(child, budget, depth+1) {
			return false
		}
	}
	return true
}

var lineNumber = regexp.MustCompile(`^yaml: line (\d+):`)

// lineOf returns where a decoder stopped. The rest of its words may quote the text.
func lineOf(err error) string {
	if match := lineNumber.FindStringSubmatch(err.Error()); match != nil {
		return " near line " + match[1]
	}
	return ""
}
