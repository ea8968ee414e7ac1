package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock/internal/control/signature"
)

//go:generate go test . -run ^(TestConfigurationReference|TestWebhookSenders)$ -update

var update = flag.Bool("update", false, "write docs/configuration.md anew")

const configurationReference = "../../docs/configuration.md"

// TestConfigurationReference keeps the tables of docs/configuration.md equal to the flags of the
// command line. A table stands between <!-- flags of COMMAND --> and <!-- end -->.
func TestConfigurationReference(t *testing.T) {
	t.Parallel()
	before, err := os.ReadFile(configurationReference)
	if err != nil {
		t.Fatal(err)
	}
	parser, err := newParser(&cli{}, &stdio{}, kong.Vars{
		"data": "the data folder of your user", "host": "the name of the machine", "memory": "a quarter of the memory",
	})
	if err != nil {
		t.Fatal(err)
	}
	tables := 0
	form := regexp.MustCompile(`(?s)<!-- flags of ([a-z -]+) -->\n.*?<!-- end -->`)
	after := form.ReplaceAllStringFunc(string(before), func(part string) string {
		tables++
		command := form.FindStringSubmatch(part)[1]
		return "<!-- flags of " + command + " -->\n" + flagTable(t, parser.Model.Node, command) + "<!-- end -->"
	})
	if tables < 7 {
		t.Fatalf("%d tables were found, want more", tables)
	}
	current(t, configurationReference, string(before), after)
}

// TestWebhookSenders keeps the table of senders in docs/webhooks.md equal to the signature schemes.
func TestWebhookSenders(t *testing.T) {
	t.Parallel()
	const document = "../../docs/webhooks.md"
	before, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	table.WriteString("<!-- senders -->\n| Sender | `--scheme` | Where to find the secret |\n| --- | --- | --- |\n")
	for _, preset := range signature.Presets() {
		hint := strings.ReplaceAll(preset.Hint, "|", `\|`)
		if preset.SecretAfterURL {
			hint += " (*)"
		}
		fmt.Fprintf(&table, "| %s | `%s` | %s |\n", preset.Sender, preset.Scheme, hint)
	}
	table.WriteString("<!-- end -->")
	form := regexp.MustCompile(`(?s)<!-- senders -->\n.*?<!-- end -->`)
	if !form.Match(before) {
		t.Fatal("the document has no table of senders")
	}
	current(t, document, string(before), form.ReplaceAllLiteralString(string(before), table.String()))
}

// current fails if a document is out of date. With -update, it writes the document.
func current(t *testing.T, document, before, after string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(document, []byte(after), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("%s is out of date: run make generate (-is +should be):\n%s", document, diff)
	}
}

// flagTable renders the flags of one command, or the flags that all clients share ("clients").
func flagTable(t *testing.T, root *kong.Node, command string) string {
	t.Helper()
	node, wanted := root, func(f *kong.Flag) bool { return f.Name != "help" && f.Name != "config" && f.Name != "version" }
	words := strings.Fields(command)
	switch command {
	case "all commands":
		words, wanted = nil, func(f *kong.Flag) bool { return f.Name == "config" }
	case "clients":
		words = []string{"run"}
		wanted = func(f *kong.Flag) bool { return f.Group != nil && f.Group.Key == "connection" }
	}
	for _, word := range words {
		next := node
		for _, child := range node.Children {
			if child.Name == word {
				next = child
			}
		}
		if next == node {
			t.Fatalf("there is no command %q", command)
		}
		node = next
	}
	var table strings.Builder
	table.WriteString("| Flag | Variable | Default | Meaning |\n| --- | --- | --- | --- |\n")
	for _, f := range node.Flags {
		if f.Hidden || !wanted(f) {
			continue
		}
		byDefault, help := "", f.Help
		switch {
		case strings.Contains(f.Default, " "): // depends on the machine: see above
			byDefault = f.Default
			help, _, _ = strings.Cut(help, " Default: ")
		case f.HasDefault && f.Default != "":
			byDefault = "`" + f.Default + "`"
		}
		name := "--" + f.Name
		if f.Tag.Negatable != "" {
			name = "--[no-]" + f.Name
		}
		help = strings.ReplaceAll(help, "|", `\|`)
		fmt.Fprintf(&table, "| `%s` | `%s` | %s | %s |\n", name, strings.Join(f.Envs, "` `"), byDefault, help)
	}
	return table.String()
}
