package main

import (
	"slices"
	"testing"

	"github.com/alecthomas/kong"
)

// Each command is the same, with and without the others.
func TestCommandLineOfOneCommand(t *testing.T) {
	t.Parallel()
	model := func(target any) *kong.Node {
		parser, err := newParser(target, &stdio{})
		if err != nil {
			t.Fatal(err)
		}
		return parser.Model.Node
	}
	for _, want := range model(&cli{}).Children {
		got := model(commandLine(want.Name)).Children
		if want.Name == "complete" {
			if len(got) < 10 {
				t.Errorf("complete knows %d commands", len(got))
			}
			continue
		}
		if len(got) != 1 {
			t.Fatalf("%s: got %d commands", want.Name, len(got))
		}
		if a, b := described(got[0]), described(want); !slices.Equal(a, b) {
			t.Errorf("%s: got %q, want %q", want.Name, a, b)
		}
	}
	if n := len(model(commandLine("--config")).Children); n < 10 {
		t.Errorf("there are %d commands after a flag", n)
	}
}

// described lists what a user can type below a command.
func described(node *kong.Node) []string {
	lines := []string{node.FullPath() + ": " + node.Help}
	for _, flag := range node.Flags {
		lines = append(lines, flag.String()+" "+flag.Default, flag.Help)
		lines = append(lines, flag.Envs...)
	}
	for _, argument := range node.Positional {
		lines = append(lines, argument.Summary())
	}
	for _, child := range node.Children {
		lines = append(lines, described(child)...)
	}
	return lines
}
