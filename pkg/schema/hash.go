package schema

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/json"
)

// essence is what the hash of a CRD covers.
type essence struct {
	Annotations map[string]string                            `json:"annotations,omitempty"`
	Spec        apiextensionsv1.CustomResourceDefinitionSpec `json:"spec"`
}

// Hash returns 128 bits, in hexadecimal, over a CRD's spec and the annotations that
// travel. It is the same for a CRD before it is written and as it is read back, for
// any order of versions, short names and categories, and for any formatting of
// defaults and enums. It returns "" for what is no valid JSON, such as a broken
// default, which no API server accepts.
func Hash(crd *apiextensionsv1.CustomResourceDefinition) string {
	text, err := json.Marshal(essence{Annotations: travelling(crd.Annotations), Spec: crd.Spec})
	if err != nil {
		return ""
	}
	// Through JSON as in an API server: a null and an empty list are no value, and
	// what is changed below is a copy.
	var what essence
	if err := json.Unmarshal(text, &what); err != nil {
		return ""
	}
	what.normalize()
	text, err = canonical(what)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// normalize fills in what an API server fills in, and sorts lists without an order.
func (e *essence) normalize() {
	crd := apiextensionsv1.CustomResourceDefinition{Spec: e.Spec}
	apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(&crd)
	e.Spec = crd.Spec
	slices.Sort(e.Spec.Names.ShortNames)
	slices.Sort(e.Spec.Names.Categories)
	slices.SortFunc(e.Spec.Versions, func(a, b apiextensionsv1.CustomResourceDefinitionVersion) int {
		return cmp.Compare(a.Name, b.Name)
	})
}

// canonical returns JSON in which raw values are formatted like all others: keys
// sorted, no white space, 1.0 as 1.
func canonical(value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		return nil, err
	}
	return json.Marshal(tree)
}
