package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/harness"
	"github.com/penstock-dev/penstock/internal/execution/install"
	"github.com/penstock-dev/penstock/internal/wall/sandbox"
)

type harnessCmds struct {
	Data string `type:"path" env:"PENSTOCK_DATA" default:"${data}" placeholder:"DIR" help:"Data folder of serve or worker. Default: ${data}"`

	List    harnessListCmd    `cmd:"" help:"List the harnesses that can be installed, with their installed versions."`
	Install harnessInstallCmd `cmd:"" help:"Install a harness at its pinned version, or at another one."`
	Check   harnessCheckCmd   `cmd:"" help:"Run the installed harnesses in the sandbox, with a scripted model."`
	Remove  harnessRemoveCmd  `cmd:"" help:"Remove an installed harness."`
}

// harnessDir is the folder of the installed harnesses in a data folder.
const harnessDir = "harnesses"

func (cmd *harnessCmds) store() *install.Store {
	return install.Open(filepath.Join(cmd.Data, harnessDir))
}

type harnessListCmd struct {
	resultFlags
}

// harnessLine is a harness in the output of harness list.
type harnessLine struct {
	Name      string   `json:"name"`
	Title     string   `json:"title"`
	Pinned    string   `json:"pinned"`
	Current   string   `json:"current,omitempty"`
	Installed []string `json:"installed"`
	License   string   `json:"license"`
}

func (cmd *harnessListCmd) Run(ctx context.Context, std *stdio, in *harnessCmds) error {
	store := in.store()
	installed, err := store.List()
	if err != nil {
		return err
	}
	var list []harnessLine
	for _, pin := range store.Pins() {
		line := harnessLine{
			Name: pin.Name, Title: pin.Title, Pinned: pin.Version, Installed: []string{}, License: pin.License,
		}
		for _, p := range installed {
			if p.Name == pin.Name {
				line.Installed = append(line.Installed, p.Version)
				if p.Current {
					line.Current = p.Version
				}
			}
		}
		list = append(list, line)
	}
	if std.format.data() {
		return std.result(ctx, map[string]any{"harnesses": list})
	}
	var rows [][]string
	for _, l := range list {
		var versions []string
		for _, v := range l.Installed {
			if v == l.Current {
				v += " (in use)"
			}
			versions = append(versions, v)
		}
		rows = append(rows, []string{l.Name, l.Title, l.Pinned, strings.Join(versions, ", ")})
	}
	return std.table([]string{"NAME", "HARNESS", "PINNED", "INSTALLED"}, rows)
}

type harnessInstallCmd struct {
	Harness string `arg:"" name:"name[@version]" help:"Harness, such as opencode. A version, as in claude@0.101.0, replaces the pinned one."`
	From    string `type:"path" xor:"source" placeholder:"FILE" help:"Install from an archive that --save wrote, without npm or a registry."`
	Save    string `type:"path" xor:"source" placeholder:"FILE" help:"Also write all packages to an archive, for --from on another machine of the same kind."`
}

func (*harnessInstallCmd) Help() string {
	return "Installs the harness and its dependencies from npm into the data folder, with Node 24 if it needs that. " +
		"Every file must have the hash that this release pins. npm's own configuration sets the registry and the proxy. No " +
		"code of the packages runs during the installation. A running server or worker checks the new version, and " +
		"then uses it for new runs. For a version that is not pinned, npm chooses the dependencies, and this release " +
		"has no hashes to check them with."
}

func (cmd *harnessInstallCmd) Run(ctx context.Context, std *stdio, in *harnessCmds) error {
	name, version, _ := strings.Cut(cmd.Harness, "@")
	store := in.store()
	if pin, known := store.Pin(name); known {
		std.notef("%s: %s", pin.Title, pin.License)
		if version != "" && version != pin.Version {
			std.notef("this release was tested with %s %s; npm chooses the dependencies of %s", name, pin.Version, version)
		}
	}
	p, err := store.Install(ctx, install.Request{
		Name: name, Version: version, From: cmd.From, Save: cmd.Save,
		Say: func(text string) { std.notef("%s", text) },
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(std.out, "%s %s is installed in %s\n", p.Name, p.Version, p.Dir)
	return err
}

type harnessRemoveCmd struct {
	Harness string `arg:"" name:"name[@version]" help:"Harness, such as opencode; without a version, all its versions."`
}

func (*harnessRemoveCmd) Help() string {
	return "Runs that use the version fail. Node stays installed."
}

func (cmd *harnessRemoveCmd) Run(ctx context.Context, std *stdio, in *harnessCmds) error {
	name, version, _ := strings.Cut(cmd.Harness, "@")
	removed, err := in.store().Remove(ctx, name, version)
	if err != nil {
		return err
	}
	if len(removed) == 0 {
		return exitf(exitFailed, "the harness %s is not installed", cmd.Harness)
	}
	_, err = fmt.Fprintf(std.out, "removed %s %s\n", name, strings.Join(removed, ", "))
	return err
}

type harnessCheckCmd struct {
	Harness string `arg:"" optional:"" name:"name" help:"Harness, such as opencode; by default, all installed harnesses."`
	docking
	Sandbox             string `enum:"bubblewrap,docker,process" default:"bubblewrap" help:"Sandbox of the check: bubblewrap, docker or process."`
	AllowOpenNetwork    bool   `help:"Accept a sandbox that lets runs reach every network of this machine."`
	AllowUserNamespaces bool   `help:"Accept a sandbox in which runs can create user namespaces."`
	Events              bool   `help:"Print the events of the check as JSON lines."`
}

func (*harnessCheckCmd) Help() string {
	return "Runs one turn of each harness as a worker does: in the sandbox, through the model gateway. A scripted model " +
		"takes the place of the provider, so nothing leaves this machine, and it costs nothing. Exits with 1 if a " +
		"harness fails."
}

func (cmd *harnessCheckCmd) Run(ctx context.Context, std *stdio, in *harnessCmds) error {
	chosen := sandbox.Options{
		Kind: cmd.Sandbox, AllowOpenNetwork: cmd.AllowOpenNetwork, AllowUserNamespaces: cmd.AllowUserNamespaces,
	}
	release, err := cmd.chooseAside(&chosen, in.Data)
	if err != nil {
		return err
	}
	defer release()
	box, err := openSandbox(ctx, chosen)
	if err != nil {
		return err
	}
	checker := agentChecker{
		sandbox: box, open: cmd.AllowOpenNetwork, dir: in.Data, log: slog.New(slog.DiscardHandler),
	}
	if cmd.Events {
		checker.record = func(d penstock.Draft) { _ = std.resultLine(ctx, jsontext.Value(d.Data)) }
	}
	checked, failed := 0, false
	for _, preset := range harness.Presets() {
		program, installed := installedProgram(in.store(), preset)
		if !installed || cmd.Harness != "" && cmd.Harness != preset.Name {
			continue
		}
		checked++
		start := time.Now()
		result, err := "works", checker.check(ctx, preset, program)
		if err != nil {
			result, failed = "fails: "+err.Error(), true
		}
		took := time.Since(start).Round(10 * time.Millisecond)
		if _, err := fmt.Fprintf(std.out, "%-9s %-10s %8s  %s\n", preset.Name, program.Version, took,
			cleanText(result)); err != nil {
			return err
		}
	}
	if checked == 0 {
		if cmd.Harness == "" {
			return exitf(exitFailed, "no harness is installed; install one with penstock harness install NAME")
		}
		return exitf(
			exitFailed, "the harness %[1]s is not installed; install it with penstock harness install %[1]s", cmd.Harness,
		)
	}
	if failed {
		return &exitError{code: exitFailed}
	}
	return nil
}

// openSandbox opens a kind of sandbox that works on this machine.
func openSandbox(ctx context.Context, o sandbox.Options) (sandbox.Sandbox, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	o.Exe = exe
	if err := sandbox.Probe(ctx, o); err != nil {
		return nil, exitf(exitFailed, "no sandbox: %w", err)
	}
	return sandbox.New(o)
}
