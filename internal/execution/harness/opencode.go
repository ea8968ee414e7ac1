package harness

import "runtime"

// OpenCode, tested with 1.18.18. It reads its whole configuration from one variable.
var opencode = Preset{
	Name: "opencode", API: "openai", NeedsModel: true, Shell: "bash", Argument: "command",
	argv: []string{"{agent}/node_modules/" + map[string]string{
		"amd64": "opencode-linux-x64-baseline", "arm64": "opencode-linux-arm64",
	}[runtime.GOARCH] + "/bin/opencode", "acp"},
	models: []string{"gpt-6.1-sol", "qwen3-coder-plus", "glm-4.7"},
	state:  []string{".local/share/opencode"},
	setup: func(s Setting) Setup {
		// It would download its plug-in library into each folder of settings. These files mark the
		// library as installed in HOME.
		plugin := settings{"dependencies": settings{"@opencode-ai/plugin": "*"}}
		model := settings{
			"name": s.Model, "attachment": true,
			// Otherwise it keeps pictures from the model.
			"modalities": settings{"input": []string{"text", "image"}, "output": []string{"text"}},
		}
		if s.Reasoning != "" {
			model["options"] = settings{"reasoningEffort": s.Reasoning}
		}
		config := settings{
			"$schema":    "https://opencode.ai/config.json",
			"autoupdate": false,
			"share":      "disabled",
			"permission": settings{
				"*": "allow", "external_directory": "allow", "doom_loop": "allow",
				// They need ripgrep, which it would download. The model searches with commands, and reads
				// skills as files.
				"grep": "deny", "glob": "deny", "skill": "deny",
			},
			"model": "penstock/" + s.Model,
			// OpenCode uses it only for titles of sessions, which users do not see.
			"small_model":       "penstock/" + s.Model,
			"agent":             settings{"title": settings{"disable": true}},
			"enabled_providers": []string{"penstock"},
			"provider": settings{"penstock": settings{
				"npm": "@ai-sdk/openai-compatible", "name": "Penstock",
				"options": settings{"baseURL": s.URL, "apiKey": gatewayKey},
				"models":  settings{s.Model: model},
			}},
		}
		files := map[string]string{
			".config/opencode/package.json":       jsonFile(plugin),
			".config/opencode/package-lock.json":  jsonFile(settings{"packages": settings{"": plugin}}),
			".config/opencode/node_modules/.keep": "",
		}
		return Setup{Files: files, Env: map[string]string{
			"OPENCODE_CONFIG_CONTENT":          jsonFile(config),
			"OPENCODE_DISABLE_AUTOUPDATE":      "1",
			"OPENCODE_DISABLE_MODELS_FETCH":    "1",
			"OPENCODE_DISABLE_LSP_DOWNLOAD":    "1",
			"OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
			"OPENCODE_PURE":                    "1",
			"OPENCODE_DISABLE_SHARE":           "1",
		}}
	},
}
