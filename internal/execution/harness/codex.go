package harness

import (
	"fmt"
	"strings"
)

// Codex through its ACP adapter, tested with 2.6.0.
var codex = Preset{
	Name: "codex", API: "openai", Shell: "exec_command", Argument: "cmd",
	argv:   nodeArgv(nil, "@agentclientprotocol/codex-acp/dist/index.js"),
	mode:   "agent-full-access",
	noise:  []string{"Warning: Model metadata for "}, // it does not know every model
	state:  []string{".codex/sessions", ".codex/state_5.sqlite"},
	skills: ".codex/skills",
	setup: func(s Setting) Setup {
		var b strings.Builder
		if s.Model != "" {
			fmt.Fprintf(&b, "model = %q\n", s.Model)
		}
		if s.Reasoning != "" {
			fmt.Fprintf(&b, "model_reasoning_effort = %q\n", s.Reasoning)
		}
		// It runs in our sandbox. Its own sandbox would need user namespaces.
		fmt.Fprintf(&b, `model_provider = "penstock"
sandbox_mode = "danger-full-access"
approval_policy = "never"
check_for_update_on_startup = false
web_search = "disabled"

[model_providers.penstock]
name = "Penstock"
base_url = %q
env_key = "OPENAI_API_KEY"
wire_api = "responses"
supports_websockets = false

[features]
plugins = false
remote_plugin = false
plugin_sharing = false
apps = false
default_mode_request_user_input = true

[analytics]
enabled = false

[feedback]
enabled = false
`, s.URL)
		return Setup{
			Env: map[string]string{
				"CODEX_HOME": s.Home + "/.codex", "OPENAI_API_KEY": gatewayKey, "OPENAI_BASE_URL": s.URL, "NO_BROWSER": "1",
				"INITIAL_AGENT_MODE": "agent-full-access", "MODEL_PROVIDER": "penstock",
			},
			Files: map[string]string{".codex/config.toml": b.String()},
		}
	},
}
