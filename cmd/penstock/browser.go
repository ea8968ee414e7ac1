package main

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"runtime"

	"github.com/penstock-dev/penstock"
)

// pageOf returns the URL of a run in the dashboard: the one that the server reports, unless it is no web
// address, which a program that opens addresses must not get.
func (c *client) pageOf(run penstock.Run) string {
	link, err := url.Parse(run.SessionLink)
	if err != nil || link.Host == "" || link.Scheme != "https" && link.Scheme != "http" {
		link = c.base.JoinPath("runs", run.ID)
	}
	return link.String()
}

// browse opens a web address in the browser of the person, if this machine has one, and returns at once.
func browse(ctx context.Context, address string) {
	program := os.Getenv("BROWSER")
	switch {
	case program != "":
	case runtime.GOOS == "darwin":
		program = "open"
	case os.Getenv("DISPLAY")+os.Getenv("WAYLAND_DISPLAY") != "":
		program = "xdg-open"
	default: // such as on a server: a browser in the terminal would take it over
		return
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program, address)
	if cmd.Start() == nil {
		_ = cmd.Process.Release() // the browser outlives the command
	}
}
