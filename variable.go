package penstock

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// If the operator gives keys to an agent program, a run must not tell the program where to send
// them, whom to trust, or which code to load. These are the variables that could, as
// [path.Match] patterns in capital letters.
var (
	networkVariables = []string{
		"PROXY", "*_PROXY", "*_PROXY_*", "PROXY_*", "PROXYCHAINS_*", "GLOBAL_AGENT_*",
		"SSL_*", "SSLKEYLOGFILE", "TLS_*", "OPENSSL_*", "GNUTLS_*", "NSS_*", "P11_KIT_*", "PKCS11_*",
		"*_CA_BUNDLE", "*_CA_CERT", "*_CA_CERTS", "*_CA_FILE", "*_CA_PATH", "*_CAFILE", "*_CAPATH", "*_CAINFO", "*_CACERT",
		"*_SSL_CERT_FILE", "*_SSL_CERT_DIR", "CURL_*", "GRPC_*", "HTTPX_*", "HTTPLIB2_*", "OTEL_*",
		"HOSTALIASES", "LOCALDOMAIN", "RES_OPTIONS", "RESOLV_*",
	}
	loaderVariables = []string{
		"LD_*", "DYLD_*", "_RLD*", "LIBPATH", "SHLIB_PATH", "NIX_LD*", "GCONV_PATH", "GETCONF_DIR", "GLIBC_*", "MALLOC_*",
		"LOCPATH", "NLSPATH", "GIO_*", "*SAN_OPTIONS",
	}
	shellVariables = []string{
		"PATH", "HOME", "SHELL", "XDG_*", "IFS", "ENV", "BASH*", "SHELLOPTS", "PS4", "PROMPT_COMMAND", "ZDOTDIR", "FPATH",
		"CDPATH",
		"EDITOR", "VISUAL", "PAGER", "MANPAGER", "BROWSER", "LESSOPEN", "LESSCLOSE", "SSH_ASKPASS*", "SUDO_ASKPASS",
		"GIT_SSH*", "GIT_SSL_*", "GIT_PROXY*", "GIT_EXTERNAL_DIFF", "GIT_EXEC_PATH", "GIT_CONFIG*", "GIT_ASKPASS",
		"GIT_TEMPLATE_DIR",
		"GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_PAGER", "GIT_TRACE*", "GIT_ALLOW_PROTOCOL",
		"GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_*OBJECT_DIRECTOR*", "GIT_ATTR_*",
		"*_ASKPASS", "*_EDITOR", "*_PAGER", "*_RSH", "*_SSH", "*_SSH_COMMAND", "*_WRAPPER", "*_PRELOAD",
		"USERPROFILE", "APPDATA", "LOCALAPPDATA", "INPUTRC", "SCREENRC", "WGETRC", "NETRC", "TERMINFO*", "TERMCAP",
	}
	// Programs that agents start run code that these variables name.
	toolVariables = []string{
		"MAKEFILES", "MAKEFLAGS", "MFLAGS", "GNUMAKEFLAGS", "CC", "CXX", "LD", "CGO_*", "CMAKE_*", "*_CONFIG_PATH",
		"*_CONFIG_FILE",
		"LESS*", "GREP_*", "FZF_*", "BAT_*", "HG*", "RSYNC_*", "VIM*", "EXINIT", "MYVIMRC", "NVIM_*", "EMACS*", "TMUX*",
		"DIRENV_*",
		"KUBECONFIG", "DOCKER_*", "ANSIBLE_*", "HELM_*", "TF_CLI_*", "GTK_*", "QT_*", "DBUS_*", "GNUPGHOME", "SSH_AUTH_SOCK",
	}
	addressVariables = []string{
		"*_BASE_URL", "*_BASE_URI", "*_API_BASE", "*_API_URL", "*_API_HOST", "*_API_ENDPOINT", "*_ENDPOINT_URL",
		"AWS_ENDPOINT_URL*",
		"AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "CLOUDSDK_*",
	}
	// A credential for these two is harmless, and so is the choice of a model.
	runtimeVariables = []string{
		"NODE_*", "NPM_*", "NVM_*", "YARN_*", "PNPM_*", "COREPACK_*", "BUN_*", "DENO_*", "TS_NODE_*", "TSX_*", "UV_*", "V8_*",
		"ELECTRON_*",
		"VOLTA_*", "FNM_*", "MISE_*", "ASDF_*", "ESBUILD_*",
		"GODEBUG", "GO*TRACE*", "GORACE", "GOROOT", "GOCOVERDIR", "GOFIPS*", "GOENV", "GOFLAGS", "GOTOOL*",
		"CARGO_*", "RUSTC*", "RUSTFLAGS", "RUSTUP_*",
		"PYTHON*", "PYENV_*", "PIP_*", "PIPX_*", "POETRY_*", "CONDA_*", "VIRTUAL_ENV",
		"PERL*", "RUBY*", "GEM_*", "BUNDLE_*", "BUNDLER_*", "RBENV_*", "PHP*", "LUA_*", "TCLLIBPATH",
		"JAVA_*", "_JAVA_*", "JDK_*", "JRE_*", "JVM_*", "CLASSPATH", "MAVEN_*", "GRADLE_*",
		"DOTNET_*", "CORECLR_*", "COMPLUS_*", "COR_*", "MONO_*", "NUGET_*",
		"ERL_*", "ELIXIR_*", "GUILE_*", "JULIA_*", "R_PROFILE*", "R_ENVIRON*", "R_LIBS*",
	}
	providerVariables = []string{
		"ANTHROPIC_*", "CLAUDE_*", "OPENAI_*", "AZURE_OPENAI_*", "CODEX_*", "GEMINI_*", "GOOGLE_GEMINI_*", "GOOGLE_GENAI_*",
		"GOOGLE_VERTEX_*", "VERTEX_*", "CLOUD_ML_*", "BEDROCK_*", "OPENCODE_*", "QWEN_*", "DASHSCOPE_*", "MISTRAL_*",
		"GROQ_*", "XAI_*",
		"DEEPSEEK_*", "OPENROUTER_*", "OLLAMA_*", "LITELLM_*", "LLM_*", "TOGETHER_*", "FIREWORKS_*", "COHERE_*",
		"PERPLEXITY_*",
		"MOONSHOT_*", "KIMI_*", "ZAI_*", "CEREBRAS_*", "AI_GATEWAY_*", "COPILOT_*", "GITHUB_COPILOT_*", "CURSOR_*", "AMP_*",
		"GOOSE_*",
		"AIDER_*", "CRUSH_*",
	}
)

var (
	// credential matches the name of a variable that holds a key and not a setting.
	credential = LazyRegexp(`(KEY|TOKEN|SECRET|PASSWORD|PASS|PWD|PAT|AUTH|CREDENTIALS?)(_?[0-9]+)?$`)
	model      = LazyRegexp(`_MODEL(_ID)?$`)
	// address matches the words of variables that say where a key of the same owner is sent. They
	// may follow the owner without an underscore, as in PGHOST.
	address = LazyRegexp(
		`.(URL|URI|HOST|HOSTNAME|ENDPOINT|BASE|DOMAIN|SERVER|ADDR|ADDRESS|PORT|GATEWAY|ORIGIN|CONFIG|HEADERS)(_|$)`,
	)
	// ending matches the endings that follow the owner without an underscore.
	ending = LazyRegexp(
		`(.)((BASE|API)?UR[LI]|HOST|HOSTNAME|HOSTADDR|ENDPOINT|SERVER|ADDR|PORT|` +
			`API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASS|PWD)$`,
	)
	// Some owners have more than one name.
	aliases = map[string]string{"GH": "GITHUB", "GL": "GITLAB", "HF": "HUGGINGFACE", "HUGGING": "HUGGINGFACE"}
)

// owner returns the owner of a variable: the beginning of its name.
func owner(name string) string {
	first, _, _ := strings.Cut(name, "_")
	first = ending().ReplaceAllString(first, "$1")
	return cmp.Or(aliases[first], first)
}

// reservedVariable reports whether a run must not set a variable, because it could decide where
// an agent program sends the operator's keys, or which code it runs. own has the names of the
// variables that the operator gives to the program. Names are compared without regard to case,
// as many programs do.
func reservedVariable(name string, own []string) bool {
	name = strings.ToUpper(name)
	is := func(pattern string) bool {
		matches, _ := path.Match(pattern, name)
		return matches
	}
	for _, list := range [][]string{networkVariables, loaderVariables, shellVariables, toolVariables, addressVariables} {
		if slices.ContainsFunc(list, is) {
			return true
		}
	}
	switch {
	case slices.ContainsFunc(runtimeVariables, is):
		return !credential().MatchString(name)
	case slices.ContainsFunc(providerVariables, is):
		return !credential().MatchString(name) && !model().MatchString(name)
	}
	return address().MatchString(name) && slices.ContainsFunc(own, func(key string) bool {
		key = strings.ToUpper(key)
		return credential().MatchString(key) && owner(key) == owner(name)
	})
}

// CheckVariables returns an error for each reserved variable that c gives to an agent program
// with variables of the operator: variables in env, and secrets that become variables. Pointers
// are relative to c. It ignores the environment of MCP servers, because the run chooses these
// programs and they hold no keys.
func (c *Config) CheckVariables(own []string) []FieldError {
	var errs []FieldError
	check := func(pointer, name, detail string) {
		if reservedVariable(name, own) {
			detail += fmt.Sprintf(
				" the harness %s: it holds keys of the server, and such a variable can decide where they are sent or what code "+
					"runs beside them",
				c.Harness.Kind(),
			)
			errs = append(errs, FieldError{pointer, detail})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		check("/env/"+EscapePointer(name), name, "must not be set for")
	}
	variables := c.SecretVariables()
	for _, use := range c.SecretUses() {
		if !strings.HasPrefix(use.Pointer, "/mcp_servers/") && slices.Contains(variables, use.Name) {
			check(use.Pointer, use.Name, fmt.Sprintf("the secret %s must not become a variable of", use.Name))
		}
	}
	return errs
}
