package egress

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
)

// TestRegistries installs a package with each client from the real registry, through the preset.
// It needs the internet and is run by hand: PENSTOCK_TEST_REGISTRIES=1, with RUSTUP_HOME if
// rustup provides cargo.
func TestRegistries(t *testing.T) {
	if os.Getenv("PENSTOCK_TEST_REGISTRIES") == "" {
		t.Skip("PENSTOCK_TEST_REGISTRIES is not set")
	}
	w := newWorld(t, setup{
		rules: []penstock.NetworkRule{{Preset: "packages"}},
		options: func(o *Options) {
			o.Resolve = nil
			for _, r := range presets[0].Rules {
				// A mirror in the network of this machine is fine here.
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
	for name, script := range map[string]string{
		"npm":   "npm install --no-audit --no-fund is-number@7.0.0 && ls node_modules/is-number",
		"pip":   "python3 -m pip download --no-deps --no-cache-dir six==1.16.0",
		"go":    "GOPATH=$PWD/g GOFLAGS=-modcacherw go mod download -x github.com/google/uuid@v1.6.0",
		"cargo": crate,
		"mvn":   "mvn -B -q -Dmaven.repo.local=$PWD/m2 dependency:get -Dartifact=junit:junit:4.13.2",
		"apt":   apt,
	} {
		t.Run(name, func(t *testing.T) {
			out, err := w.run(t, t.TempDir(), "sh", "-c", script)
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
