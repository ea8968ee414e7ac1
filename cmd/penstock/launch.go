package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/launch"
	"github.com/penstock-dev/penstock/internal/execution/worker"
)

// launching holds the flags of a worker that executes runs in Pods of a cluster.
type launching struct {
	Launch           string        `enum:",kubernetes" default:"" help:"Execute each run in a place of its own instead of on this machine: kubernetes starts one Job for each execution."`
	Launcher         string        `default:"penstock" placeholder:"NAME" help:"Name of the launcher, a label of its Jobs. After a restart, it looks after the Jobs with its name."`
	Namespace        string        `placeholder:"NAME" help:"Namespace of the Jobs. Default: that of the service account, or of the kubeconfig"`
	Kubeconfig       string        `type:"path" placeholder:"FILE" help:"Access to the cluster from outside. In a Pod, the launcher uses its service account."`
	WorkerImage      string        `placeholder:"IMAGE" help:"Image with penstock and bubblewrap, which Pods with other images mount or copy; required with --launch."`
	PodImage         string        `placeholder:"IMAGE" help:"Image of runs that name none. Default: that of --worker-image"`
	PodServer        string        `placeholder:"URL" help:"URL of the server for Pods. Default: that of --server"`
	PodPullPolicy    string        `enum:",Always,IfNotPresent,Never" default:"" help:"When nodes pull images: Always, IfNotPresent or Never. Default: as the cluster does"`
	PodPullSecret    []string      `placeholder:"NAME" help:"Secret with the credentials for the images of Pods; repeatable."`
	PodSecret        []string      `placeholder:"NAME" help:"Secret whose keys become variables of the worker in each Pod, such as the keys of model providers; repeatable."`
	PodCPUs          string        `name:"pod-cpus" default:"1" placeholder:"N" help:"CPUs of a Pod whose runner has no size, as Kubernetes writes them, such as 500m."`
	PodMemory        string        `default:"2Gi" placeholder:"SIZE" help:"Memory of a Pod whose runner has no size, as Kubernetes writes it."`
	PodDisk          string        `default:"10Gi" placeholder:"SIZE" help:"Size of a Pod's workspace, as Kubernetes writes it."`
	PodRuntimeClass  string        `placeholder:"NAME" help:"Runtime class of Pods, such as one of gVisor."`
	PodPriorityClass string        `placeholder:"NAME" help:"Priority class of Pods."`
	PodNodeSelector  []string      `placeholder:"LABEL=VALUE" help:"Label of the nodes on which Pods run; repeatable."`
	PodToleration    []string      `placeholder:"TAINT" help:"Taint of nodes on which Pods may run all the same, as kubectl taint writes it: KEY=VALUE:EFFECT, KEY:EFFECT or KEY; repeatable."`
	PodMountProgram  bool          `help:"Mount --worker-image into sealed Pods with other images instead of copying penstock from it. They start a second or two sooner. Needs Kubernetes 1.35, and nodes that can mount images into Pods with user namespaces."`
	PodStartTimeout  time.Duration `default:"10m" help:"Longest time until the worker in a Pod has started."`
	AllowUnsealed    bool          `help:"Run agents in Pods without bubblewrap, for clusters that refuse user namespaces in Pods. The Pod is then the only sandbox: the agent reaches the network of the Pod and the worker's key."`
}

// Validate is called by kong.
func (l *launching) Validate() error {
	if l.Launch != "" && l.WorkerImage == "" {
		return errors.New("--launch kubernetes needs --worker-image")
	}
	_, err := l.nodeSelector()
	_, failed := l.tolerations()
	return errors.Join(err, failed)
}

func (l *launching) nodeSelector() (map[string]string, error) {
	labels := map[string]string{}
	for _, given := range l.PodNodeSelector {
		label, value, ok := strings.Cut(given, "=")
		if !ok || label == "" {
			return nil, fmt.Errorf("--pod-node-selector: %q is not LABEL=VALUE", given)
		}
		labels[label] = value
	}
	return labels, nil
}

// tolerations reads taints in the form of kubectl.
func (l *launching) tolerations() (list []launch.Toleration, err error) {
	for _, given := range l.PodToleration {
		taint, effect, hasEffect := strings.Cut(given, ":")
		key, value, hasValue := strings.Cut(taint, "=")
		effects := []string{"NoSchedule", "PreferNoSchedule", "NoExecute"}
		if key == "" || hasEffect && !slices.Contains(effects, effect) {
			return nil, fmt.Errorf("--pod-toleration: %q is not KEY=VALUE:EFFECT, KEY:EFFECT or KEY; the effect is one of %s",
				given, strings.Join(effects, ", "))
		}
		t := launch.Toleration{Key: key, Operator: "Exists", Effect: effect}
		if hasValue {
			t.Operator, t.Value = "Equal", value
		}
		list = append(list, t)
	}
	return list, nil
}

// access finds the cluster and the namespace.
func (l *launching) access() (*rest.Config, string, error) {
	if l.Kubeconfig == "" {
		if config, err := rest.InClusterConfig(); err == nil {
			if l.Namespace != "" {
				return config, l.Namespace, nil
			}
			own, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
			return config, strings.TrimSpace(string(own)), err
		}
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = l.Kubeconfig
	kubeconfig := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{})
	config, err := kubeconfig.ClientConfig()
	if err != nil {
		return nil, "", exitf(exitConfig, "find the cluster: %w", err)
	}
	if l.Namespace != "" {
		return config, l.Namespace, nil
	}
	namespace, _, err := kubeconfig.Namespace()
	return config, namespace, err
}

// launch executes runs in Pods until ctx ends.
func (cmd *workerCmd) launch(
	ctx context.Context, log *slog.Logger, c *client, control penstock.Control, settings *fileSettings,
) error {
	config, namespace, err := cmd.access()
	if err != nil {
		return err
	}
	server := cmd.PodServer
	if server == "" {
		server = c.base.String()
	}
	kind := cmd.Sandbox
	if cmd.AllowUnsealed {
		kind = "pod"
	}
	p := allProviders(settings)
	var harnesses []string
	for name := range cmd.programs(p, nil, settings) {
		harnesses = append(harnesses, name)
	}
	slices.Sort(harnesses)
	selector, err := cmd.nodeSelector()
	if err != nil {
		return err
	}
	tolerations, err := cmd.tolerations()
	if err != nil {
		return err
	}
	l, err := launch.New(launch.Options{
		Cluster: config, Control: control, Log: log, Name: cmd.Launcher, Namespace: namespace, Server: server, Key: c.key,
		WorkerImage: cmd.WorkerImage, Image: cmd.PodImage, PullPolicy: cmd.PodPullPolicy, PullSecrets: cmd.PodPullSecret,
		Secrets: cmd.PodSecret, WorkerArgs: cmd.podArgs(), CPUs: cmd.PodCPUs, Memory: cmd.PodMemory, Disk: cmd.PodDisk,
		NodeSelector: selector, Tolerations: tolerations, RuntimeClass: cmd.PodRuntimeClass,
		PriorityClass: cmd.PodPriorityClass, MountProgram: cmd.PodMountProgram, Unsealed: cmd.AllowUnsealed,
		StartTimeout: cmd.PodStartTimeout,
		Claim: penstock.ClaimRequest{
			WorkerID: "launcher-" + namespace + "-" + cmd.Launcher, Host: cmd.Host, Version: buildVersion(), Models: p.served(),
			Harnesses: harnesses, Sandbox: kind, Capacity: cmd.Concurrency, Platform: worker.Platform("linux", runtime.GOARCH),
		},
	})
	if err != nil {
		return err
	}
	log.Info(
		"launcher started", "server", c.base.String(), "host", cmd.Host, "concurrency", cmd.Concurrency, "cluster",
		config.Host, "namespace", namespace, "launcher", cmd.Launcher,
	)
	err = l.Run(ctx)
	if errors.Is(err, launch.ErrUnsealed) {
		return exitf(exitConfig, "%w", err)
	}
	return orderly(err)
}

// podArgs are the flags of this command that also hold for the worker in each Pod.
func (cmd *workerCmd) podArgs() (args []string) {
	for _, network := range cmd.TrustedProxies {
		args = append(args, "--trusted-proxies", network.String())
	}
	for _, network := range cmd.PrivateNetwork {
		args = append(args, "--private-network", network.String())
	}
	if cmd.DemoDirectives {
		args = append(args, "--demo-directives")
	}
	return append(args, "--limit-disk", fmt.Sprint(cmd.LimitDisk), "--limit-memory", "0")
}
