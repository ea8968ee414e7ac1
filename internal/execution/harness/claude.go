package harness

// Claude Code through its ACP adapter, tested with 0.101.0.
var claude = Preset{
	Name: "claude", API: "anthropic", Shell: "Bash", Argument: "command",
	argv:   nodeArgv(nil, "@agentclientprotocol/claude-agent-acp/dist/index.js"),
	mode:   "bypassPermissions",
	state:  []string{".claude"},
	skills: ".claude/skills",
	// It numbers the lines of a file that it read.
	numbers: true,
	setup: func(s Setting) Setup {
		env := map[string]string{
			"ANTHROPIC_BASE_URL":                       s.URL,
			"ANTHROPIC_API_KEY":                        gatewayKey,
			"CLAUDE_CONFIG_DIR":                        s.Home + "/.claude",
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
			"CLAUDE_CODE_MAX_RETRIES":                  "4",
			"CLAUDE_CODE_ENABLE_TODO_TOOLS":            "1", // otherwise it has no plans
			"DISABLE_TELEMETRY":                        "1",
			"DISABLE_ERROR_REPORTING":                  "1",
			"DISABLE_AUTOUPDATER":                      "1",
			"IS_SANDBOX":                               "1", // otherwise it rejects bypassPermissions as root
		}
		if s.Reasoning != "" {
			env["CLAUDE_CODE_EFFORT_LEVEL"] = s.Reasoning
		}
		if s.Model != "" {
			for _, name := range []string{
				"ANTHROPIC_MODEL", "ANTHROPIC_CUSTOM_MODEL_OPTION", "ANTHROPIC_DEFAULT_HAIKU_MODEL",
				"CLAUDE_CODE_SUBAGENT_MODEL",
			} {
				env[name] = s.Model // also for its helpers, because the run may use no other model
			}
		}
		return Setup{Env: env}
	},
}
