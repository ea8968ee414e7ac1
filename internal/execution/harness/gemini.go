package harness

// Gemini CLI, tested with 0.61.0.
var gemini = Preset{
	Name: "gemini", API: "gemini", Shell: "run_shell_command", Argument: "command",
	argv: nodeArgv(
		[]string{"--require", "{home}/" + geminiRenameFile}, "@google/gemini-cli/bundle/gemini.js", "--acp",
	),
	mode:   "yolo",
	noise:  []string{"[MODE_UPDATE]"},
	state:  []string{".gemini/tmp", ".gemini/history", ".gemini/projects.json"},
	skills: ".gemini/skills",
	setup: func(s Setting) Setup {
		env := map[string]string{
			"GEMINI_API_KEY": gatewayKey, "GOOGLE_GEMINI_BASE_URL": s.URL, "GEMINI_CLI_TRUST_WORKSPACE": "true",
			"GEMINI_CLI_NO_RELAUNCH": "true",
		}
		if s.Model != "" {
			env["GEMINI_MODEL"] = s.Model
		}
		return Setup{Env: env, Files: map[string]string{
			geminiRenameFile: geminiRename,
			".gemini/settings.json": jsonFile(settings{
				"security":  settings{"auth": settings{"selectedType": "gemini-api-key"}},
				"telemetry": settings{"enabled": false},
				"privacy":   settings{"usageStatisticsEnabled": false},
				"general": settings{
					"enableAutoUpdate": false, "enableAutoUpdateNotification": false,
					// Otherwise the model names its topic in calls of a tool.
					"topicUpdateNarration": false,
					// Its start removes empty records, and with them the session that has the same id.
					"sessionRetention": settings{"enabled": false},
					// It would try 10 times, for minutes, and not at all after a stream that was cut.
					"maxAttempts": 4, "retryFetchErrors": true,
				},
			}),
		}}
	},
}

const geminiRenameFile = ".gemini/rename.cjs"

// geminiRename renames the records of earlier sessions when Gemini CLI starts. To load a session,
// Gemini CLI first begins an empty one with the same id (ChatRecordingService.initialize). The name
// of the record has the minute and the id. If the minute is the same, the empty session replaces
// the messages of the record, and loading finds no session.
const geminiRename = `const { readdirSync, renameSync } = require('node:fs');
const { join } = require('node:path');
const list = (folder) => {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
};
const projects = join(process.env.HOME, '.gemini/tmp');
for (const project of list(projects)) {
  const records = join(projects, project, 'chats');
  for (const name of list(records)) {
    const found = /^session-(\d{4}-\d\d-\d\dT.*)$/.exec(name);
    if (found) renameSync(join(records, name), join(records, 'session-' + Date.now() + '-' + found[1]));
  }
}
`
