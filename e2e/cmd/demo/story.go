package main

import "k8s.io/apimachinery/pkg/runtime/schema"

const title = "The konnector: use the APIs of one cluster in another one"

const introduction = `A provider has an API and the operator behind it; a consumer wants to use that API in a cluster
of its own. Both clusters run on this machine while the demo lasts. Every command is run as it is
printed. Times are from a change on one cluster to its arrival, as seen by watching both.`

// The objects of the story.
var (
	crd = object{
		resource: schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
		name:     "widgets.demo.example.org",
	}
	connection = object{
		resource: schema.GroupVersionResource{Group: "core.kbind.io", Version: "v1alpha1", Resource: "connections"},
		name:     "acme",
	}
	binding = object{
		resource: schema.GroupVersionResource{Group: "core.kbind.io", Version: "v1alpha1", Resource: "clusterbindings"},
		name:     "acme",
	}
	widget = object{
		resource:  schema.GroupVersionResource{Group: "demo.example.org", Version: "v1", Resource: "widgets"},
		namespace: "default", name: "hello",
	}
)

// Commands that show something more than once.
const (
	onConsumer = "kubectl --context consumer get widgets"
	onProvider = "kubectl --context provider get widgets"
	allManaged = "kubectl --context provider get widgets,leases,namespaces -A -l core.kbind.io/managed"
)

// story is what both runs of the demo show, that which ends and that which stays.
var story = []step{
	{
		title: "Two clusters",
		text:  "Real API servers, each with its own data and controllers, but without nodes.",
		do:    []action{code(setUp)},
	},
	{
		title: "The provider offers an API",
		text:  "A CRD like any other. A label makes it an offer.",
		do: []action{
			command("kubectl --context provider apply -f manifests/samples/widgets-crd.yaml"),
			look{
				run:   "kubectl --context provider get crds -l core.kbind.io/exported=true",
				shows: "widgets.demo.example.org ",
			},
		},
	},
	{
		title: "The provider issues a kubeconfig for the consumer",
		text: "An account with the few rights that are needed, and a token for it. Token and address go into a " +
			"copy of " + bundleSample + ". Nothing is installed on the provider.",
		do: []action{
			command("kubectl --context provider apply -f manifests/samples/provider-role.yaml"),
			command("kubectl --context provider -n kbind create token consumer-blue --duration=24h >$DEMO/token"),
			code(fillBundle),
		},
	},
	{
		title: "The consumer starts the konnector",
		text: "Three CRDs and one program. In a real cluster it runs as a Deployment, here it is a process of " +
			"its own. It waits for a Connection.",
		do: []action{
			command("kubectl --context consumer apply -f manifests/crd"),
			command("kubectl --context consumer wait crds --all --for=condition=Established"),
			command("kubectl --context consumer create namespace kbind"),
			code(startAgent),
		},
	},
	{
		title: "One apply connects the clusters",
		text: "The bundle holds the Secret with the kubeconfig, a Connection that refers to it, and a " +
			"ClusterBinding that lists the APIs to use. Below is what follows the Secret.",
		do: []action{
			command("sed '1,/^---/d' $DEMO/bundle.yaml"),
			change{
				run:     "kubectl --context consumer apply -f $DEMO/bundle.yaml",
				cause:   sighting{consumer, connection, exists},
				effects: []sighting{{consumer, connection, ready}, {consumer, binding, ready}},
				result:  "connected, and the API is served on the consumer",
			},
			look{run: "kubectl --context consumer get kbind", shows: "clusterbinding.core.kbind.io/acme True acme "},
			look{run: "kubectl --context consumer api-resources --api-group=demo.example.org", shows: "widgets wd demo.example.org/v1 true Widget"},
		},
	},
	{
		title: "A Widget is made on the consumer",
		text:  "Its spec goes up: the provider has a copy, in the same namespace and under the same name.",
		do: []action{
			change{
				run:     "kubectl --context consumer apply -f manifests/samples/widget.yaml",
				cause:   sighting{consumer, widget, exists},
				effects: []sighting{{provider, widget, has(int64(3), "spec", "size")}},
				result:  "on the provider",
			},
			look{run: onProvider, shows: "hello 3 red "},
		},
	},
	{
		title: "The provider's operator writes a status",
		text:  "Here kubectl plays the operator. The status comes down to the consumer.",
		do: []action{
			change{
				run: "kubectl --context provider patch widget hello --subresource=status --type=merge \\\n" +
					`    -p '{"status":{"phase":"Running"}}'`,
				cause:   sighting{provider, widget, has("Running", "status", "phase")},
				effects: []sighting{{consumer, widget, has("Running", "status", "phase")}},
				result:  "on the consumer",
			},
			look{run: onConsumer, shows: "hello 3 red Running "},
		},
	},
	{
		title: "The Widget is changed on the consumer",
		do: []action{
			change{
				run:     `kubectl --context consumer patch widget hello --type=merge -p '{"spec":{"size":5}}'`,
				cause:   sighting{consumer, widget, has(int64(5), "spec", "size")},
				effects: []sighting{{provider, widget, has(int64(5), "spec", "size")}},
				result:  "on the provider",
			},
			look{run: onProvider, shows: "hello 5 red Running "},
		},
	},
	{
		title: "A field is removed on the consumer",
		text:  "It is removed on the provider as well; the status stays.",
		do: []action{
			change{
				run:     `kubectl --context consumer patch widget hello --type=merge -p '{"spec":{"color":null}}'`,
				cause:   sighting{consumer, widget, has(nil, "spec", "color")},
				effects: []sighting{{provider, widget, has(nil, "spec", "color")}},
				result:  "on the provider",
			},
			look{run: onProvider, shows: "hello 5 Running "},
		},
	},
	{
		title: "Somebody changes the copy on the provider",
		text:  "What the consumer has asked for is put back.",
		do: []action{
			change{
				run:     `kubectl --context provider patch widget hello --type=merge -p '{"spec":{"size":99}}'`,
				cause:   sighting{provider, widget, has(int64(99), "spec", "size")},
				effects: []sighting{{provider, widget, has(int64(5), "spec", "size")}},
				result:  "put back",
			},
			look{run: onProvider, shows: "hello 5 Running "},
		},
	},
}

// ending is how everything is taken back.
var ending = []step{
	{
		title: "The Widget is deleted on the consumer",
		text:  "It goes on the provider first, and on the consumer when that is done.",
		do: []action{
			change{
				run:     "kubectl --context consumer delete widget hello",
				cause:   sighting{consumer, widget, going},
				effects: []sighting{{provider, widget, gone}, {consumer, widget, gone}},
				result:  "gone on both",
			},
			look{run: onProvider, shows: "No resources found"},
			look{run: onConsumer, shows: "No resources found"},
		},
	},
	{
		title: "One delete separates the clusters",
		text: "What was applied is deleted again, while there is a Widget. Its copy goes from the provider, " +
			"so does all else that the konnector wrote there (it carries a label), and the API goes from the " +
			"consumer.",
		do: []action{
			change{
				run:     "kubectl --context consumer apply -f manifests/samples/widget.yaml",
				cause:   sighting{consumer, widget, exists},
				effects: []sighting{{provider, widget, exists}},
				result:  "on the provider",
			},
			look{run: allManaged + " -o name", shows: "widget.demo.example.org/hello"},
			change{
				run:   "kubectl --context consumer delete -f $DEMO/bundle.yaml",
				cause: sighting{consumer, binding, going},
				effects: []sighting{
					{provider, widget, gone}, {consumer, crd, gone}, {consumer, binding, gone}, {consumer, connection, gone},
				},
				result: "separated",
			},
			look{run: allManaged, shows: "No resources found"},
			look{run: "kubectl --context consumer get crds -o name", shows: crdName("connections.core.kbind.io"), hides: crdName("widgets")},
		},
	},
}

func crdName(name string) string { return "customresourcedefinition.apiextensions.k8s.io/" + name }
