package harness

import (
	"cmp"
	"encoding/json"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
)

// Preset is an installable agent that Penstock can run.
type Preset struct {
	Name string
	// API is the agent's API for models.
	API string
	// NeedsModel means that a run must name a model, because the agent has no default.
	NeedsModel bool
	// Shell is the model's tool for commands, and Argument the name of its parameter for the
	// command.
	Shell, Argument string

	// models is what Models lists; empty means the models of the catalog for API.
	models []string
	argv   []string
	mode   string
	state  []string
	// skills is Program.Skills.
	skills string
	noise  []string
	// numbers is Program.Numbers.
	numbers bool
	setup   func(Setting) Setup
}

var presets = []Preset{claude, codex, gemini, opencode, qwen}

// Presets lists the agents that can be installed.
func Presets() []Preset { return slices.Clone(presets) }

// Models lists models that people use with the agent. An agent may speak to a model that it knows in its
// own way, so a check with any other name says little.
func (p Preset) Models() []string {
	if len(p.models) > 0 {
		return slices.Clone(p.models)
	}
	prefix := map[string]string{"gemini": "google"}[p.API]
	prefix = cmp.Or(prefix, p.API) + "/"
	var list []string
	for _, m := range penstock.Models() {
		if name, found := strings.CutPrefix(m.ID, prefix); found {
			list = append(list, name)
		}
	}
	return list
}

// Program returns the installed agent with its version and folder, and the folder of Node.js.
func (p Preset) Program(version, installed, node string) Program {
	return Program{
		Argv: p.argv, Mode: p.mode, State: p.state, Skills: p.skills, API: p.API, NeedsModel: p.NeedsModel, Setup: p.setup,
		Noise: p.noise, Numbers: p.numbers,
		Version: version, Installed: installed, Node: node,
	}
}

// Variables lists the variables that the preset sets for a run.
func (p Preset) Variables() []string {
	all := p.setup(Setting{URL: "http://gateway", Model: "model", Reasoning: "high", Home: "/home"})
	return slices.Sorted(maps.Keys(all.Env))
}

// npmArch is npm's name of this machine's processor.
var npmArch = map[string]string{"amd64": "x64"}[runtime.GOARCH]

// nodeArgv returns the command that runs a script of an installed package with the installed
// Node.js and its options.
func nodeArgv(options []string, script string, args ...string) []string {
	arch := npmArch
	if arch == "" {
		arch = runtime.GOARCH
	}
	return slices.Concat(
		[]string{"{node}/node_modules/node-linux-" + arch + "/bin/node"}, options,
		[]string{"{agent}/node_modules/" + script}, args,
	)
}

// gatewayKey is the placeholder that an agent has instead of a provider's key. The gateway replaces
// it.
const gatewayKey = "penstock-gateway"

// jsonFile returns the content of a JSON file.
func jsonFile(v any) string {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic("harness: a preset's file is not JSON: " + err.Error())
	}
	return string(text) + "\n"
}

// settings is JSON of a preset.
type settings = map[string]any
