package penstock

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReservedVariables(t *testing.T) {
	t.Parallel()
	own := []string{
		"ACME_API_KEY", "GITHUB_TOKEN", "NO_COLOR", "region", "FOO_API_KEY_1", "BAR_AUTH", "BAZ_PASS", "GITLAB_TOKEN",
		"HUGGING_FACE_HUB_TOKEN", "PGPASSWORD", "MYSQL_PWD", "PAT_PAT",
	}
	for _, name := range []string{
		"HTTPS_PROXY", "https_proxy", "Http_Proxy", "ALL_PROXY", "no_proxy", "npm_config_https_proxy", "NODE_USE_ENV_PROXY",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "ssl_cert_file", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "AWS_CA_BUNDLE",
		"NODE_EXTRA_CA_CERTS",
		"CARGO_HTTP_CAINFO", "GIT_SSL_CAINFO", "NIX_SSL_CERT_FILE", "SSLKEYLOGFILE", "HOSTALIASES", "PIP_CERT", "DENO_CERT",
		"GODEBUG", "GOTRACEBACK", "LD_PRELOAD", "LD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES", "GCONV_PATH", "GLIBC_TUNABLES",
		"NODE_OPTIONS", "NODE_TLS_REJECT_UNAUTHORIZED", "NODE_PATH", "BUN_OPTIONS", "DENO_DIR", "npm_config_registry",
		"UV_INDEX_URL",
		"PYTHONPATH", "PYTHONSTARTUP", "PYTHONHTTPSVERIFY", "PERL5OPT", "PERL5LIB", "RUBYOPT", "RUBYLIB",
		"JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH", "DOTNET_STARTUP_HOOKS", "CORECLR_PROFILER",
		"PHPRC",
		"OPENSSL_CONF", "OPENSSL_MODULES", "BASH_ENV", "ENV", "PATH", "HOME", "SHELL", "ZDOTDIR", "XDG_CONFIG_HOME",
		"GIT_SSH_COMMAND", "GIT_SSH", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_COUNT", "GIT_EXEC_PATH", "GIT_EXTERNAL_DIFF",
		"GIT_ASKPASS",
		"ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_USE_BEDROCK", "OPENAI_BASE_URL",
		"OPENAI_API_BASE", "AZURE_OPENAI_ENDPOINT", "GOOGLE_GEMINI_BASE_URL", "CODEX_HOME", "OPENCODE_CONFIG_CONTENT",
		"MAKEFILES", "GNUMAKEFLAGS", "RIPGREP_CONFIG_PATH", "HGRCPATH", "GIT_DIR", "GIT_COMMON_DIR", "CARGO_HOME",
		"RUSTC_WRAPPER",
		"GOFLAGS", "GOENV", "CC", "CVS_RSH", "SVN_SSH", "RSYNC_RSH", "VIMINIT", "KUBECONFIG", "DOCKER_CONFIG",
		"ESBUILD_BINARY_PATH",
		"GTK_MODULES", "ANSIBLE_CONFIG", "USERPROFILE", "APPDATA",
		"GH_HOST", "ACMEURL", "ACME_URL", "FOO_ENDPOINT", "BAR_URL", "BAZ_SERVER", "GL_HOST", "HF_ENDPOINT", "PGHOST",
		"PGHOSTADDR",
		"MYSQL_HOST", "pat_url",
		"AWS_ENDPOINT_URL_BEDROCK", "SOMEBODY_BASE_URL", "ACME_HOST", "acme_gateway_url", "ACME_API_ENDPOINT",
		"GITHUB_SERVER_URL",
	} {
		if !reservedVariable(name, own) {
			t.Errorf("a run can set %s", name)
		}
	}
	for _, name := range []string{
		"COLOR", "CI", "DEBUG", "TZ", "LANG", "LC_ALL", "TERM", "DATABASE_URL", "JIRA_URL", "GIT_AUTHOR_NAME",
		"GIT_COMMITTER_EMAIL",
		"GITHUB_REPOSITORY", "ACME_API_KEY", "ACME_PROJECT", "REGION_URL", "NO_HOST", "ANTHROPIC_API_KEY", "ANTHROPIC_MODEL",
		"CLAUDE_CODE_OAUTH_TOKEN", "NPM_TOKEN", "NODE_AUTH_TOKEN", "GOPROXY", "GOOGLE_APPLICATION_CREDENTIALS", "AWS_REGION",
		"ENVIRONMENT", "HOMEPAGE", "PATHS", "URL", "HOST", "PORT", "MAKE_TARGET", "ACCURL", "HOSTING_URL", "PGDATABASE",
		"LDAP_BASE",
	} {
		if reservedVariable(name, own) {
			t.Errorf("a run cannot set %s", name)
		}
	}
}

func TestCheckVariables(t *testing.T) {
	t.Parallel()
	c := Config{
		Harness: &Harness{Type: "claude"}, Env: map[string]string{"COLOR": "blue", "https_proxy": "http://x"},
		Secrets:            []string{"TOKEN", "NODE_OPTIONS", "SSL_CERT_FILE"},
		HarnessAuthSecrets: []byte(`{"claude": "LD_PRELOAD"}`),
		MCPServers: map[string]MCPServer{"x": {
			Command: "x", Env: map[string]string{"LD_PRELOAD": "${{ secrets.SSL_CERT_FILE }}", "A": "${{ secrets.GODEBUG }}"},
		}},
	}
	const why = " the harness claude: it holds keys of the server, and such a variable can decide where they are sent " +
		"or what code runs beside them"
	want := []FieldError{
		{"/env/https_proxy", "must not be set for" + why},
		{"/secrets/1", "the secret NODE_OPTIONS must not become a variable of" + why},
		{"/secrets/2", "the secret SSL_CERT_FILE must not become a variable of" + why},
		{"/harness_auth_secrets/claude", "the secret LD_PRELOAD must not become a variable of" + why},
	}
	if diff := cmp.Diff(want, c.CheckVariables([]string{"ANTHROPIC_API_KEY"})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
