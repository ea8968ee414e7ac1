package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/worker"
	"github.com/penstock-dev/penstock/internal/supply/git"
	"github.com/penstock-dev/penstock/internal/wall/egress"
	"github.com/penstock-dev/penstock/internal/wall/image"
	"github.com/penstock-dev/penstock/internal/wall/sandbox"
)

// network returns the network settings for runs.
func (w *working) network() (worker.Network, error) {
	n := worker.Network{Open: w.PrivateNetwork, SystemRoots: os.Getenv("SSL_CERT_FILE")}
	if proxy := cmp.Or(w.UpstreamProxy, proxyVariable(os.Getenv)); proxy != "" {
		upstream, err := url.Parse(proxy)
		if err != nil || upstream.Host == "" || upstream.Scheme != "http" && upstream.Scheme != "https" {
			return n, errors.New("--upstream-proxy must be an http or https URL, such as http://proxy.corp.example:3128")
		}
		n.Upstream = upstream
	}
	if w.CAFile != "" {
		content, err := os.ReadFile(w.CAFile)
		if err != nil {
			return n, fmt.Errorf("--ca-file: %w", err)
		}
		n.CA = content
	}
	return n, nil
}

// proxyVariable returns the http or https proxy of a variable that git and other programs know, or "".
func proxyVariable(get func(string) string) string {
	for _, name := range []string{"https_proxy", "ALL_PROXY", "all_proxy"} {
		value := get(name)
		if value != "" && !strings.Contains(value, "://") {
			value = "http://" + value // as git reads it
		}
		scheme, _, _ := strings.Cut(strings.ToLower(value), "://")
		if scheme == "http" || scheme == "https" {
			return value
		}
	}
	return ""
}

// openOutbound opens the connections that this process makes for runs itself. Without a wall, runs reach
// every network of this machine anyway.
func openOutbound(w *working) (*egress.Outbound, error) {
	n, err := w.network()
	if err != nil {
		return nil, err
	}
	o := egress.OutboundOptions{
		Networks: n.Open, Upstream: n.Upstream, NoProxy: cmp.Or(os.Getenv("NO_PROXY"), os.Getenv("no_proxy")), CA: n.CA,
		Trusted: ownRegistries(w),
	}
	if w.AllowOpenNetwork {
		o.Networks = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}
	}
	return egress.NewOutbound(o)
}

// ownRegistries lists HOST:PORT of the registries that the operator has chosen.
func ownRegistries(w *working) (list []string) {
	for _, m := range w.ImageMirror {
		host, _, _ := strings.Cut(m.host, "/")
		list = append(list, withPorts(host)...)
	}
	if w.DockerImage != "" {
		host := penstock.ImageRegistry(w.DockerImage)
		if host == penstock.DockerHub {
			host = name.DefaultRegistry // what pulls ask for
		}
		list = append(list, withPorts(host)...)
	}
	return list
}

// withPorts returns the addresses at which a registry may be reached.
func withPorts(host string) []string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return []string{host}
	}
	return []string{net.JoinHostPort(host, "443"), net.JoinHostPort(host, "80")}
}

// setImages chooses where the images of runs come from.
func setImages(w *working, o *worker.Options, dir string) error {
	outbound, err := openOutbound(w)
	if err != nil {
		return exitf(exitConfig, "%w", err)
	}
	if !o.OwnImage {
		o.Images = w.images(dir, outbound)
	}
	if w.Sandbox == sandbox.Docker {
		daemon, err := image.NewDaemon(w.DockerHost)
		if err != nil {
			return exitf(exitConfig, "--docker-host: %w", err)
		}
		daemon.Outbound = outbound
		o.Images, o.DefaultImage = daemon, w.DockerImage
	}
	return nil
}

// repositories opens the mirrors of the repositories of environments below dir. It returns nil without
// git.
func (w *working) repositories(ctx context.Context, log *slog.Logger, dir string) (*git.Cache, error) {
	outbound, err := openOutbound(w)
	if err != nil {
		return nil, exitf(exitConfig, "%w", err)
	}
	cache, err := git.Open(
		ctx, git.Options{Dir: filepath.Join(dir, mirrorDir), AllowLocal: w.GitAllowFile, Env: gitEnvironment()},
	)
	if err != nil {
		log.Warn("git is not available: this worker cannot prepare environments with repositories", "error", err)
		return nil, nil //nolint:nilnil // a worker without git executes other runs
	}
	guard := git.Guard{Dial: outbound.Dial, Direct: outbound.Direct}
	if w.AllowOpenNetwork {
		guard.Direct = nil // ssh may use jump hosts and names of its configuration
	}
	return cache.Guarded(guard), nil
}
