// Command penstock is the control plane, its worker and its command line in one binary. This
// package owns the configuration (one structure, read once), the wiring, signals and the commands.
// The rules are in packages below, and none of them reads the environment.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/signal"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	_ "time/tzdata" // container images of runs often have no time zones, and the commands in a run need them

	"github.com/alecthomas/kong"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/execution/agent"
	"github.com/penstock-dev/penstock/internal/execution/harness"
	"github.com/penstock-dev/penstock/internal/wall/inside"
)

func main() { os.Exit(runCLI(os.Args[1:])) }

// cli is the whole command line. Its fields are the configuration.
type cli struct {
	Config configFile `type:"path" placeholder:"FILE" help:"YAML file that sets flags by name; flags and environment variables override it."`

	Serve  serveCmd  `cmd:"" group:"server" help:"Run the server: API, scheduler and, by default, a worker."`
	Worker workerCmd `cmd:"" group:"server" help:"Run a worker on this machine, for a server elsewhere."`

	Run            runCmds            `cmd:"" group:"client" help:"Create, watch, steer and cancel runs."`
	Schedule       scheduleCmds       `cmd:"" group:"client" help:"Start runs on a schedule."`
	Factory        factoryCmds        `cmd:"" group:"client" help:"Manage factories and give them work."`
	Automation     automationCmds     `cmd:"" group:"client" help:"Start runs on webhook deliveries or on a schedule."`
	Webhook        webhookCmds        `cmd:"" group:"client" help:"Manage the URLs that other systems post to."`
	Environment    environmentCmds    `cmd:"" group:"client" help:"Manage environments: the repositories and setup commands of runs."`
	Network        networkCmds        `cmd:"" group:"client" help:"Explain which hosts runs may reach."`
	Agent          agentCmds          `cmd:"" group:"client" help:"Manage agents: the names and settings that runs use."`
	Secret         secretCmds         `cmd:"" group:"client" help:"Manage the secrets of runs and webhooks."`
	Budget         budgetCmds         `cmd:"" group:"client" help:"Cap what runs spend on models."`
	Forge          forgeCmds          `cmd:"" group:"client" help:"Manage connections to forges, such as GitHub and Gitea, whose repositories runs read."`
	Output         outputCmds         `cmd:"" group:"client" help:"Pull requests and comments that runs declare, and that are done after their turns."`
	Endpoint       endpointCmds       `cmd:"" group:"client" help:"Manage event endpoints, which receive signed messages about runs."`
	Subject        subjectCmds        `cmd:"" group:"client" help:"Show what events are about, and the run that works on it."`
	Occurrences    occurrencesCmd     `cmd:"" group:"client" help:"List what was due to start work, and what became of it."`
	Usage          usageCmd           `cmd:"" ids:"none" group:"client" help:"Show what runs spend on models."`
	Key            keyCmds            `cmd:"" group:"client" help:"Manage API keys."`
	User           userCmds           `cmd:"" group:"client" help:"Manage the people of the team."`
	ServiceAccount serviceAccountCmds `cmd:"" group:"client" help:"Manage service accounts: programs that own keys."`
	Grant          grantCmds          `cmd:"" group:"client" help:"Manage the roles of users, service accounts and groups."`
	Whoami         whoamiCmd          `cmd:"" ids:"none" group:"client" help:"Show who you are, and what your key may do."`
	MCP            mcpCmds            `cmd:"" name:"mcp" group:"client" help:"Connect MCP clients, such as coding agents, with factories."`

	Migrate migrateCmd  `cmd:"" group:"data" help:"Update the database schema to this version; serve also does this when it starts."`
	Backup  backupCmd   `cmd:"" group:"data" help:"Back up everything the server stores to one file; safe while the server runs."`
	Restore restoreCmd  `cmd:"" group:"data" help:"Restore a backup into an empty data folder."`
	Harness harnessCmds `cmd:"" group:"data" help:"Install harnesses that runs can use: Claude Code, Codex, Gemini CLI, OpenCode, Qwen Code."`
	Image   imageCmds   `cmd:"" group:"data" help:"Manage the container images that runs use on this machine."`
	Blobs   blobsCmds   `cmd:"" group:"data" help:"Copy stored files between folders and object stores."`
	Doctor  doctorCmd   `cmd:"" ids:"none" group:"data" help:"Check that this machine meets the server's requirements, and show how to fix problems."`

	Prices     pricesCmd     `cmd:"" group:"other" help:"Print the built-in prices of models, in the format of --prices."`
	Version    versionCmd    `cmd:"" ids:"none" group:"other" help:"Print the version."`
	Completion completionCmd `cmd:"" group:"other" help:"Print a completion script for a shell."`

	ShowVersion versionFlag `name:"version" help:"Print the version."`

	Complete completeCmd `cmd:"" hidden:"" help:"Print completions for the last word."`
}

const description = `A self-hosted control plane for coding-agent runs.

Each flag can also be set by the environment variable shown in its help. Flags of
serve, worker and the maintenance commands can be set in a --config file. An API
key is never an argument: it comes from PENSTOCK_API_KEY, from --key-file or from
a prompt.

Exit codes:
  0    success, or the run SUCCEEDED
  1    the run FAILED or ended in ERROR, or a check failed
  2    the run was CANCELLED
  3    the run is BLOCKED (run wait --until-blocked)
  64   usage error
  65   the server rejected the request
  69   the server, its database or the KMS is unavailable
  70   any other error
  77   the API key is missing or lacks permission
  78   configuration error
  124  --timeout expired
  130  interrupted`

func runCLI(args []string) int {
	std := &stdio{in: os.Stdin, out: os.Stdout, err: os.Stderr}
	switch { // hidden commands, which only a sandbox starts
	case len(args) == 1 && args[0] == "supervise", len(args) > 0 && args[0] == "enter":
		return inside.Main(args)
	case len(args) > 0 && args[0] == harness.FrontCommand:
		return agent.Front(args[1:], os.Environ())
	case len(args) == 1 && args[0] == harness.CheckCommand:
		return agent.Check(context.Background(), std.in, std.out, os.Environ())
	case len(args) == 2 && args[0] == "copy-program": // and the init container of a Pod
		return std.fail(copyProgram(args[1]))
	}
	dropEmptyVariables()
	if err := checkArguments(args); err != nil {
		return std.fail(err)
	}
	ctx, stop := untilSignal()
	defer stop()

	switch {
	case len(args) == 0:
		args = []string{"--help"}
	case args[0] == "help":
		args = append(args[1:], "--help")
	}
	parser, err := newParser(commandLine(args[0]), std, kong.BindTo(ctx, (*context.Context)(nil)))
	if err != nil {
		return std.fail(err)
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		return std.fail(explainUsage(err, args))
	}
	err = parsed.Run()
	nameInputs(err, parsed)
	return std.fail(err)
}

// untilSignal returns a context that ends with the first SIGINT or SIGTERM. From then on, the
// process does not catch them, so a second signal ends it at once. [signal.NotifyContext] releases
// them only later, and can lose a signal in between.
func untilSignal() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		<-signals
		signal.Stop(signals)
		cancel()
	}()
	return ctx, cancel
}

// commandLine returns the cli without other commands than the first word of the command line, if that
// is a command. The parser takes longer to prepare all commands than most of them take to run.
func commandLine(first string) any {
	if first == "complete" { // it completes all of them
		return &cli{}
	}
	var fields []reflect.StructField
	found := false
	for field := range reflect.TypeFor[cli]().Fields() {
		_, isCommand := field.Tag.Lookup("cmd")
		if isCommand && strings.ToLower(field.Name) != strings.ReplaceAll(first, "-", "") {
			continue
		}
		fields, found = append(fields, field), found || isCommand
	}
	if !found {
		return &cli{}
	}
	return reflect.New(reflect.StructOf(fields)).Interface()
}

// newParser builds kong's model of the command line for target, a pointer to a cli or a part of it.
func newParser(target any, std *stdio, options ...kong.Option) (*kong.Kong, error) {
	parser, err := kong.New(target, append([]kong.Option{
		kong.Name("penstock"),
		kong.Description(description),
		kong.TypeMapper(reflect.TypeFor[netip.Prefix](), kong.MapperFunc(decodeNetwork)),
		kong.TypeMapper(reflect.TypeFor[blobPlace](), kong.MapperFunc(decodeBlobPlace)),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100, NoAppDescFormat: true}),
		kong.ExplicitGroups([]kong.Group{
			{Key: "server", Title: "Server:"},
			{Key: "client", Title: "Client:"},
			{Key: "data", Title: "Maintenance:"},
			{Key: "other", Title: "Other:"},
			{Key: "connection", Title: "Connection:"},
			{Key: "result", Title: "Output:"},
		}),
		kong.Vars{
			"data": defaultDataDir(), "host": defaultHost(), "memory": defaultMemory(),
			"scopes":  strings.Join(namesOf(penstock.Scopes()), ", "),
			"schemes": strings.Join(schemeNames(), ","), "outcomes": strings.Join(outcomeNames(), ","),
			"presets": strings.Join(run.NetworkPresets(), ","),
		},
		kong.Writers(std.out, std.err),
		kong.PostBuild(nameVariables),
		kong.PostBuild(nameNouns),
		kong.Bind(std, &fileSettings{}),
	}, options...)...)
	if err != nil {
		return nil, fmt.Errorf("build the command line: %w", err)
	}
	return parser, nil
}

// The exit codes, as the description above lists them.
const (
	exitFailed      = 1
	exitCancelled   = 2
	exitBlocked     = 3
	exitUsage       = 64
	exitRefused     = 65
	exitUnavailable = 69
	exitOther       = 70
	exitNotAllowed  = 77
	exitConfig      = 78
	exitTimeout     = 124
	exitInterrupted = 130
)

// exitError ends the process with a code. If err is nil, nothing is printed.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func exitf(code int, format string, args ...any) error {
	return &exitError{code, fmt.Errorf(format, args...)}
}

// fail prints err, unless it is nil or silent, and returns its exit code.
func (s *stdio) fail(err error) int {
	if err == nil {
		return 0
	}
	code := exitOther
	if exit, ok := errors.AsType[*exitError](err); ok {
		if code = exit.code; exit.err == nil {
			return code
		}
	} else if errors.Is(err, context.Canceled) {
		return exitInterrupted
	}
	fmt.Fprintln(s.err, "penstock: "+cleanText(err.Error()))
	return code
}

// explainUsage turns a parser's error into a usage error that says what to do.
func explainUsage(err error, args []string) error {
	if exit, ok := errors.AsType[*exitError](err); ok {
		return exit
	}
	command := "penstock"
	var parse *kong.ParseError
	if errors.As(err, &parse) && parse.Context != nil {
		if node := parse.Context.Selected(); node != nil {
			command = node.FullPath()
		}
	}
	text := plainUsage(err.Error())
	switch {
	case strings.HasPrefix(command, "penstock secret "): // a wrong argument may be a secret value, so do not repeat it
		text = "cannot parse the arguments. " + howToGiveValue
	case strings.Contains(text, "unknown flag") && slices.ContainsFunc(args, isText):
		text = "a text that begins with - is read as a flag: write -- before it, after all flags, or pass - and write " +
			"the text to standard input"
	case strings.Contains(text, "unknown flag") && slices.ContainsFunc(args, namesSecret):
		text += "\na secret is never an argument, because other users of this machine could read it"
		if slices.ContainsFunc(args, func(arg string) bool { return strings.Contains(arg, "key") }) {
			text += ": " + howToGiveKey
		}
	}
	return exitf(exitUsage, "%s\nsee: %s --help", text, command)
}

// isText reports whether an argument that begins with - cannot be a flag.
func isText(arg string) bool {
	name, _, _ := strings.Cut(arg, "=")
	return strings.HasPrefix(name, "-") && strings.ContainsAny(name, " \t\r\n")
}

// plainUsage rewrites errors of the parser that are hard to read. The parser has no types for them.
// Texts that it does not know stay as they are.
func plainUsage(text string) string {
	for _, w := range parserWords() {
		text = w.theirs.ReplaceAllString(text, w.ours)
	}
	return strings.ReplaceAll(text, `","`, `", "`)
}

type parserWord struct {
	theirs *regexp.Regexp
	ours   string
}

var parserWords = sync.OnceValue(func() []parserWord {
	return []parserWord{
		{
			regexp.MustCompile(`expected duration but got ("[^"]*")(?:: time: [^(]*[^( ])?`),
			"must be a duration such as 90s or 24h, not $1",
		},
		{
			regexp.MustCompile(`expected a valid \d+ bit u?int but got ("[^"]*")(?: \(\w+\))?`),
			"must be a whole number, not $1",
		},
		{regexp.MustCompile(`expected an int but got ("[^"]*")(?: \(\w+\))?`), "must be a whole number, not $1"},
		{regexp.MustCompile(`expected a float but got ("[^"]*")(?: \(\w+\))?`), "must be a number, not $1"},
		{regexp.MustCompile(`expected bool but got ("[^"]*")(?: \(\w+\))?`), "must be true or false, not $1"},
		{regexp.MustCompile(`^(--\S+|<\S+>) must be one of (?:"",)?(.*) but got (".*")$`), "$1: must be one of $2, not $3"},
		{
			regexp.MustCompile(`expected \S+ value but got "[^"]*" \([^)]*\); perhaps try (.*)\?$`),
			"needs a value; if the value begins with -, write $1",
		},
		{regexp.MustCompile(`bool value must be .* but got (".*")`), "must be true or false, not $1"},
		{regexp.MustCompile(`missing value, expecting "<?[^"]*"`), "needs a value"},
		{regexp.MustCompile(`expected "<key>=<value>" but got (".*")`), "must have the form KEY=VALUE, not $1"},
		{regexp.MustCompile(`^expected "(<[^"]*)"$`), "missing argument $1"},
		{regexp.MustCompile(`^missing flags: (\S+)$`), "missing flag $1"},
		{regexp.MustCompile(`^expected one of (.*)$`), "missing command: one of $1"},
		{regexp.MustCompile(`\(from envar (\w+)=`), "(from the environment: $1="},
		{regexp.MustCompile(`can't be used together`), "cannot be used together"},
	}
})

// dropEmptyVariables removes variables with an empty value, which compose files often pass. An
// empty value means the default.
func dropEmptyVariables() {
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		if value == "" && strings.HasPrefix(name, "PENSTOCK_") {
			_ = os.Unsetenv(name) // fails for invalid names only
		}
	}
}

// nameVariables gives every flag its environment variable: PENSTOCK_FLAG for flags of serve, worker
// and the maintenance commands, and PENSTOCK_NOUN_VERB_FLAG for flags of one verb, so that a
// variable never affects another command by accident. A flag has a variable for each of its names.
func nameVariables(k *kong.Kong) error {
	var visit func(node *kong.Node, path []string)
	visit = func(node *kong.Node, path []string) {
		prefix := []string{"PENSTOCK"}
		if len(path) > 1 {
			prefix = append(prefix, path...)
		}
		for _, flag := range node.Flags {
			if flag.Name == "help" || flag.Name == "version" || len(flag.Envs) > 0 {
				continue
			}
			for _, name := range append([]string{flag.Name}, flag.Aliases...) {
				variable := strings.Join(append(slices.Clone(prefix), name), "_")
				flag.Envs = append(flag.Envs, strings.ToUpper(strings.ReplaceAll(variable, "-", "_")))
			}
			flag.Tag.Envs = flag.Envs
		}
		for _, child := range node.Children {
			visit(child, append(slices.Clone(path), child.Name))
		}
	}
	visit(k.Model.Node, nil)
	return nil
}
