package controlplane

import (
	"fmt"
	"slices"
	"strings"
)

// Names of the components, which are also the names of their programs.
const (
	etcdName              = "etcd"
	apiServerName         = "kube-apiserver"
	controllerManagerName = "kube-controller-manager"
)

// baseControllers are those that users of plain objects notice.
var baseControllers = []string{
	"namespace-controller",
	"garbage-collector-controller",
	"serviceaccount-controller",
	"serviceaccount-token-controller",
}

// etcdFlags has etcd serve on a socket in the folder: no port that could be
// taken, and nobody else on this machine can read the Secrets in it.
func etcdFlags(f folder) []string {
	return []string{
		"--name=" + etcdName,
		"--data-dir=" + f.path("etcd"),
		"--unsafe-no-fsync",
		"--log-level=warn",
		"--listen-client-urls=" + f.etcdURL(),
		"--advertise-client-urls=" + f.etcdURL(),
		// No peer will ever call. A unix URL without a host makes etcd take a name of the kernel's choice.
		"--listen-peer-urls=unix:///peer",
		"--initial-advertise-peer-urls=unix:///peer",
		"--initial-cluster=" + etcdName + "=unix:///peer",
	}
}

// apiServerFlags has the API server on port of 127.0.0.1. Flags given in extra
// win over ours.
func apiServerFlags(f folder, port int, extra []string) []string {
	return append([]string{
		"--etcd-servers=" + f.etcdURL(),
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", port),
		"--permit-port-sharing",           // we hold the port, see holdPort
		"--endpoint-reconciler-type=none", // endpoints on loopback are refused
		"--service-cluster-ip-range=10.0.0.0/24",
		"--tls-cert-file=" + f.path("apiserver.crt"),
		"--tls-private-key-file=" + f.path("apiserver.key"),
		"--client-ca-file=" + f.path("ca.crt"),
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + f.serviceAccountKey(),
		"--service-account-signing-key-file=" + f.serviceAccountKey(),
		// Aggregated APIs: who speaks with this certificate may name its user in headers.
		"--requestheader-client-ca-file=" + f.path("front-proxy-ca.crt"),
		"--requestheader-allowed-names=" + frontProxyUser,
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + f.path("front-proxy.crt"),
		"--proxy-client-key-file=" + f.path("front-proxy.key"),
		"--audit-policy-file=" + f.auditPolicy(),
		"--audit-log-path=" + f.auditLog(),
		"--audit-log-mode=blocking",                    // an entry is there when the answer is
		"--audit-log-maxsize=0",                        // never rotated
		"--shutdown-watch-termination-grace-period=1s", // otherwise open watches hold up its end for a minute
		"--cert-dir=" + f.path("run"),
	}, extra...)
}

// controllerManagerFlags runs the base controllers and those in extra.
func controllerManagerFlags(f folder, extra []string) []string {
	controllers := slices.Concat(baseControllers, extra)
	return []string{
		"--kubeconfig=" + f.path("controller.kubeconfig"),
		"--controllers=" + strings.Join(controllers, ","),
		"--use-service-account-credentials",
		"--service-account-private-key-file=" + f.serviceAccountKey(),
		"--root-ca-file=" + f.path("ca.crt"),
		"--leader-elect=false",
		"--secure-port=0",
		"--kube-api-qps=200",
		"--kube-api-burst=400",
		"--cert-dir=" + f.path("run"),
	}
}
