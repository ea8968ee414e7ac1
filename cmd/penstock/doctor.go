package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"
)

type doctorCmd struct {
	storage
	listening
	docking
	Sandbox             string `enum:"bubblewrap,docker,process" default:"bubblewrap" help:"Sandbox to check for runs: bubblewrap, docker or process."`
	AllowOpenNetwork    bool   `help:"Accept a sandbox that lets runs reach every network of this machine."`
	AllowUserNamespaces bool   `help:"Accept a sandbox in which runs can create user namespaces."`
	resultFlags
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

// check is one check of doctor, or several that share a beginning.
type check struct {
	name  string
	limit time.Duration // 0: checkTime
	look  func(context.Context) finding
	// each reports several findings, each as soon as it is known. It replaces look.
	each func(context.Context, func(finding))
}

func (c check) run(ctx context.Context, report func(finding)) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(c.limit, checkTime))
	defer cancel()
	if c.each != nil {
		c.each(ctx, report)
		return
	}
	report(c.look(ctx))
}

func (cmd *doctorCmd) checks(settings *fileSettings) []check {
	one := func(name string, look func(context.Context) finding) check { return check{name: name, look: look} }
	checks := []check{
		one("data folder", func(context.Context) finding { return ownFolder(cmd.Data, "--data") }),
		one("disk space", func(context.Context) finding { return diskSpace(cmd.Data, "--data") }),
		one("database", cmd.database),
		one("keyset", cmd.keyset),
		one("bubblewrap", func(ctx context.Context) finding { return cmd.sandboxKind(ctx, "bubblewrap") }),
		one("docker", func(ctx context.Context) finding { return cmd.sandboxKind(ctx, "docker") }),
		one("process", func(ctx context.Context) finding { return cmd.sandboxKind(ctx, "process") }),
		one("images", cmd.images),
		{name: "harnesses", limit: harnessesTime, each: cmd.harnesses},
		one("git", gitProgram),
		one("models", func(context.Context) finding { return modelProviders(settings) }),
		one("clock", systemClock),
		one("address", cmd.address),
	}
	if dir := string(cmd.Blobs); cmd.Blobs.isBucket() {
		checks = append(checks, one("blobs", cmd.bucket))
	} else if dir != "" {
		checks = append(checks,
			one("blobs", func(context.Context) finding { return ownFolder(dir, "--blobs") }),
			one("blobs' space", func(context.Context) finding { return diskSpace(dir, "--blobs") }))
	}
	return checks
}

// Run prints each finding at once, because some checks take minutes.
func (cmd *doctorCmd) Run(ctx context.Context, std *stdio, settings *fileSettings) error {
	var report struct {
		OK     bool      `json:"ok"`
		Checks []finding `json:"checks"`
	}
	report.OK = true
	var failed error
	for _, c := range cmd.checks(settings) {
		c.run(ctx, func(f finding) {
			f.Check = c.name
			report.OK = report.OK && f.Status != checkFail
			report.Checks = append(report.Checks, f)
			if !std.format.data() && failed == nil {
				failed = f.print(std.out)
			}
		})
		if failed != nil {
			return failed
		}
	}
	if std.format.data() {
		if err := std.result(ctx, report); err != nil {
			return err
		}
	}
	if !report.OK {
		return &exitError{code: exitFailed}
	}
	return nil
}

func (f finding) print(out io.Writer) error {
	_, err := fmt.Fprintf(out, "%-5s %-12s %s\n", f.Status, f.Check, cleanLine(f.Found))
	if err == nil && f.Todo != "" {
		_, err = fmt.Fprintf(out, "      %-12s → %s\n", "", cleanLine(f.Todo))
	}
	return err
}
