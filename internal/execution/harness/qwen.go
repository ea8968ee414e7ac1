package harness

// Qwen Code, tested with 0.24.4.
var qwen = Preset{
	Name: "qwen", API: "openai", NeedsModel: true, Shell: "run_shell_command", Argument: "command",
	// Its own entry point only starts this in a second process, without qwenDrain.
	argv: nodeArgv(
		[]string{"--expose-gc", "--require", "{home}/" + qwenDrainFile},
		"@qwen-code/qwen-code/cli.js", "--acp", "--auth-type", "openai",
	),
	models: []string{"qwen3-coder-plus", "qwen3.5-plus", "deepseek-reasoner"},
	mode:   "yolo",
	state:  []string{".qwen/tmp", ".qwen/projects", ".qwen/todos"},
	skills: ".qwen/skills",
	setup: func(s Setting) Setup {
		generation := settings{
			"maxRetries": 3,
			// It does not know every model. Otherwise it keeps pictures from those.
			"modalities": settings{"image": true},
		}
		if s.Reasoning != "" {
			generation["extra_body"] = settings{"reasoning_effort": s.Reasoning}
		}
		return Setup{
			Env: map[string]string{
				"OPENAI_BASE_URL": s.URL, "OPENAI_API_KEY": gatewayKey, "OPENAI_MODEL": s.Model,
				// Otherwise the first turn does not have the tools of an MCP server that starts slowly.
				"QWEN_CODE_LEGACY_MCP_BLOCKING": "1",
			},
			Files: map[string]string{
				qwenDrainFile: qwenDrain,
				".qwen/settings.json": jsonFile(settings{
					"security":  settings{"auth": settings{"selectedType": "openai"}},
					"telemetry": settings{"enabled": false},
					"privacy":   settings{"usageStatisticsEnabled": false},
					"general": settings{
						"enableAutoUpdate": false, "disableAutoUpdate": true,
						// It would add a line to the messages of commits.
						"gitCoAuthor": settings{"commit": false, "pr": false},
					},
					"model": settings{"name": s.Model, "generationConfig": generation},
					"tools": settings{"todoWrite": settings{"enabled": true}},
					// Otherwise it calls the model after each turn, to extract memories from it.
					"memory": settings{"enableManagedAutoMemory": false, "enableManagedAutoDream": false},
				}),
			},
		}
	},
}

const qwenDrainFile = ".qwen/drain.cjs"

// qwenDrain delays the event "exit" of a child process until its output is read. Qwen Code takes the
// output of a command at this event, which may come before the output of a short command
// (childProcessFallback in shellExecutionService.ts; Gemini CLI had the same bug, its issue 24923).
// A process in the background may keep the output open, so the delay has a limit.
const qwenDrain = `const { ChildProcess } = require('node:child_process');
const emit = ChildProcess.prototype.emit;
const exit = Symbol('exit');
ChildProcess.prototype.emit = function (event, ...args) {
  if (event === 'exit') {
    const timer = setTimeout(() => this[exit](), 500);
    this[exit] = () => {
      clearTimeout(timer);
      this[exit] = () => {};
      emit.call(this, event, ...args);
    };
    return true;
  }
  if (event === 'close') this[exit]?.();
  return emit.call(this, event, ...args);
};
`
