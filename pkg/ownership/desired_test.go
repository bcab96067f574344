package ownership_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kbind-dev/konnector/pkg/instance"
	"github.com/kbind-dev/konnector/pkg/internal/fakeserver"
	"github.com/kbind-dev/konnector/pkg/internal/gen"
	"github.com/kbind-dev/konnector/pkg/ownership"
)

var us = ownership.Owner{Cluster: cluster, Binding: binding}

func render(t *testing.T, object *instance.Object, owner ownership.Owner) ownership.Desired {
	t.Helper()
	exclusions, err := ownership.NewExclusions()
	if err != nil {
		t.Fatal(err)
	}
	return ownership.Render(object, owner, exclusions)
}

// The hash of what is applied is on every copy of every provider: a konnector that
// computes another one for the same object applies everything again.
func TestHashStaysTheSameFromReleaseToRelease(t *testing.T) {
	const golden = "c841f790e031981d6a914b739dc805ad"
	desired := render(t, gen.Widget("a", gen.Label("env", "dev"), gen.Annotation("example.org/<b>", "a & b")), us)
	if desired.Hash != golden {
		t.Errorf("hash is %s, and was %s in earlier releases", desired.Hash, golden)
	}
}

func TestHashCoversWhatTravelsAndNothingElse(t *testing.T) {
	base := gen.Widget("a", gen.Label("env", "dev"), gen.Annotation("note", "x"))
	hash := render(t, base, us).Hash
	for name, option := range map[string]gen.Option{
		"payload":                gen.Payload(`{"spec":{"color":"red","size":2}}`),
		"value of a label":       gen.Label("env", "prod"),
		"new label":              gen.Label("tier", "x"),
		"removed label":          gen.Unlabel("env"),
		"value of an annotation": gen.Annotation("note", "y"),
		"label as annotation":    func(o *instance.Object) { o.Labels, o.Annotations = o.Annotations, o.Labels },
		"UID":                    gen.UID("another"),
	} {
		if render(t, gen.With(base, option), us).Hash == hash {
			t.Errorf("%s does not change the hash", name)
		}
	}
	for name, owner := range map[string]ownership.Owner{
		"cluster": {Cluster: "other", Binding: binding},
		"binding": {Cluster: cluster, Binding: "other"},
		"adopted": {Cluster: cluster, Binding: binding, Adopted: true},
	} {
		if render(t, base, owner).Hash == hash {
			t.Errorf("%s does not change the hash", name)
		}
	}
	for name, option := range map[string]gen.Option{
		"status":            gen.Status(`{"phase":"A"}`),
		"resourceVersion":   gen.Version("99"),
		"generation":        gen.Generation(9),
		"finalizer":         gen.Finalizer(),
		"deletion":          gen.Deleting(),
		"our annotation":    gen.Annotation("core.kbind.io/conflict", "x"),
		"tool's label":      gen.Label("app.kubernetes.io/instance", "shop"),
		"tool's annotation": gen.Annotation("argocd.argoproj.io/tracking-id", "x"),
	} {
		if render(t, gen.With(base, option), us).Hash != hash {
			t.Errorf("%s changes the hash", name)
		}
	}
}

func TestRenderLeavesTheObjectAsItIs(t *testing.T) {
	object := gen.Widget("a", gen.Label("env", "dev"), gen.Annotation("note", "x"))
	render(t, object, us)
	if len(object.Labels) != 1 || len(object.Annotations) != 1 {
		t.Errorf("labels are %v and annotations %v", object.Labels, object.Annotations)
	}
}

func TestBody(t *testing.T) {
	const (
		labels      = `"labels":{"core.kbind.io/consumer":"cluster","core.kbind.io/managed":"true","env":"dev"}`
		annotations = `"annotations":{"core.kbind.io/applied-hash":"HASH","core.kbind.io/binding-uid":"binding","core.kbind.io/consumer-cluster-uid":"cluster","core.kbind.io/consumer-object-uid":"uid-a","note":"x"}`
		head        = `{"apiVersion":"demo.example.org/v1","kind":"Widget","metadata":{"name":"a",`
	)
	for _, row := range []struct {
		name      string
		namespace string
		payload   string
		expect    ownership.Precondition
		want      string
	}{
		{"a free name", "team-a", `{"spec":{"size":1}}`, ownership.NoObject, head + `"namespace":"team-a","resourceVersion":"1",` + labels + `,` + annotations + `},"spec":{"size":1}}`},
		{"the copy that was seen", "team-a", `{"spec":{"size":1}}`, ownership.Precondition{UID: "u"}, head + `"namespace":"team-a","uid":"u",` + labels + `,` + annotations + `},"spec":{"size":1}}`},
		{"exactly what was seen", "team-a", `{"data":{}}`, ownership.Precondition{UID: "u", ResourceVersion: "7"}, head + `"namespace":"team-a","uid":"u","resourceVersion":"7",` + labels + `,` + annotations + `},"data":{}}`},
		{"cluster-scoped", "", `{"spec":{"size":1}}`, ownership.Precondition{}, head + labels + `,` + annotations + `},"spec":{"size":1}}`},
		{"nothing but metadata", "", `{}`, ownership.Precondition{}, head + labels + `,` + annotations + `}}`},
		{"no payload at all", "", ``, ownership.Precondition{}, head + labels + `,` + annotations + `}}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			object := gen.Widget("a", gen.Finalizer(), gen.Label("env", "dev"), gen.Annotation("note", "x"), gen.Status(`{"phase":"A"}`), gen.Payload(row.payload))
			desired := render(t, object, us)
			desired.Annotations["core.kbind.io/applied-hash"] = "HASH"
			got, err := desired.Body(fakeserver.Kind, types.NamespacedName{Namespace: row.namespace, Name: "a"}, row.expect)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
		})
	}
}
