package egress

import (
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// sshHosts are hosts whose repositories are also served over https, under the same path.
var sshHosts = []string{"github.com", "gitlab.com", "bitbucket.org", "codeberg.org"}

// noSSH replaces ssh for git: SSH cannot leave the sandbox, and the message says what works.
const noSSH = `sh -c 'echo "ssh does not work in this sandbox: use an https remote, ` +
	`and a network rule with a credential for its host" >&2; exit 128' ssh`

// owned are variables that the wall sets or must keep unset.
var owned = []string{
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "FTP_PROXY", "NO_PROXY", "NODE_USE_ENV_PROXY",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH",
	"CARGO_HTTP_CAINFO", "CARGO_HTTP_PROXY", "CARGO_NET_GIT_FETCH_WITH_CLI", "PIP_CERT", "PIP_PROXY", "AWS_CA_BUNDLE",
	"DENO_CERT", "NODE_EXTRA_CA_CERTS", "JAVA_TOOL_OPTIONS", "APT_CONFIG",
	"GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_PROXY_COMMAND", "GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS",
	"YARN_HTTP_PROXY", "YARN_HTTPS_PROXY", "NPM_CONFIG_PROXY", "NPM_CONFIG_HTTPS_PROXY", "NPM_CONFIG_HTTP_PROXY",
	"NPM_CONFIG_NOPROXY", "NPM_CONFIG_CAFILE", "NPM_CONFIG_CA",
}

// Owns reports whether a variable belongs to the wall, so that no configuration may set it. It
// ignores case, because the programs that read these do.
func Owns(name string) bool {
	name = strings.ToUpper(name)
	return slices.Contains(owned, name) ||
		strings.HasPrefix(name, "GIT_CONFIG_KEY_") || strings.HasPrefix(name, "GIT_CONFIG_VALUE_")
}

// Environment returns the variables of the sandbox: they point programs at the proxy and at the
// bundle, which WriteBundle wrote and the sandbox sees in the folder bundle. The variables of
// presets are in it.
func (p *Proxy) Environment(bundle string) map[string]string {
	address := "http://" + p.LocalAddress
	file := filepath.Join(bundle, bundlePEM)
	env := p.Policy.Variables()
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		env[name], env[strings.ToLower(name)] = address, address
	}
	env["NO_PROXY"], env["no_proxy"] = "localhost,127.0.0.1,::1", "localhost,127.0.0.1,::1"
	env["NODE_USE_ENV_PROXY"] = "1"
	// These replace a store of certificates.
	for _, name := range []string{
		"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "CARGO_HTTP_CAINFO", "PIP_CERT",
		"AWS_CA_BUNDLE", "DENO_CERT",
	} {
		env[name] = file
	}
	// This one adds to the store of Node, which has the public roots.
	env["NODE_EXTRA_CA_CERTS"] = filepath.Join(bundle, bundleExtra)
	env["JAVA_TOOL_OPTIONS"] = p.javaOptions(bundle)
	env["APT_CONFIG"] = filepath.Join(bundle, bundleApt)
	// A cafile in the settings of npm would win over NODE_EXTRA_CA_CERTS.
	env["npm_config_cafile"] = file
	// Yarn 2 and later read no other variables, and npm passes these to the programs it starts.
	env["YARN_HTTP_PROXY"], env["YARN_HTTPS_PROXY"] = address, address
	// The git of cargo itself knows none of the settings of git.
	env["CARGO_NET_GIT_FETCH_WITH_CLI"] = "true"
	env["GIT_SSH_COMMAND"], env["GIT_SSH_VARIANT"] = noSSH, "ssh"
	maps.Copy(env, p.gitConfiguration())
	return env
}

func (p *Proxy) javaOptions(bundle string) string {
	host, port, err := net.SplitHostPort(p.LocalAddress)
	if err != nil {
		host, port = p.LocalAddress, "80"
	}
	options := []string{
		"-Dhttp.proxyHost=" + host, "-Dhttp.proxyPort=" + port,
		"-Dhttps.proxyHost=" + host, "-Dhttps.proxyPort=" + port,
		"-Dhttp.nonProxyHosts=localhost|127.*|[::1]",
		"-Djavax.net.ssl.trustStore=" + filepath.Join(bundle, bundleJava),
		"-Djavax.net.ssl.trustStoreType=PKCS12", "-Djavax.net.ssl.trustStorePassword=" + trustPassword,
		// The resolver of Maven 3.9 and later reads the properties above only with these.
		"-Daether.connector.http.useSystemProperties=true", "-Daether.transport.http.useSystemProperties=true",
	}
	return strings.Join(options, " ")
}

// gitConfiguration rewrites ssh remotes to https where that is known to work: at the well-known
// hosts, and at those with a credential.
func (p *Proxy) gitConfiguration() map[string]string {
	hosts := slices.Clone(sshHosts)
	for _, r := range p.Policy.layers {
		if r.Credential != nil && r.inert == "" && r.covers(r.Host, 443, true) && !slices.Contains(hosts, r.Host) {
			hosts = append(hosts, r.Host)
		}
	}
	env := map[string]string{}
	count := 0
	add := func(key, value string) {
		env[fmt.Sprintf("GIT_CONFIG_KEY_%d", count)] = key
		env[fmt.Sprintf("GIT_CONFIG_VALUE_%d", count)] = value
		count++
	}
	for _, host := range hosts {
		key := "url.https://" + authority(host, 443, 443) + "/.insteadOf"
		for _, remote := range []string{"git@" + host + ":", "ssh://git@" + host + "/", "git+ssh://git@" + host + "/"} {
			add(key, remote)
		}
	}
	env["GIT_CONFIG_COUNT"] = strconv.Itoa(count)
	return env
}
