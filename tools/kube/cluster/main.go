// Command cluster is etcd, kube-apiserver, kube-controller-manager and kube-scheduler in one
// binary, for tests: its first argument names the part to run. The part "apiserver" also runs an
// etcd, whose data is in the folder ETCD_DIR and which listens at ETCD_URL.
package main

import (
	"fmt"
	"net/url"
	"os"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	command, err := part()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	os.Exit(cli.Run(command))
}

// part removes the name of the part from the arguments and returns its command.
func part() (*cobra.Command, error) {
	name := ""
	if len(os.Args) > 1 {
		name = os.Args[1]
		os.Args = append(os.Args[:1], os.Args[2:]...)
	}
	switch name {
	case "apiserver":
		if folder := os.Getenv("ETCD_DIR"); folder != "" {
			if err := startEtcd(folder, os.Getenv("ETCD_URL")); err != nil {
				return nil, fmt.Errorf("start etcd: %w", err)
			}
		}
		return apiserver.NewAPIServerCommand(), nil
	case "controller-manager":
		return controllers.NewControllerManagerCommand(), nil
	case "scheduler":
		return scheduler.NewSchedulerCommand(), nil
	}
	return nil, fmt.Errorf("usage: cluster apiserver|controller-manager|scheduler OPTIONS, not %q", name)
}

// startEtcd starts an etcd that does not sync its files: a test can lose them.
func startEtcd(folder, address string) error {
	client, err := url.Parse(address)
	if err != nil {
		return err
	}
	peer := url.URL{Scheme: "http", Host: "127.0.0.1:0"}
	config := embed.NewConfig()
	config.Dir, config.LogLevel, config.UnsafeNoFsync = folder, "error", true
	config.ListenClientUrls, config.AdvertiseClientUrls = []url.URL{*client}, []url.URL{*client}
	config.ListenPeerUrls, config.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	config.InitialCluster = config.Name + "=" + peer.String()
	etcd, err := embed.StartEtcd(config)
	if err != nil {
		return err
	}
	<-etcd.Server.ReadyNotify()
	return nil
}
