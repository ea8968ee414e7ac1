package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/alecthomas/kong"
)

// version is set by the linker in release builds.
var version string

// buildVersion returns the release, or the version that the Go toolchain recorded.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	switch {
	case version != "":
		return version
	case ok && info.Main.Version != "" && info.Main.Version != "(devel)":
		return info.Main.Version
	}
	return "development"
}

// revision returns the commit of the build, or "" if it was not recorded.
func revision() string {
	info, _ := debug.ReadBuildInfo()
	commit, changed := "", ""
	if info != nil {
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				commit = s.Value[:min(12, len(s.Value))]
			case s.Key == "vcs.modified" && s.Value == "true":
				changed = "+"
			}
		}
	}
	if commit == "" {
		return ""
	}
	return commit + changed
}

type versionCmd struct {
	resultFlags
}

// versionFlag is --version, which equals the command.
type versionFlag bool

// BeforeReset is called by kong when it finds the flag.
func (versionFlag) BeforeReset(ctx context.Context, app *kong.Kong, std *stdio) error {
	if err := (&versionCmd{}).Run(ctx, std); err != nil {
		return err
	}
	app.Exit(0)
	return nil
}

func (cmd *versionCmd) Run(ctx context.Context, std *stdio) error {
	platform := runtime.GOOS + "/" + runtime.GOARCH
	if std.format.data() {
		return std.result(ctx,
			map[string]string{"version": buildVersion(), "commit": revision(), "go": runtime.Version(), "platform": platform},
		)
	}
	text := "penstock " + buildVersion()
	if commit := revision(); commit != "" {
		text += " (" + commit + ")"
	}
	_, err := fmt.Fprintf(std.out, "%s %s %s\n", text, runtime.Version(), platform)
	return err
}
