package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
	"github.com/kbind-dev/konnector/e2e/controlplane"
	"github.com/kbind-dev/konnector/generated/clientset/versioned"
)

// Time limits: of one step, and of bulk work.
const (
	stepLimit = time.Minute
	bulkLimit = 10 * time.Minute
)

// cluster is a control plane with an administrator's clients.
type cluster struct {
	*controlplane.ControlPlane
	raw     rest.Interface // bytes in, bytes out
	objects dynamic.Interface
	kube    kubernetes.Interface
	crds    apiextensionsclient.Interface
	core    versioned.Interface
}

func startCluster(ctx context.Context, name string, keep bool) (*cluster, error) {
	plane, err := controlplane.Start(ctx, controlplane.Options{Name: name, Keep: keep})
	if err != nil {
		return nil, err
	}
	config := plane.AdminConfig()
	rawConfig := rest.CopyConfig(config)
	rawConfig.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	raw, err := rest.UnversionedRESTClientFor(rawConfig)
	if err != nil {
		return nil, err
	}
	return &cluster{
		ControlPlane: plane,
		raw:          raw,
		objects:      dynamic.NewForConfigOrDie(config),
		kube:         kubernetes.NewForConfigOrDie(config),
		crds:         apiextensionsclient.NewForConfigOrDie(config),
		core:         versioned.NewForConfigOrDie(config),
	}, nil
}

func (c *cluster) createNamespaces(ctx context.Context, names ...string) error {
	for _, name := range names {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := c.kube.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// installCore applies the konnector's own CRDs, and waits until they are served.
func (c *cluster) installCore(ctx context.Context, repository string) error {
	files, err := filepath.Glob(filepath.Join(repository, "manifests", "crd", "core.*.yaml"))
	if err != nil {
		return err
	}
	for _, file := range files {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := yaml.UnmarshalStrict(content, crd); err != nil {
			return err
		}
		if _, err := c.crds.ApiextensionsV1().CustomResourceDefinitions().Create(ctx, crd, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return until(ctx, stepLimit, 100*time.Millisecond, func(context.Context) (bool, error) {
		list, err := c.kube.Discovery().ServerResourcesForGroupVersion(corev1alpha1.SchemeGroupVersion.String())
		return err == nil && len(list.APIResources) >= 6, nil
	})
}

// offer creates a CRD, and waits until its objects can be listed.
func (c *cluster) offer(ctx context.Context, api api, repository string) error {
	content, err := os.ReadFile(filepath.Join(repository, "e2e", "testdata", "widgets.yaml"))
	if err != nil {
		return err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(content, crd); err != nil {
		return err
	}
	crd.Name, crd.Spec.Group = plural+"."+api.group, api.group
	if _, err := c.crds.ApiextensionsV1().CustomResourceDefinitions().Create(ctx, crd, metav1.CreateOptions{}); err != nil {
		return err
	}
	err = until(ctx, stepLimit, 50*time.Millisecond, func(ctx context.Context) (bool, error) {
		return c.raw.Get().AbsPath(api.path("", "")).Param("limit", "1").Do(ctx).Error() == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%s on the %s: %w", crd.Name, c.Name(), err)
	}
	return nil
}

// until calls a condition again and again until it is true, fails, or the limit is over.
func until(ctx context.Context, limit, pause time.Duration, condition func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not within %s", limit))
	defer cancel()
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for {
		if done, err := condition(ctx); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
}
