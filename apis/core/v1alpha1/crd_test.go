package v1alpha1_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
)

const (
	connections     = "connections"
	clusterBindings = "clusterbindings"
	bindings        = "bindings"
)

var plurals = []string{connections, clusterBindings, bindings}

func TestCRDsAreValid(t *testing.T) {
	for _, plural := range plurals {
		for _, err := range apiextensionsvalidation.ValidateCustomResourceDefinition(t.Context(), loadCRD(t, plural)) {
			t.Errorf("%s: %v", plural, err)
		}
	}
}

func TestFaceOfTheCRDs(t *testing.T) {
	tests := []struct {
		plural    string
		scope     apiextensions.ResourceScope
		shortName string
		columns   []string // of kubectl get
		wide      []string // added by -o wide
	}{
		{connections, apiextensions.ClusterScoped, "kconn", []string{"Ready", "Source", "Exported", "Age"}, []string{"Reason", "Message"}},
		{clusterBindings, apiextensions.ClusterScoped, "kcb", []string{"Ready", "Connection", "Instances", "Synced", "Conflicts", "Age"}, []string{"Reason", "Message"}},
		{bindings, apiextensions.NamespaceScoped, "kb", []string{"Ready", "Connection", "Instances", "Synced", "Conflicts", "Age"}, []string{"Reason", "Message"}},
	}
	for _, tt := range tests {
		t.Run(tt.plural, func(t *testing.T) {
			crd := loadCRD(t, tt.plural)
			if crd.Spec.Scope != tt.scope {
				t.Errorf("scope is %s, want %s", crd.Spec.Scope, tt.scope)
			}
			if diff := cmp.Diff([]string{tt.shortName}, crd.Spec.Names.ShortNames); diff != "" {
				t.Errorf("short names (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"kbind"}, crd.Spec.Names.Categories); diff != "" {
				t.Errorf("categories (-want +got):\n%s", diff)
			}
			subresources, err := apiextensions.GetSubresourcesForVersion(crd, "v1alpha1")
			if err != nil || subresources == nil || subresources.Status == nil {
				t.Errorf("the status subresource is missing (error %v)", err)
			}
			columns, wide := columnNames(t, crd)
			if diff := cmp.Diff(tt.columns, columns); diff != "" {
				t.Errorf("columns (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.wide, wide); diff != "" {
				t.Errorf("columns of -o wide alone (-want +got):\n%s", diff)
			}
		})
	}
}

func columnNames(t *testing.T, crd *apiextensions.CustomResourceDefinition) (narrow, wide []string) {
	t.Helper()
	columns, err := apiextensions.GetColumnsForVersion(crd, "v1alpha1")
	if err != nil {
		t.Fatal(err)
	}
	for _, column := range columns {
		if column.Priority == 0 {
			narrow = append(narrow, column.Name)
		} else {
			wide = append(wide, column.Name)
		}
	}
	return narrow, wide
}

// An object that nobody has looked at must not count as done for kstatus, and so
// for Flux and helm --wait. Its counts are shown as 0.
func TestNewObjectsAreNotReady(t *testing.T) {
	for plural, counts := range map[string]string{
		connections:     `exportedAPICount: 0`,
		clusterBindings: `{instances: 0, synced: 0, conflicts: 0}`,
		bindings:        `{instances: 0, synced: 0, conflicts: 0}`,
	} {
		t.Run(plural, func(t *testing.T) {
			created, errs := newAPIServer(t, loadCRD(t, plural)).create(t, parse(t, minimal[plural]))
			if len(errs) > 0 {
				t.Fatal(errs.ToAggregate())
			}
			want := merge(t, parse(t, counts), `
observedGeneration: -1
conditions:
- {type: Ready, status: Unknown, reason: Pending, message: Waiting for the konnector., lastTransitionTime: "1970-01-01T00:00:00Z"}
`)
			if diff := cmp.Diff(want, created["status"]); diff != "" {
				t.Errorf("status of a new object (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDefaultsOfSpec(t *testing.T) {
	bindingDefaults := `{connectionRef: {name: acme}, apis: [{name: widgets.acme.example}], conflictPolicy: Fail}`
	tests := []struct{ name, plural, spec, want string }{
		{
			"a Connection", connections, ``, `
kubeconfigSecretRef: {namespace: kbind, name: acme, key: kubeconfig}
schema: {source: Auto, pullPolicy: Bound, updatePolicy: Always}
autoBind: false`,
		},
		{
			"a Connection with a part of the schema policy", connections, `
kubeconfigSecretRef: {namespace: kbind, name: acme, key: config.yaml}
schema: {source: OpenAPI}`, `
kubeconfigSecretRef: {namespace: kbind, name: acme, key: config.yaml}
schema: {source: OpenAPI, pullPolicy: Bound, updatePolicy: Always}
autoBind: false`,
		},
		{"a ClusterBinding", clusterBindings, ``, bindingDefaults},
		{"a Binding", bindings, ``, bindingDefaults},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sent := parse(t, minimal[tt.plural])
			if tt.spec != "" {
				sent["spec"] = parse(t, tt.spec)
			}
			created, errs := newAPIServer(t, loadCRD(t, tt.plural)).create(t, sent)
			if len(errs) > 0 {
				t.Fatal(errs.ToAggregate())
			}
			if diff := cmp.Diff(parse(t, tt.want), created["spec"]); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
		})
	}
}

// minimal objects have nothing that can be left out.
var minimal = map[string]string{
	connections: `
apiVersion: core.kbind.io/v1alpha1
kind: Connection
metadata: {name: acme}
spec:
  kubeconfigSecretRef: {namespace: kbind, name: acme}
`,
	clusterBindings: `
apiVersion: core.kbind.io/v1alpha1
kind: ClusterBinding
metadata: {name: acme}
spec:
  connectionRef: {name: acme}
  apis: [{name: widgets.acme.example}]
`,
	bindings: `
apiVersion: core.kbind.io/v1alpha1
kind: Binding
metadata: {name: acme, namespace: team-a}
spec:
  connectionRef: {name: acme}
  apis: [{name: widgets.acme.example}]
`,
}

// admission is one object that is created, or refused with a message about refused.
type admission struct {
	name    string
	patch   string // on the minimal object
	refused string
}

var connectionAdmissions = []admission{
	{"a minimal Connection is accepted", `{}`, ""},
	{"every field is accepted", `spec: {schema: {source: CRD, pullPolicy: All, updatePolicy: Once}, autoBind: true, allowedNamespaces: {matchLabels: {tier: gold}}}`, ""},
	{"a Secret is needed", `spec: {kubeconfigSecretRef: null}`, "spec.kubeconfigSecretRef: Required value"},
	{"the Secret needs a namespace", `spec: {kubeconfigSecretRef: {namespace: null}}`, "spec.kubeconfigSecretRef.namespace: Required value"},
	{"the Secret needs a name", `spec: {kubeconfigSecretRef: {name: ""}}`, "spec.kubeconfigSecretRef.name"},
	{"the key cannot be empty", `spec: {kubeconfigSecretRef: {key: ""}}`, "spec.kubeconfigSecretRef.key"},
	{"an unknown source is refused", `spec: {schema: {source: Guess}}`, `spec.schema.source: Unsupported value: "Guess"`},
	{"an unknown pull policy is refused", `spec: {schema: {pullPolicy: Some}}`, `spec.schema.pullPolicy: Unsupported value: "Some"`},
	{"an unknown update policy is refused", `spec: {schema: {updatePolicy: Never}}`, `spec.schema.updatePolicy: Unsupported value: "Never"`},
}

// bindingAdmissions hold for ClusterBinding and Binding, which share their spec.
var bindingAdmissions = []admission{
	{"a minimal binding is accepted", `{}`, ""},
	{"a Connection is needed", `spec: {connectionRef: null}`, "spec.connectionRef: Required value"},
	{"the Connection needs a name", `spec: {connectionRef: {name: ""}}`, "spec.connectionRef.name"},
	{"apis are needed", `spec: {apis: null}`, "spec.apis: Required value"},
	{"at least one API is needed", `spec: {apis: []}`, "spec.apis: Invalid value: 0"},
	{"several APIs are accepted", `spec: {apis: [{name: widgets.acme.example}, {name: databases.acme.example}]}`, ""},
	{"an API listed twice is refused", `spec: {apis: [{name: widgets.acme.example}, {name: widgets.acme.example}]}`, "spec.apis[1]: Duplicate value"},
	{"digits and dashes in an API's name are accepted", `spec: {apis: [{name: my-widgets2.v2.acme-3.example}]}`, ""},
	{"an API's name needs a group", `spec: {apis: [{name: secrets}]}`, "spec.apis[0].name"},
	{"an API's name ends in a group", `spec: {apis: [{name: widgets.}]}`, "spec.apis[0].name"},
	{"an API's name begins with a resource", `spec: {apis: [{name: .acme.example}]}`, "spec.apis[0].name"},
	{"an API's name is in lower case", `spec: {apis: [{name: Widgets.acme.example}]}`, "spec.apis[0].name"},
	{"an API's name has no version or subresource", `spec: {apis: [{name: widgets.acme.example/status}]}`, "spec.apis[0].name"},
	{"a kind is no API's name", `spec: {apis: [{kind: Widget}]}`, "spec.apis[0].name: Required value"},
	{"the other conflict policy is accepted", `spec: {conflictPolicy: Adopt}`, ""},
	{"an unknown conflict policy is refused", `spec: {conflictPolicy: Overwrite}`, `spec.conflictPolicy: Unsupported value: "Overwrite"`},

	{"related Secrets by name are accepted", related(`resource: secrets, direction: FromProvider, selector: {names: [dsn]}`), ""},
	{"related ConfigMaps by label are accepted", related(`group: "", resource: configmaps, direction: FromConsumer, selector: {labelSelector: {matchLabels: {app: db}}}`), ""},
	{"related objects by label expression are accepted", related(`resource: secrets, direction: FromProvider, selector: {labelSelector: {matchExpressions: [{key: app, operator: Exists}]}}`), ""},
	{"related objects by name and label are accepted", related(`resource: secrets, direction: FromProvider, selector: {names: [dsn], labelSelector: {matchLabels: {app: db}}}`), ""},
	{"other resources are refused", related(`resource: pods, direction: FromProvider, selector: {names: [dsn]}`), `spec.relatedResources[0].resource: Unsupported value: "pods"`},
	{"other groups are refused", related(`group: apps, resource: secrets, direction: FromProvider, selector: {names: [dsn]}`), `spec.relatedResources[0].group: Unsupported value: "apps"`},
	{"a direction is needed", related(`resource: secrets, selector: {names: [dsn]}`), "spec.relatedResources[0].direction: Required value"},
	{"an unknown direction is refused", related(`resource: secrets, direction: Both, selector: {names: [dsn]}`), `spec.relatedResources[0].direction: Unsupported value: "Both"`},
	{"R4: no selector is refused", related(`resource: secrets, direction: FromProvider`), "spec.relatedResources[0].selector: Required value"},
	{"R4: an empty selector is refused", related(`resource: secrets, direction: FromProvider, selector: {}`), needsNames},
	{"R4: an empty label selector is refused", related(`resource: secrets, direction: FromProvider, selector: {labelSelector: {}}`), needsNames},
	{"R4: a label selector of empty parts is refused", related(`resource: secrets, direction: FromProvider, selector: {labelSelector: {matchLabels: {}, matchExpressions: []}}`), needsNames},
	{"R4: an empty list of names is refused", related(`resource: secrets, direction: FromProvider, selector: {names: []}`), needsNames},
	{"R4: everything empty is refused", related(`resource: secrets, direction: FromProvider, selector: {names: [], labelSelector: {matchLabels: {}}}`), needsNames},
	{"an empty name is refused", related(`resource: secrets, direction: FromProvider, selector: {names: [""]}`), "spec.relatedResources[0].selector.names[0]"},
	{"a name listed twice is refused", related(`resource: secrets, direction: FromProvider, selector: {names: [dsn, dsn]}`), "spec.relatedResources[0].selector.names[1]: Duplicate value"},
}

const needsNames = "selector needs names or a non-empty labelSelector"

func related(entry string) string {
	return fmt.Sprintf("spec: {relatedResources: [{%s}]}", entry)
}

func TestAdmission(t *testing.T) {
	for plural, admissions := range map[string][]admission{
		connections: connectionAdmissions, clusterBindings: bindingAdmissions, bindings: bindingAdmissions,
	} {
		server := newAPIServer(t, loadCRD(t, plural))
		for _, tt := range admissions {
			t.Run(plural+"/"+tt.name, func(t *testing.T) {
				_, errs := server.create(t, merge(t, parse(t, minimal[plural]), tt.patch))
				check(t, errs, tt.refused)
			})
		}
	}
}

func TestChanges(t *testing.T) {
	const pinned = `status: {remoteClusterUID: 6a1f, localClusterUID: 0b2e, exportedAPICount: 1}`
	tests := []struct {
		name    string
		plural  string
		status  string // before, as the konnector wrote it
		spec    string // a patch of spec, or
		toState string // a patch of status
		refused string
	}{
		{name: "the Secret's name is immutable", plural: connections, spec: `{kubeconfigSecretRef: {name: other}}`, refused: "kubeconfigSecretRef is immutable"},
		{name: "the Secret's namespace is immutable", plural: connections, spec: `{kubeconfigSecretRef: {namespace: other}}`, refused: "kubeconfigSecretRef is immutable"},
		{name: "the Secret's key is immutable", plural: connections, spec: `{kubeconfigSecretRef: {key: other}}`, refused: "kubeconfigSecretRef is immutable"},
		{name: "the default key can be written out", plural: connections, spec: `{kubeconfigSecretRef: {key: kubeconfig}}`},
		{name: "an apply without the key changes nothing", plural: connections, spec: `{kubeconfigSecretRef: {key: null}}`},
		{name: "policies can change", plural: connections, spec: `{schema: {source: OpenAPI, updatePolicy: Once}, autoBind: true}`},
		{name: "a ClusterBinding's Connection is immutable", plural: clusterBindings, spec: `{connectionRef: {name: other}}`, refused: "connectionRef is immutable"},
		{name: "a Binding's Connection is immutable", plural: bindings, spec: `{connectionRef: {name: other}}`, refused: "connectionRef is immutable"},
		{name: "a binding's APIs can change", plural: bindings, spec: `{apis: [{name: databases.acme.example}]}`},
		{name: "the last API cannot be removed", plural: bindings, spec: `{apis: []}`, refused: "spec.apis"},

		{name: "UIDs can be set once", plural: connections, toState: `{remoteClusterUID: 6a1f, localClusterUID: 0b2e}`},
		{name: "C3: the provider's UID cannot change", plural: connections, status: pinned, toState: `{remoteClusterUID: ffff}`, refused: "remoteClusterUID is pinned at the first connect"},
		{name: "C3: the consumer's UID cannot change", plural: connections, status: pinned, toState: `{localClusterUID: ffff}`, refused: "localClusterUID is pinned at the first connect"},
		{name: "C3: the provider's UID cannot be removed", plural: connections, status: pinned, toState: `{remoteClusterUID: null}`, refused: "remoteClusterUID is pinned at the first connect and cannot be removed"},
		{name: "C3: the consumer's UID cannot be removed", plural: connections, status: pinned, toState: `{localClusterUID: null}`, refused: "localClusterUID is pinned at the first connect and cannot be removed"},
		{name: "C3: UIDs cannot be removed with the whole status", plural: connections, status: pinned, toState: `null`, refused: "remoteClusterUID is pinned at the first connect and cannot be removed"},
		{name: "the rest of a pinned status can change", plural: connections, status: pinned, toState: `{exportedAPICount: 2, activeSchemaSource: CRD}`},
		{name: "spec can change when UIDs are pinned", plural: connections, status: pinned, spec: `{autoBind: true}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := newAPIServer(t, loadCRD(t, tt.plural))
			old, errs := server.create(t, parse(t, minimal[tt.plural]))
			check(t, errs, "")
			if tt.status != "" {
				old, errs = server.update(t, old, tt.status, true)
				check(t, errs, "")
			}
			patch := "spec: " + tt.spec
			if tt.toState != "" {
				patch = "status: " + tt.toState
			}
			_, errs = server.update(t, old, patch, tt.toState != "")
			check(t, errs, tt.refused)
		})
	}
}

// A schema that lacks a field of the Go types would drop it in silence.
func TestNothingOfTheGoTypesIsPruned(t *testing.T) {
	selector := &metav1.LabelSelector{
		MatchLabels:      map[string]string{"tier": "gold"},
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "env", Operator: metav1.LabelSelectorOpIn, Values: []string{"prod"}}},
	}
	conditions := []metav1.Condition{{Type: corev1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: corev1alpha1.ReasonReady, Message: "All is well.", ObservedGeneration: 3}}
	spec := corev1alpha1.BindingSpec{
		ConnectionRef:  corev1alpha1.ConnectionReference{Name: "acme"},
		APIs:           []corev1alpha1.APIReference{{Name: "widgets.acme.example"}},
		ConflictPolicy: corev1alpha1.ConflictPolicyAdopt,
		RelatedResources: []corev1alpha1.RelatedResource{{
			Resource: "secrets", Direction: corev1alpha1.DirectionFromProvider,
			Selector: corev1alpha1.RelatedSelector{Names: []string{"dsn"}, LabelSelector: selector},
		}},
	}
	status := corev1alpha1.BindingStatus{
		ObservedGeneration: 3, Instances: 4, Synced: 2, Conflicts: 1, Conditions: conditions,
		BoundAPIs: []corev1alpha1.BoundAPI{{
			Name: "widgets.acme.example", CRDHash: "abc", Version: "v1",
			Instances: 4, Synced: 2, ConflictCount: 1, Denied: 1, Rejected: 1, Conditions: conditions,
		}},
	}
	for plural, typed := range map[string]any{
		connections: &corev1alpha1.Connection{
			ObjectMeta: metav1.ObjectMeta{Name: "acme"},
			Spec: corev1alpha1.ConnectionSpec{
				KubeconfigSecretRef: corev1alpha1.SecretKeyReference{Namespace: "kbind", Name: "acme", Key: "kubeconfig"},
				Schema: corev1alpha1.SchemaPolicy{
					Source: corev1alpha1.SchemaSourceCRD, PullPolicy: corev1alpha1.SchemaPullAll, UpdatePolicy: corev1alpha1.SchemaUpdateOnce,
				},
				AutoBind: true, AllowedNamespaces: selector,
			},
			Status: corev1alpha1.ConnectionStatus{
				ObservedGeneration: 3, RemoteClusterUID: "6a1f", LocalClusterUID: "0b2e",
				ActiveSchemaSource: corev1alpha1.SchemaSourceCRD, ExportedAPICount: 1, Conditions: conditions,
				ExportedAPIs: []corev1alpha1.ExportedAPI{{
					Name: "widgets.acme.example", Group: "acme.example", Resource: "widgets", Kind: "Widget", Scope: "Namespaced", Versions: []string{"v1"},
				}},
			},
		},
		clusterBindings: &corev1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: "acme"}, Spec: spec, Status: status},
		bindings:        &corev1alpha1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "acme", Namespace: "team-a"}, Spec: spec, Status: status},
	} {
		t.Run(plural, func(t *testing.T) {
			content, err := json.Marshal(typed)
			if err != nil {
				t.Fatal(err)
			}
			sent := parse(t, string(content))
			decoded := newAPIServer(t, loadCRD(t, plural)).decode(sent)
			isNull := cmpopts.IgnoreMapEntries(func(_ string, value any) bool { return value == nil })
			if diff := cmp.Diff(sent, decoded, isNull); diff != "" {
				t.Errorf("the schema changes a complete object (-sent +decoded):\n%s", diff)
			}
		})
	}
}

func check(t *testing.T, errs field.ErrorList, refused string) {
	t.Helper()
	switch {
	case refused == "" && len(errs) > 0:
		t.Errorf("refused: %v", errs.ToAggregate())
	case refused != "" && len(errs) == 0:
		t.Errorf("accepted, want it refused with %q", refused)
	case refused != "" && !strings.Contains(errs.ToAggregate().Error(), refused):
		t.Errorf("refused with %v, want %q", errs.ToAggregate(), refused)
	}
}
