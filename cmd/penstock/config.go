package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v4"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/catalog"
	"github.com/penstock-dev/penstock/internal/harness"
)

// configFile names the file of --config. Its keys are the names of flags of
// serve, worker, backup and the like, and of a connection; beside them only
// those of fileSettings. A key that nothing knows is an error.
type configFile string

// fileSettings is what only a file can say.
type fileSettings struct {
	Harnesses map[string]harnessSettings
	// ModelAliases are models by further names.
	ModelAliases map[string]string
	// Network is the server's layer of every run's network, with the models that runs may use.
	Network      catalog.ServerNetwork
	networkGiven bool
	// Providers are model providers by their names.
	Providers map[string]providerSettings
}

// fileKeys are the keys of fileSettings.
var fileKeys = []string{"harnesses", "models", "network", "providers"}

// harnessSettings is an agent program; see harness.Program. Values of its
// environment may take the server's: ${NAME}.
type harnessSettings struct {
	Protocol string            `yaml:"protocol"` // acp (default) or command
	Command  []string          `yaml:"command"`
	Env      map[string]string `yaml:"env"`
	Mode     string            `yaml:"mode"`
	State    []string          `yaml:"state"`
}

// BeforeResolve reads the file and makes it the source of flags that neither
// the command line nor the environment sets.
func (configFile) BeforeResolve(k *kong.Kong, ctx *kong.Context, trace *kong.Path, settings *fileSettings) error {
	path, given := ctx.FlagValue(trace.Flag).(configFile)
	if !given || path == "" {
		return nil
	}
	content, err := os.ReadFile(string(path))
	if err != nil {
		return exitf(exitConfig, "read the configuration: %w", err)
	}
	values, err := parseConfig(content, flagNames(k.Model.Node), settings)
	if err != nil {
		return exitf(exitConfig, "configuration %s: %w", path, err)
	}
	ctx.AddResolver(kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (value any, err error) {
		if !slices.ContainsFunc(flag.Envs, isSet) {
			value = values[flag.Name] // nil: the file says nothing
		}
		return value, nil
	}))
	return nil
}

func isSet(variable string) bool { _, ok := os.LookupEnv(variable); return ok }

// flagNames lists the flags that a file can set: those whose meaning does not
// depend on one verb, told by their variable being PENSTOCK_FLAG, or named
// explicitly.
func flagNames(root *kong.Node) []string {
	names := map[string]bool{}
	var visit func(node *kong.Node, depth int)
	visit = func(node *kong.Node, depth int) {
		for _, flag := range node.Flags {
			if flag.Name != "help" && flag.Name != "config" && depth < 2 && !node.Hidden {
				names[flag.Name] = true
			}
		}
		for _, child := range node.Children {
			visit(child, depth+1)
		}
	}
	visit(root, 0)
	return slices.Sorted(maps.Keys(names))
}

// saysNothing reports whether nothing but comments is in a YAML file.
func saysNothing(content []byte) bool {
	for line := range bytes.Lines(content) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return true
}

// parseConfig reads a file strictly: one mapping whose keys are flags or those
// of settings, no key twice. Values are as kong takes them.
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

// lineOf is the line of a key at the top of the file; the node knows that of
// its value only.
func lineOf(node *yaml.Node, content []byte, key string) int {
	at := regexp.MustCompile(`(?m)^['"]?` + regexp.QuoteMeta(key) + `['"]?\s*:`).FindIndex(content)
	if at == nil {
		return node.Line
	}
	return strings.Count(string(content[:at[0]]), "\n") + 1
}

// flagText is a value of the file as it would be typed: a list becomes one
// text with commas.
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

// harnessName bounds what a harness of the file can be called; the contract
// shows it as harness.type.
var harnessName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)

func (s *fileSettings) readHarnesses(node *yaml.Node) error {
	var document map[string]map[string]yaml.Node
	if err := node.Load(&document); err != nil {
		return err
	}
	s.Harnesses = map[string]harnessSettings{}
	for _, name := range slices.Sorted(maps.Keys(document)) {
		if !harnessName.MatchString(name) || name == penstock.HarnessBuiltin || name == "oz" {
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

// maxModelName bounds the name of a model, in bytes, as requests do.
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
		if name == penstock.ModelAuto {
			return fmt.Errorf("aliases: %s cannot be an alias: it is reserved for the server's default model", name)
		}
		if _, alias := s.ModelAliases[model]; alias {
			return fmt.Errorf("aliases: %q refers to %q, which is also an alias: use the name of a model", name, model)
		}
	}
	return nil
}

func notInModelName(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }

// keyHolders are the harnesses to which the file gives variables, with their names.
func (s *fileSettings) keyHolders() map[string][]string {
	holders := map[string][]string{}
	for name, h := range s.Harnesses {
		if own, holds := h.program().Own(); holds {
			holders[name] = own
		}
	}
	return holders
}

func (h *harnessSettings) program() harness.Program {
	return harness.Program{Protocol: h.Protocol, Argv: h.Command, Env: h.Env, Mode: h.Mode, State: h.State}
}

// loadFields reads each key of a mapping into the value that fields has for it. Other keys
// are errors.
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
	}
	if err := loadFields(document, fields); err != nil {
		return err
	}
	if len(h.Command) == 0 || h.Command[0] == "" {
		return errors.New("command must name the program and its arguments")
	}
	for key, value := range h.Env {
		h.Env[key] = os.Expand(value, os.Getenv)
	}
	_, err := harness.New(harness.Program{Protocol: h.Protocol, Argv: h.Command})
	return err
}

// noSuchKey names the key that may have been meant, where there is one.
func noSuchKey(key string, names []string) error {
	if near := penstock.Nearest(key, names); near != "" {
		return fmt.Errorf("unknown key; did you mean %q?", near)
	}
	return errors.New("unknown key")
}
