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

// Every command with --output also has --jq. A misspelled tag would let a command lose a secret.
func TestCommandsWithOutput(t *testing.T) {
	t.Parallel()
	parser, err := newParser(&cli{}, &stdio{})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, command := range parser.Model.Leaves(false) {
		output, _ := flagOf(command, "--output")
		jq, _ := flagOf(command, "--jq")
		if (output == nil) != (jq == nil) {
			t.Errorf("%s has only one of --output and --jq", command.FullPath())
		}
		if output != nil {
			found++
		}
		if ids := command.Tag.Get("ids"); !slices.Contains([]string{"", "none", "secret"}, ids) {
			t.Errorf("%s: the tag ids is %q", command.FullPath(), ids)
		}
	}
	if found < 100 {
		t.Errorf("%d commands have --output", found)
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
