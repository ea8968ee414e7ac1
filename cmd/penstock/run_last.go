package main

import (
	"context"
	"net/http"
	"reflect"

	"github.com/alecthomas/kong"

	"github.com/penstock-dev/penstock/internal/control/run"
)

// lastRun stands for the run that was created last, of those that the key may see, wherever the
// command line takes the ID of a run.
const lastRun = "@last"

// lastRuns are the inputs that have the value @last.
type lastRuns []reflect.Value

// takesRun reports whether an input is the ID of a run, or a list of them.
func takesRun(in *kong.Value) bool {
	return in.Name == "run" || in.Flag != nil && in.Flag.PlaceHolder == "RUN"
}

// lastRunsOf finds the inputs of a command that are to become the ID of the last run.
func lastRunsOf(command *kong.Node) (found lastRuns) {
	for _, in := range inputs(command) {
		if !takesRun(in) {
			continue
		}
		values := []reflect.Value{reflect.Indirect(in.Target)}
		if in.Target.Kind() == reflect.Slice {
			values = nil
			for i := range in.Target.Len() {
				values = append(values, in.Target.Index(i))
			}
		}
		for _, value := range values {
			if value.Kind() == reflect.String && value.String() == lastRun {
				found = append(found, value)
			}
		}
	}
	return found
}

// resolve replaces @last by the ID, and names the run on standard error. All inputs mean the same
// run, also if another one is created meanwhile.
func (l lastRuns) resolve(ctx context.Context, c *client) error {
	if len(l) == 0 {
		return nil
	}
	var page run.Page
	if _, err := c.call(ctx, http.MethodGet, runNoun.path+"?limit=1&sort_by=created_at", nil, &page); err != nil {
		return err
	}
	if len(page.Runs) == 0 {
		return exitf(exitRefused, "%s: this key can see no run", lastRun)
	}
	last := page.Runs[0]
	c.std.notef("%s is run %s: %s", lastRun, cleanLine(last.ID), cleanLine(last.Title))
	c.last = last.ID
	for _, value := range l {
		value.SetString(last.ID)
	}
	return nil
}
