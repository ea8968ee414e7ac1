package egress

import (
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
)

// TestRegistries installs a package with each client from the real registry, through the preset.
// It needs the internet and is run by `make toolchains`: PENSTOCK_TEST_REGISTRIES=1, with
// RUSTUP_HOME if rustup provides cargo.
func TestRegistries(t *testing.T) {
	if os.Getenv("PENSTOCK_TEST_REGISTRIES") == "" {
		t.Skip("PENSTOCK_TEST_REGISTRIES is not set")
	}
	w := newWorld(t, setup{
		rules: []penstock.NetworkRule{{Preset: "packages"}},
		options: func(o *Options) {
			o.Resolve = nil
			for _, r := range presets[0].Rules {
				// A mirror in the network of this machine works here, too.
				addrs, err := lookup(t.Context(), r.Host)
				if err != nil {
					t.Log(err)
				}
				for _, addr := range addrs {
					o.Networks = append(o.Networks, netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen()))
				}
			}
		},
	})
	crate := "export RUSTUP_HOME=" + os.Getenv("RUSTUP_HOME") + ` && mkdir -p c/src && cd c &&
echo 'fn main(){}' > src/main.rs &&
printf '[package]\nname="c"\nversion="0.1.0"\nedition="2021"\n[dependencies]\nitoa="1"\n' > Cargo.toml && cargo fetch`
	apt := `mkdir -p l/partial a/partial
options="-o Dir::State::lists=$PWD/l -o Dir::Cache=$PWD/a -o APT::Sandbox::User=root"
apt-get $options update -qq && apt-get $options download -q hostname`
	for _, client := range []struct{ name, program, host, script string }{
		{
			"npm", "npm", "registry.npmjs.org",
			"npm install --no-audit --no-fund is-number@7.0.0 && ls node_modules/is-number",
		},
		{"pnpm", "npx", "registry.npmjs.org", "npx --yes pnpm@9 add is-number@7.0.0 && ls node_modules/is-number"},
		{"yarn", "npx", "registry.npmjs.org", "npx --yes yarn@1 add is-number@7.0.0 && ls node_modules/is-number"},
		{"pip", "pip", "pypi.org", "python3 -m pip download --no-deps --no-cache-dir six==1.16.0"},
		{
			"uv", "pip", "pypi.org", "python3 -m pip install -q --no-cache-dir --target p uv &&" +
				" PYTHONPATH=p python3 -m uv pip install --no-cache --target u six==1.16.0 && ls u/six.py",
		},
		{
			"go", "go", "proxy.golang.org",
			"GOPATH=$PWD/g GOFLAGS=-modcacherw go mod download -x github.com/google/uuid@v1.6.0",
		},
		{"cargo", "cargo", "index.crates.io", crate},
		{
			"maven", "mvn", "repo.maven.apache.org",
			"mvn -B -q -Dmaven.repo.local=$PWD/m2 dependency:get -Dartifact=junit:junit:4.13.2",
		},
		{"apt-get", "apt-get", "deb.debian.org", apt},
	} {
		t.Run(client.name, func(t *testing.T) {
			if _, err := exec.LookPath(client.program); err != nil {
				t.Skip(client.program + " is missing")
			}
			reach, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(t.Context(), "tcp", client.host+":443")
			if err != nil {
				t.Skipf("this machine does not reach %s: %v", client.host, err)
			}
			_ = reach.Close()
			out, err := w.run(t, t.TempDir(), "sh", "-c", client.script)
			if err != nil {
				t.Errorf("%v: %s", err, out[max(0, len(out)-3000):])
			}
		})
	}
	for _, h := range w.Report() {
		t.Logf("%+v", h)
	}
	if out, _ := os.ReadFile(filepath.Join(w.bundle, bundlePEM)); strings.Contains(string(out), "PRIVATE KEY") {
		t.Error("the bundle has a key")
	}
}
