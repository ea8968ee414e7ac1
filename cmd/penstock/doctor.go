package main

import (
	"context"
	"fmt"
	"time"
)

type doctorCmd struct {
	storage
	listening
	docking
	Sandbox             string `enum:"bubblewrap,docker,process" default:"bubblewrap" help:"Sandbox to check for runs: bubblewrap, docker or process."`
	AllowOpenNetwork    bool   `help:"Accept a sandbox that lets runs reach every network of this machine."`
	AllowUserNamespaces bool   `help:"Accept a sandbox in which runs can create user namespaces."`
	Output              string `short:"o" enum:"table,json" default:"table" env:"PENSTOCK_OUTPUT" help:"Output format: table or json."`
}

func (cmd *doctorCmd) Help() string {
	return "Use the same flags, environment and --config file as for serve. Changes nothing, but writes and removes one " +
		"small object in an object store. Exits with 1 if a check fails."
}

// The results of a check.
const (
	checkOK   = "ok"
	checkWarn = "warn"
	checkFail = "fail"
)

// finding is the result of one check, and how to fix a problem.
type finding struct {
	Check  string `json:"check"`
	Status string `json:"status"`
	Found  string `json:"found"`
	Todo   string `json:"todo,omitempty"`
}

func ok(format string, args ...any) finding {
	return finding{Status: checkOK, Found: fmt.Sprintf(format, args...)}
}

func warn(todo, format string, args ...any) finding {
	return finding{Status: checkWarn, Found: fmt.Sprintf(format, args...), Todo: todo}
}

func failing(todo, format string, args ...any) finding {
	return finding{Status: checkFail, Found: fmt.Sprintf(format, args...), Todo: todo}
}

// checkTime limits one check.
const checkTime = 20 * time.Second

// harnessesTime bounds the check of all installed harnesses. The check starts each of them.
const harnessesTime = 3 * time.Minute

func (cmd *doctorCmd) Run(ctx context.Context, std *stdio) error {
	type check struct {
		name string
		look func(context.Context) finding
	}
	checks := []check{
		{"data folder", func(context.Context) finding { return ownFolder(cmd.Data, "--data") }},
		{"disk space", func(context.Context) finding { return diskSpace(cmd.Data, "--data") }},
		{"database", cmd.database},
		{"keyset", cmd.keyset},
		{"bubblewrap", func(ctx context.Context) finding { return cmd.sandboxKind(ctx, "bubblewrap") }},
		{"docker", func(ctx context.Context) finding { return cmd.sandboxKind(ctx, "docker") }},
		{"process", func(ctx context.Context) finding { return cmd.sandboxKind(ctx, "process") }},
		{"images", cmd.images},
		{"harnesses", cmd.harnesses},
		{"git", gitProgram},
		{"models", modelProviders},
		{"clock", systemClock},
		{"address", cmd.address},
	}
	if dir := string(cmd.Blobs); cmd.Blobs.isBucket() {
		checks = append(checks, check{"blobs", cmd.bucket})
	} else if dir != "" {
		checks = append(checks,
			check{"blobs", func(context.Context) finding { return ownFolder(dir, "--blobs") }},
			check{"blobs' space", func(context.Context) finding { return diskSpace(dir, "--blobs") }})
	}
	var report struct {
		OK     bool      `json:"ok"`
		Checks []finding `json:"checks"`
	}
	report.OK = true
	for _, check := range checks {
		limit := checkTime
		if check.name == "harnesses" {
			limit = harnessesTime
		}
		limited, cancel := context.WithTimeout(ctx, limit)
		f := check.look(limited)
		cancel()
		f.Check = check.name
		report.OK = report.OK && f.Status != checkFail
		report.Checks = append(report.Checks, f)
		if cmd.Output == "table" { // at once, because some checks take some time
			if _, err := fmt.Fprintf(std.out, "%-5s %-12s %s\n", f.Status, f.Check, cleanLine(f.Found)); err != nil {
				return err
			}
			if f.Todo != "" {
				fmt.Fprintf(std.out, "      %-12s → %s\n", "", cleanLine(f.Todo))
			}
		}
	}
	if cmd.Output == "json" {
		if err := std.json(report); err != nil {
			return err
		}
	}
	if !report.OK {
		return &exitError{code: exitFailed}
	}
	return nil
}
