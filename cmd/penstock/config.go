package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v4"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/execution/harness"
	"github.com/penstock-dev/penstock/internal/supply/openid"
	"github.com/penstock-dev/penstock/internal/wall/gateway"
)

// configFile is the path of --config. Its keys are flags of serve, worker and the maintenance
// commands, flags of a connection, and the keys of fileSettings. An unknown key is an error.
type configFile string

// fileSettings holds the settings that only a file can have.
type fileSettings struct {
	Harnesses map[string]harnessSettings
	// ModelAliases are models by alias.
	ModelAliases map[string]string
	// Network is the server's layer of every run's network, with the models that runs may use.
	Network      run.ServerNetwork
	networkGiven bool
	// Providers are model providers by their names.
	Providers map[string]providerSettings
	// SignIn are identity providers where persons sign in.
	SignIn []openid.Settings
}

// fileKeys are the keys of fileSettings.
var fileKeys = []string{"auth", "harnesses", "models", "network", "providers"}

// harnessSettings is an agent program; see harness.Program. Values of its environment may use
// variables of the server: ${NAME}.
type harnessSettings struct {
	Protocol string            `yaml:"protocol"` // acp (default) or command
	Command  []string          `yaml:"command"`
	Env      map[string]string `yaml:"env"`
	Mode     string            `yaml:"mode"`
	State    []string          `yaml:"state"`
	// Provider is a model provider: {provider} stands for its address at the gateway, and the
	// variables of its API lead there unless Env sets them.
	Provider string `yaml:"provider"`
	// ReadOnly are folders of the worker's machine that the sandbox shows at the same paths.
	ReadOnly []string `yaml:"read_only"`
}

// BeforeResolve reads the file, and uses it for flags that neither the command line nor the
// environment sets.
func (configFile) BeforeResolve(ctx *kong.Context, trace *kong.Path, settings *fileSettings) error {
	path, given := ctx.FlagValue(trace.Flag).(configFile)
	if !given || path == "" {
		return nil
	}
	content, err := os.ReadFile(string(path))
	if err != nil {
		return exitf(exitConfig, "read the configuration: %w", err)
	}
	all, err := newParser(&cli{}, &stdio{}) // the file may have flags of other commands, too
	if err != nil {
		return err
	}
	values, err := parseConfig(content, flagNames(all.Model.Node), settings)
	if err != nil {
		return exitf(exitConfig, "configuration %s: %w", path, err)
	}
	ctx.AddResolver(kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (value any, err error) {
		if !slices.ContainsFunc(flag.Envs, isSet) {
			for _, name := range append([]string{flag.Name}, flag.Aliases...) {
				value = cmp.Or(value, values[name]) // nil: not in the file
			}
		}
		return value, nil
	}))
	return nil
}

func isSet(variable string) bool { _, ok := os.LookupEnv(variable); return ok }

// flagNames lists the flags that a file can set: those that do not belong to one verb. Their
// variable is PENSTOCK_FLAG or has an explicit name.
func flagNames(root *kong.Node) []string {
	names := map[string]bool{}
	var visit func(node *kong.Node, depth int)
	visit = func(node *kong.Node, depth int) {
		for _, flag := range node.Flags {
			if flag.Name != "help" && flag.Name != "config" && depth < 2 && !node.Hidden {
				for _, name := range append([]string{flag.Name}, flag.Aliases...) {
					names[name] = true
				}
			}
		}
		for _, child := range node.Children {
			visit(child, depth+1)
		}
	}
	visit(root, 0)
	return slices.Sorted(maps.Keys(names))
}

// saysNothing reports whether a YAML file has only comments.
func saysNothing(content []byte) bool {
	for line := range bytes.Lines(content) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return true
}

// parseConfig reads a file strictly: one mapping whose keys are flags or keys of settings, without
// duplicates. It returns values in the form that kong accepts.
func parseConfig(content []byte, flags []string, settings *fileSettings) (map[string]any, error) {
	if saysNothing(content) {
		return nil, nil //nolint:nilnil // no value, and no fault: such as a template in which nothing is changed
	}
	var document map[string]yaml.Node
	if err := yaml.Load(content, &document); err != nil {
		return nil, err
	}
	values := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(document)) {
		node := document[key]
		var err error
		switch {
		case key == "auth":
			err = settings.readAuth(&node)
		case key == "harnesses":
			err = settings.readHarnesses(&node)
		case key == "models":
			err = settings.readModels(&node)
		case key == "network":
			err = settings.readNetwork(&node)
		case key == "providers":
			err = settings.readProviders(&node)
		case slices.Contains(flags, key):
			values[key], err = flagText(&node)
		default:
			err = noSuchKey(key, append(flags, fileKeys...))
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %s: %w", lineOf(&node, content, key), key, err)
		}
	}
	return values, nil
}

// lineOf returns the line of a top-level key. The node only has the line of the value.
func lineOf(node *yaml.Node, content []byte, key string) int {
	at := regexp.MustCompile(`(?m)^['"]?` + regexp.QuoteMeta(key) + `['"]?\s*:`).FindIndex(content)
	if at == nil {
		return node.Line
	}
	return strings.Count(string(content[:at[0]]), "\n") + 1
}

// flagText returns a value of the file as it would be typed. A list becomes one text with commas.
func flagText(node *yaml.Node) (any, error) {
	switch node.Kind {
	case yaml.ScalarNode:
		return node.Value, nil
	case yaml.SequenceNode:
		var parts []string
		for _, item := range node.Content {
			if item.Kind != yaml.ScalarNode || strings.Contains(item.Value, ",") {
				return nil, fmt.Errorf("must be a list of plain values")
			}
			parts = append(parts, item.Value)
		}
		return strings.Join(parts, ","), nil
	}
	return nil, fmt.Errorf("must be a value or a list of values")
}

// harnessName matches valid names of harnesses in the file. The contract shows the name as
// harness.type.
var harnessName = penstock.LazyRegexp(`^[a-z][a-z0-9_-]{0,31}$`)

func (s *fileSettings) readHarnesses(node *yaml.Node) error {
	var document map[string]map[string]yaml.Node
	if err := node.Load(&document); err != nil {
		return err
	}
	s.Harnesses = map[string]harnessSettings{}
	for _, name := range slices.Sorted(maps.Keys(document)) {
		if !harnessName().MatchString(name) || name == penstock.HarnessBuiltin || name == "oz" {
			return fmt.Errorf("%q is not a valid name: use lower-case letters, digits, - and _; the name of the built-in "+
				"agent is reserved", name)
		}
		var h harnessSettings
		if name == penstock.HarnessCommand {
			h.Protocol = harness.ProtocolCommand
		}
		if err := h.read(document[name]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		s.Harnesses[name] = h
	}
	return nil
}

// maxModelName limits the name of a model in bytes, as in requests.
const maxModelName = 200

func (s *fileSettings) readModels(node *yaml.Node) error {
	var document map[string]yaml.Node
	if err := node.Load(&document); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(document)) {
		value := document[key]
		switch key {
		case "aliases":
			if err := value.Load(&s.ModelAliases); err != nil {
				return fmt.Errorf("aliases: %w", err)
			}
		case "allow":
			if err := value.Load(&s.Network.Models.Allow); err != nil {
				return fmt.Errorf("allow: %w", err)
			}
			if errs := s.Network.Models.Check(""); errs != nil {
				return fileErrors(errs)
			}
		default:
			return fmt.Errorf("%s: %w", key, noSuchKey(key, []string{"aliases", "allow"}))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.ModelAliases)) {
		model := s.ModelAliases[name]
		for _, text := range []string{name, model} {
			if text == "" || len(text) > maxModelName || strings.ContainsFunc(text, notInModelName) {
				return fmt.Errorf(
					"aliases: %q: %q must be a model name of 1 to %d bytes without spaces", name, text, maxModelName,
				)
			}
		}
		if name == run.ModelAuto {
			return fmt.Errorf("aliases: %s cannot be an alias: it is reserved for the server's default model", name)
		}
		if _, alias := s.ModelAliases[model]; alias {
			return fmt.Errorf("aliases: %q refers to %q, which is also an alias: use the name of a model", name, model)
		}
	}
	return nil
}

func notInModelName(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }

// keyHolders returns the names of the variables that the file gives to harnesses, by harness.
func (s *fileSettings) keyHolders() map[string][]string {
	holders := map[string][]string{}
	for name, h := range s.Harnesses {
		if own, holds := h.program().Own(); holds {
			holders[name] = own
		}
	}
	return holders
}

// programs returns what is known of the built-in agent, the presets and the harnesses of the file,
// which win.
func (s *fileSettings) programs() map[string]run.Program {
	all := map[string]run.Program{penstock.HarnessBuiltin: {AnyModel: true}}
	for _, preset := range harness.Presets() {
		all[preset.Name] = run.Program{API: preset.API, Variables: preset.Variables()}
	}
	for name, h := range s.Harnesses {
		var program run.Program
		if h.Provider != "" {
			program.Provider = gateway.Provider{Name: h.Provider}.ModelID("")
		}
		all[name] = program
	}
	return all
}

func (h *harnessSettings) program() harness.Program {
	return harness.Program{
		Protocol: h.Protocol, Argv: h.Command, Env: h.Env, Mode: h.Mode, State: h.State, Provider: h.Provider,
		ReadOnly: h.ReadOnly,
	}
}

// loadFields reads each key of a mapping into its destination in fields. Other keys are errors.
func loadFields(document map[string]yaml.Node, fields map[string]any) error {
	for key, value := range document {
		into, known := fields[key]
		if !known {
			return fmt.Errorf("%s: %w", key, noSuchKey(key, slices.Sorted(maps.Keys(fields))))
		}
		if err := value.Load(into); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

func (h *harnessSettings) read(document map[string]yaml.Node) error {
	fields := map[string]any{
		"protocol": &h.Protocol, "command": &h.Command, "env": &h.Env, "mode": &h.Mode, "state": &h.State,
		"provider": &h.Provider, "read_only": &h.ReadOnly,
	}
	if err := loadFields(document, fields); err != nil {
		return err
	}
	if len(h.Command) == 0 || h.Command[0] == "" {
		return errors.New("command must name the program and its arguments")
	}
	for _, dir := range h.ReadOnly {
		if !filepath.IsAbs(dir) || filepath.Clean(dir) == "/" {
			return fmt.Errorf("read_only: %q must be an absolute path of a folder", dir)
		}
	}
	for key, value := range h.Env {
		h.Env[key] = os.Expand(value, os.Getenv)
	}
	_, err := harness.New(harness.Program{Protocol: h.Protocol, Argv: h.Command})
	return err
}

// noSuchKey returns the error for an unknown key. It suggests a similar key.
func noSuchKey(key string, names []string) error {
	if near := penstock.Nearest(key, names); near != "" {
		return fmt.Errorf("unknown key; did you mean %q?", near)
	}
	return errors.New("unknown key")
}
