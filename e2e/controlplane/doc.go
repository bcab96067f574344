// Package controlplane runs real Kubernetes control planes for tests and the
// demo: etcd, kube-apiserver and kube-controller-manager, as processes of this
// machine, on 127.0.0.1 only, with RBAC on and an audit log that tells who
// called what.
//
// [Start] returns when the API server is ready and the namespace default has
// its ServiceAccount. [ControlPlane.Stop] ends everything and leaves nothing
// behind; on Linux the processes also end when the program that started them
// is killed. Tests use controlplanetest.ForTest, which does both.
//
// # Where the programs come from
//
// From $KUBEBUILDER_ASSETS when that is set (kube-controller-manager from the
// build below when the folder lacks it), otherwise from hack/localcluster,
// which builds them from source once per version. That takes many minutes, more
// than the default time limit of "go test": run hack/localcluster/build.sh
// first.
//
// # What is not there
//
// There are no nodes, and of the controllers only those that users of plain
// objects notice: namespaces are emptied and go away, owned objects are
// collected, ServiceAccounts and their tokens work. In particular the
// ClusterRoles admin, edit and view stay empty, since nothing aggregates into
// them. [Options.Controllers] adds more.
//
// # Existing clusters
//
// With [Options.Kubeconfig] nothing is started or stopped; users are then
// ServiceAccounts, and methods that need the API server to be ours return
// [ErrExisting].
package controlplane
