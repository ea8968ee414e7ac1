package definition_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/definition"
)

// with returns the smallest tree plus some files, given as name and content in turn.
func with(files ...string) map[string][]byte {
	all := map[string][]byte{"factory.yaml": []byte(smallFactory), "agents/foreman/agent.md": []byte(smallForeman)}
	for i := 0; i < len(files); i += 2 {
		all[files[i]] = []byte(files[i+1])
	}
	return all
}

func findings(files map[string][]byte) string {
	_, found := definition.Parse(files, definition.Known{CheckCron: checkCron})
	return lines(found)
}

// TestPositions: lines and columns are counted as editors count them.
func TestPositions(t *testing.T) {
	t.Parallel()
	const runner = "platform: {os: macos}\n"
	for _, test := range []struct{ name, path, content, want string }{
		{
			"characters, not bytes", "runners/a.yaml", "platform: {os: macos}\ndescription: \"ä😀\" # ü\n\"ö\": 1\n",
			"runners/a.yaml:3:1: FF_UNKNOWN_FIELD",
		},
		{
			"behind characters of several bytes", "runners/a.yaml",
			"{\"description\": \"äöü😀\", oops: 1, platform: {os: macos}}\n", "runners/a.yaml:1:25: FF_UNKNOWN_FIELD",
		},
		{
			"line ends of Windows", "runners/a.yaml", "platform:\r\n  os: macos\r\noops: 1\r\n",
			"runners/a.yaml:3:1: FF_UNKNOWN_FIELD",
		},
		{
			"a byte order mark", "runners/a.yaml", "\ufeffoops: 1\nplatform: {os: macos}\n",
			"runners/a.yaml:1:1: FF_UNKNOWN_FIELD",
		},
		{
			"front matter of Windows with a byte order mark", "agents/a/agent.md",
			"\ufeff---\r\nmodel: x\r\n  \r\noops: 1\r\n---\r\nText.\r\n", "agents/a/agent.md:4:1: FF_UNKNOWN_FIELD",
		},
		{
			"a block of text above", "runners/a.yaml", "description: |\n  one\n\n  two\noops: 1\n" + runner,
			"runners/a.yaml:5:1: FF_UNKNOWN_FIELD",
		},
		{
			"no UTF-8", "runners/a.yaml", "platform: {os: macos}\ndescription: ä\xff\n",
			"runners/a.yaml:2:15: FF_INVALID_DOCUMENT",
		},
		{"NUL", "agents/a/agent.md", "---\n---\nText\x00.\n", "agents/a/agent.md:3:5: FF_INVALID_DOCUMENT"},
		{"a carriage return alone", "agents/a/agent.md", "Text\r.\n", "agents/a/agent.md:1:5: FF_INVALID_DOCUMENT"},
		{
			"an escape sequence of terminals", "agents/a/agent.md", "Text\x1b[2J\n",
			"agents/a/agent.md:1:5: FF_INVALID_DOCUMENT",
		},
		{
			"a line separator in YAML", "runners/a.yaml", runner + "description: a\u2028b\n",
			"runners/a.yaml:2:15: FF_INVALID_YAML",
		},
		{"a file of a skill that is no text", "skills/a/logo.png", "\x89PNG", "skills/a/logo.png:1:1: FF_INVALID_DOCUMENT"},
		{"a text that is never closed", "runners/a.yaml", "description: \"a\n", "runners/a.yaml:2:1: FF_INVALID_YAML"},
		{
			"a key of a terminal's escape sequence", "runners/a.yaml", runner + "\"\\e[2J\": 1\n",
			`runners/a.yaml:2:1: FF_UNKNOWN_FIELD unknown key "\x1b[2J"`,
		},
		{"an anchored key", "runners/a.yaml", runner + "&a description: x\n", "runners/a.yaml:2:1: FF_ANCHOR"},
		{"an alias as a key", "runners/a.yaml", "description: &a x\n*a : 1\n" + runner, "runners/a.yaml:2:1: FF_ALIAS"},
		{"NUL in a key", "runners/a.yaml", runner + "\"a\\0\": x\n", "runners/a.yaml:2:1: FF_INVALID_VALUE"},
		{"an alias for all", "runners/a.yaml", "*a\n", "runners/a.yaml:1:1: FF_ALIAS"},
		{
			"a second document without a first", "runners/a.yaml", "---\n---\nplatform: {os: macos}\n",
			"runners/a.yaml:2:1: FF_INVALID_YAML",
		},
		{
			"a directive below a comment", "runners/a.yaml", "# a\n\n%TAG ! a\n---\n" + runner,
			"runners/a.yaml:3:1: FF_INVALID_YAML",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			files := with(test.path, test.content)
			if strings.HasPrefix(test.path, "skills/") {
				files["skills/a/SKILL.md"] = []byte("---\nname: a\ndescription: A.\n---\nText.\n")
			}
			if got := findings(files); !strings.Contains(got, test.want) {
				t.Errorf("got:\n%swant:\n%s", got, test.want)
			}
		})
	}
}

// TestScalars: what a plain scalar means where a text, a boolean or a payload is expected. YAML 1.2
// decides. Scalars whose meaning differs between YAML versions are refused.
func TestScalars(t *testing.T) {
	t.Parallel()
	const mismatch = "FF_TYPE_MISMATCH"
	for _, test := range []struct{ scalar, text, truth, payload string }{
		{"yes", "yes", mismatch, `"yes"`},
		{"on", "on", mismatch, `"on"`},
		{"No", "No", mismatch, `"No"`},
		{"y", "y", mismatch, `"y"`},
		{"true", mismatch, "true", "true"},
		{"False", mismatch, "false", "false"},
		{`"true"`, "true", mismatch, `"true"`},
		{"~", mismatch, mismatch, "null"},
		{"null", mismatch, mismatch, "null"},
		{"", mismatch, mismatch, "null"},
		{"12", mismatch, mismatch, "12"},
		{"-0", mismatch, mismatch, "-0"},
		{"1.0", mismatch, mismatch, "1.0"},
		{"10e-1", mismatch, mismatch, "10e-1"},
		{"9007199254740993", mismatch, mismatch, "9007199254740993"},
		{"123456789012345678901234567890.10", mismatch, mismatch, "123456789012345678901234567890.10"},
		{"017", mismatch, mismatch, mismatch},
		{"08", mismatch, mismatch, mismatch},
		{"0o17", mismatch, mismatch, mismatch},
		{"0x1F", mismatch, mismatch, mismatch},
		{"0b11", mismatch, mismatch, mismatch},
		{"1_000", mismatch, mismatch, mismatch},
		{"+1", mismatch, mismatch, mismatch},
		{"1.", mismatch, mismatch, mismatch},
		{".5", mismatch, mismatch, mismatch},
		{".inf", mismatch, mismatch, mismatch},
		{"-.INF", mismatch, mismatch, mismatch},
		{".nan", mismatch, mismatch, mismatch},
		{`"017"`, "017", mismatch, `"017"`},
		{"2026-01-31", "2026-01-31", mismatch, `"2026-01-31"`},
		{"12:30", "12:30", mismatch, `"12:30"`},
		{"1.2.3", "1.2.3", mismatch, `"1.2.3"`},
		{"3f2a", "3f2a", mismatch, `"3f2a"`},
		{"'it''s'", "it's", mismatch, `"it's"`},
		{`"\u00e9<&>\""`, `é<&>"`, mismatch, `"é<&>\""`},
	} {
		t.Run(test.scalar, func(t *testing.T) {
			t.Parallel()
			files := with("runners/a.yaml", "description: "+test.scalar+"\nplatform: {os: macos}\n")
			if got, found := definition.Parse(files, definition.Known{}); got == nil {
				if test.text != mismatch || !strings.Contains(lines(found), "runners/a.yaml:1:") ||
					!strings.Contains(lines(found), mismatch) {
					t.Errorf("as a text: got %s", lines(found))
				}
			} else if got.Runners[0].Description != test.text {
				t.Errorf("as a text: got %q, want %q", got.Runners[0].Description, test.text)
			}
			files = with("webhooks/a.yaml", "secretName: A\nenabled: "+test.scalar+"\n")
			if got, found := definition.Parse(files, definition.Known{}); got == nil {
				if test.truth != mismatch || !strings.Contains(lines(found), mismatch) {
					t.Errorf("as a truth value: got %s", lines(found))
				}
			} else if fmt.Sprint(*got.Webhooks[0].Enabled) != test.truth {
				t.Errorf("as a truth value: got %v, want %s", *got.Webhooks[0].Enabled, test.truth)
			}
			files = with(
				"automations/a.md",
				"---\ntriggers:\n- provider: webhook\n  event: received\n  filter:\n    webhook_ids: [3kTMd9PqVxZ0aBcDeFgH1j]\n"+
					"    payload:\n      on:\n      - "+test.scalar+"\n---\nText.\n",
			)
			if got, found := definition.Parse(files, definition.Known{}); got == nil {
				if test.payload != mismatch || !strings.Contains(lines(found), "automations/a.md:9:9: "+mismatch) {
					t.Errorf("in a payload filter: got %s", lines(found))
				}
			} else if text := string(got.Automations[0].Triggers[0].Filter); !strings.HasSuffix(
				text, `"payload":{"on":[`+test.payload+`]}}`,
			) || !json.Valid([]byte(text)) {
				t.Errorf("in a payload filter: got %s, want %s", text, test.payload)
			}
		})
	}
}

func TestOutput(t *testing.T) {
	t.Parallel()
	d := definition.Diagnostic{
		Code: definition.UnknownField, Message: "100% of a:\r\nb", Path: "a,b:c.yaml", Line: 2, Column: 3,
		Severity: definition.SeverityWarning, Nearest: "x",
	}
	if got, want := d.GitHub(), `::warning file=a%2Cb%3Ac.yaml,line=2,`+
		`col=3::FF_UNKNOWN_FIELD (warning) 100%25 of a:%0D%0Ab; did you mean "x"?`; got != want {
		t.Errorf("for GitHub: got %s, want %s", got, want)
	}
	d = definition.Diagnostic{
		Code: definition.UnsupportedPath, Message: "m", Path: "a\x1b[2J\nb", Line: 1, Column: 1,
		Severity: definition.SeverityError,
	}
	if got, want := d.String(), `"a\x1b[2J\nb":1:1: FF_UNSUPPORTED_PATH m`; got != want {
		t.Errorf("for a terminal: got %s, want %s", got, want)
	}
	text, err := json.Marshal(d)
	if want := `{"code":"FF_UNSUPPORTED_PATH","message":"m","path":"a\u001b[2J\nb","line":1,"column":1,` +
		`"severity":"error"}`; err != nil || string(
		text,
	) != want {
		t.Errorf("as JSON: got %s (%v), want %s", text, err, want)
	}
	long := findings(with("runners/a.yaml", "platform: {os: "+strings.Repeat("ä", 5000)+"}\n"))
	if len(long) > 400 || !strings.Contains(long, "…") {
		t.Errorf("a long value is cut: got %s", long)
	}
}

// TestHostile: any tree yields findings, quickly and with little memory.
func TestHostile(t *testing.T) {
	t.Parallel()
	trees := map[string]map[string][]byte{}
	runner := func(name, content string) { trees[name] = with("runners/a.yaml", content) }
	laughs := "a0: &a0 x\n"
	for i := range 100 {
		laughs += fmt.Sprintf(
			"a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i), 9), ","),
		)
	}
	runner("a billion laughs", laughs)
	runner("lists in lists", strings.Repeat("[", 100_000))
	runner("closed lists in lists", "a: "+strings.Repeat("[", 9_000)+strings.Repeat("]", 9_000))
	runner("mappings in mappings", strings.Repeat("{a: ", 50_000))
	runner("dashes", strings.Repeat("- ", 50_000))
	runner("many values in one line", "setupCommands: ["+strings.Repeat("a,", 1<<20)+"]\n")
	runner("many unknown keys", func() string {
		var b strings.Builder
		for i := range 60_000 {
			fmt.Fprintf(&b, "descriptio%d: x\n", i)
		}
		return b.String()
	}())
	runner("many unknown keys in braces", func() string {
		var b strings.Builder
		for i := range 140_000 {
			fmt.Fprintf(&b, "a%d,", i)
		}
		return "{" + b.String() + "}"
	}())
	runner("many anchors", strings.Repeat("- &a b\n", 60_000))
	runner("a long key", strings.Repeat("k", 1<<20)+": x\n")
	runner("a line of 3 MB", "platform: {os: macos}\ndescription: "+strings.Repeat("x", 3<<20)+"\n")
	runner("a line of 10 MB", strings.Repeat("x", 10<<20))
	runner("only line breaks", strings.Repeat("\n", 3<<20))
	runner("only fences", strings.Repeat("---\n", 60_000))
	runner("only NUL", strings.Repeat("\x00", 1<<20))
	trees["deep filters"] = with(
		"automations/a.md",
		"---\ntriggers:\n- provider: webhook\n  event: received\n  filter:\n    webhook_ids: [x]\n    payload: "+
			strings.Repeat("{a: ", 5000)+"[1]"+strings.Repeat("}", 5000)+"\n---\nText.\n",
	)
	trees["fences of front matter"] = with("agents/a/agent.md", strings.Repeat("---\n", 500_000))
	many := with()
	for i := range definition.MaxFiles + 1 {
		many[fmt.Sprintf("runners/r%d.yaml", i)] = []byte("platform: {os: macos}\n")
	}
	trees["1,001 files and more"] = many
	large := with()
	for i := range 5 {
		large[fmt.Sprintf("skills/s/part%d.txt", i)] = []byte(strings.Repeat("x", definition.MaxBytes/5))
	}
	trees["4 MB and more"] = large
	for name, files := range trees {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			got, found := definition.Parse(files, definition.Known{})
			if got != nil || len(found) == 0 || len(found) > 1001 {
				t.Errorf("got a definition or %d findings", len(found))
			}
			for _, d := range found {
				if d.Line < 1 || d.Column < 1 || d.Path == "" || len(d.Message) > 1500 {
					t.Errorf("odd finding: %.300s", d)
				}
			}
			t.Logf("%d findings in %s", len(found), time.Since(start))
		})
	}
}

// TestTooManyLevelsSayWhatIsWrong: the scanner stops at a bracket, which is no character to put in quotes.
func TestTooManyLevelsSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, bracket := range []string{"[", "{"} {
		got := findings(with("runners/deep.yaml", "a: "+strings.Repeat(bracket, 20_000)))
		if strings.Contains(got, "cannot begin with this character") || !strings.Contains(got, "FF_INVALID_YAML") {
			t.Errorf("%s: got %.300s", bracket, got)
		}
	}
}

// TestLimits: a tree of the maximum size is accepted.
func TestLimits(t *testing.T) {
	t.Parallel()
	files := with()
	for i := range definition.MaxFiles - 2 {
		files[fmt.Sprintf("runners/r%d.yaml", i)] = []byte("platform: {os: macos}\n")
	}
	if got := findings(files); got != "" {
		t.Errorf("1,000 files: got %s", got)
	}
	size := 0
	files = with("skills/s/SKILL.md", "---\nname: s\ndescription: S.\n---\nText.\n")
	for _, content := range files {
		size += len(content)
	}
	files["skills/s/data.txt"] = []byte(strings.Repeat("x", definition.MaxBytes-size))
	if got := findings(files); got != "" {
		t.Errorf("4 MB: got %s", got)
	}
	files["skills/s/data.txt"] = append(files["skills/s/data.txt"], 'x')
	if got, want := findings(
		files,
	), "skills/s/data.txt:1:1: FF_INVALID_DOCUMENT the factory has 4194305 bytes; at most 4194304 (4 MB) are allowed: "+
		"this is its largest file\n"; got != want {
		t.Errorf("4 MB and a byte: got %s, want %s", got, want)
	}
}

// TestLimitsOfTheAPI: sizes that the API would refuse.
func TestLimitsOfTheAPI(t *testing.T) {
	t.Parallel()
	servers := ""
	for i := range 51 {
		servers += fmt.Sprintf("  s%d: {url: \"https://example.com\"}\n", i)
	}
	for _, test := range []struct{ name, path, content, want string }{
		{"a name", "runners/a.yaml", "description: x\nplatform: {os: macos}\n", ""},
		{
			"a long name", "agents/a/agent.md", "---\nmodel: " + strings.Repeat("ä", 51) + "\n---\n",
			"agents/a/agent.md:2:8: FF_INVALID_VALUE model must be at most 100 bytes, not 102",
		},
		{
			"a name with an escape sequence", "agents/a/agent.md", "---\nmodel: \"a\\e[2J\"\n---\n",
			`agents/a/agent.md:2:8: FF_INVALID_VALUE model must be one non-empty line without control characters, ` +
				`not "a\x1b[2J"`,
		},
		{
			"a long description", "agents/a/agent.md", "---\ndescription: " + strings.Repeat("x", 4097) + "\n---\n",
			"agents/a/agent.md:2:14: FF_INVALID_VALUE description must be at most 4096 bytes, not 4097",
		},
		{
			"a long prompt", "agents/a/agent.md", "---\n---\n" + strings.Repeat("x", 256<<10+1) + "\n",
			"agents/a/agent.md:3:1: FF_INVALID_DOCUMENT the prompt has 262145 bytes; at most 262144 are allowed",
		},
		{
			"a large configuration", "agents/a/agent.md",
			"---\nmcpServers:\n  x: {command: " + strings.Repeat("x", 200_000) + "}\n---\n" + strings.Repeat("p", 100_000),
			"agents/a/agent.md:1:1: FF_INVALID_DOCUMENT the configuration has 300053 bytes of JSON, including the " +
				"agent's prompt; at most 262144 are allowed",
		},
		{
			"a large runner", "runners/a.yaml",
			"platform: {linux: {dockerImage: a}}\nsetupCommands:\n" + strings.Repeat("  - "+strings.Repeat("x", 1000)+"\n", 300),
			"runners/a.yaml:1:1: FF_INVALID_DOCUMENT the runner has 300972 bytes as JSON; at most 262144 are allowed",
		},
		{
			"many MCP servers", "agents/a/agent.md", "---\nmcpServers:\n" + servers + "---\n",
			"agents/a/agent.md:3:3: FF_INVALID_MCP mcpServers: has 51 entries; at most 50 are allowed",
		},
	} {
		if got := findings(with(test.path, test.content)); strings.TrimSpace(got) != test.want {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
	}
}

// TestTrees: findings about a tree as a whole, or about its other files.
func TestTrees(t *testing.T) {
	t.Parallel()
	agents := []string{}
	for i := range 13 {
		agents = append(agents, fmt.Sprintf("agents/a%d/agent.md", i), "")
	}
	const scheduled = "---\ntriggers: [{provider: schedule, event: cron_fired, schedule: {cron: \"@daily\"}}]\nagent: " +
		"nobody\n---\nText.\n"
	for _, test := range []struct {
		name  string
		files map[string][]byte
		want  string
	}{
		{
			"no agents",
			map[string][]byte{"factory.yaml": []byte(smallFactory)},
			"factory.yaml:1:1: FF_MISSING_REQUIRED the factory has no agents",
		},
		{"nothing at all", nil, "factory.yaml:1:1: FF_MISSING_FACTORY factory.yaml is missing"},
		{
			"a foreman that cannot be read", with("agents/foreman/agent.md", "---\na: [\n---\n"),
			"agents/foreman/agent.md:3:1: FF_INVALID_YAML",
		},
		{"an empty factory", with("factory.yaml", ""), "factory.yaml:1:1: FF_INVALID_DOCUMENT the document is empty\n"},
		{"an empty webhook", with("webhooks/a.yaml", ""), "webhooks/a.yaml:1:1: FF_INVALID_DOCUMENT the document is empty\n"},
		{
			"an empty suite", with("benchmarks/a/suite.yaml", "\n"),
			"benchmarks/a/suite.yaml:1:1: FF_INVALID_DOCUMENT the document is empty\n",
		},
		{
			"a name among many", with(append(agents, "automations/a.md", scheduled)...),
			"automations/a.md:3:8: FF_INVALID_REFERENCE the factory has no agent \"nobody\"; it has others\n",
		},
		{
			"a name that nothing is near to", with("webhooks/ä.yaml", "secretName: A\n"),
			"webhooks/ä.yaml:1:1: FF_UNSUPPORTED_PATH \"ä\" cannot be a name of the kind webhook: it must be 1 to 63 " +
				"lower-case letters, digits and -, the first one a letter or digit\n",
		},
		{
			"a long path", with("skills/a/"+strings.Repeat("x", 512), "x"),
			"FF_UNSUPPORTED_PATH a path must have at most 512 bytes\n",
		},
		{
			"a file that is a folder, too",
			with("skills/a/SKILL.md", "---\nname: a\ndescription: b\n---\nText.\n", "skills/a/SKILL.md/b/c", "x"),
			"skills/a/SKILL.md/b/c:1:1: FF_UNSUPPORTED_PATH skills/a/SKILL.md is a file, so it cannot contain other files\n",
		},
		{
			"a path with a line break", with("runners/a\nb.yaml", "x"),
			"\"runners/a\\nb.yaml\":1:1: FF_UNSUPPORTED_PATH a path must be printable UTF-8 text\n",
		},
		{
			"a path that is no text", with("runners/\xff.yaml", "x"),
			"FF_UNSUPPORTED_PATH a path must be printable UTF-8 text\n",
		},
		{
			"an MCP server that is no mapping", with("agents/a/agent.md", "---\nmcpServers: {a: x}\n---\n"),
			"agents/a/agent.md:2:17: FF_TYPE_MISMATCH each of mcpServers must be a mapping, not the text \"x\"\n",
		},
		{
			"an MCP server without a name", with("agents/a/agent.md", "---\nmcpServers: {\" \": {id: x}}\n---\n"),
			"agents/a/agent.md:2:19: FF_INVALID_MCP an MCP server needs a name, which the agent sees\n",
		},
		{
			"a harness that is no name", with("agents/a/agent.md", "---\nharness: {type: a b, model: x}\n---\n"),
			"agents/a/agent.md:2:17: FF_INVALID_VALUE type must be the name of a harness, such as builtin or claude, not \"a " +
				"b\"\n",
		},
		{
			"a filter without a value",
			with("automations/a.md", "---\ntriggers: [{provider: github, event: push, filter: }]\n---\nText.\n"), "",
		},
		{
			"a filter that is an alias",
			with("automations/a.md", "---\ntriggers: [{provider: github, event: push, filter: &a {repos: *a}}]\n---\nText.\n"),
			"FF_ALIAS",
		},
		{
			"a scorer that passes nothing",
			with(
				"scorers/a/scorer.md",
				"---\nagents: [foreman]\nlabels: [{value: a, score: 0}]\npassingScore: 1\nmodel: m\n---\nText.\n",
			),
			"FF_INVALID_VALUE at least one label must reach passingScore",
		},
		{
			"a scorer without a rubric",
			with(
				"scorers/a/scorer.md",
				"---\nagents: [foreman]\nlabels: [{value: a, score: 0}, {value: b, score: 1}]\npassingScore: 1\nmodel: m\n---\n",
			),
			"scorers/a/scorer.md:7:1: FF_INVALID_DOCUMENT the rubric is missing",
		},
		{
			"a skill that cannot be read, which does not keep the others from being applied",
			with("skills/a/SKILL.md", "---\nname: a\ndescription: A.\n"),
			"skills/a/SKILL.md:1:1: FF_INVALID_DOCUMENT (warning) agents do not get this skill: the front matter does not end",
		},
	} {
		switch got := findings(test.files); {
		case test.want == "" && got != "", !strings.Contains(got, test.want), strings.HasSuffix(test.want, "\n") &&
			strings.Count(got, "\n") != 1:
			t.Errorf("%s: got\n%swant\n%s", test.name, got, test.want)
		}
	}
}

// TestOrderDoesNotMatter: the same tree always gives the same findings.
func TestOrderDoesNotMatter(t *testing.T) {
	t.Parallel()
	files := with(
		"agents/A/agent.md", "", "agents/a/agent.md", "", "automations/x.md", "", "automations/x/automation.md", "",
		"webhooks/a.yaml", "a: 1", "webhooks/b.yaml", "b: 1",
	)
	first := findings(files)
	for range 20 {
		if diff := cmp.Diff(first, findings(files)); diff != "" {
			t.Fatalf("findings (-first +again):\n%s", diff)
		}
	}
}

// TestKnown: checks that need the server's knowledge.
func TestKnown(t *testing.T) {
	t.Parallel()
	files := with(
		"factory.yaml",
		"schemaVersion: v1alpha1\nname: x\nalias: Taken\nsecrets: [API_KEY]\nagentDefaults: {model: m, environmentId: e1, "+
			"runner: r1}\n"+
			"mcpServers:\n  a:\n    command: x\n    env: {T: \"${{ secrets.API_KEX }}\"}\n  b: {id: mcp-2}\n",
		"agents/foreman/agent.md",
		"---\nagentType: FOREMAN\nharness:\n  type: codxe\n  model: m\n  auth: {source: managedSecret, secretName: "+
			"API_KEZ}\n---\n",
		"webhooks/a.yaml", "authMode: url_token\nsecretName: API_KEY\n",
		"webhooks/b.yaml", "secretName: API_KEI\n",
		"runners/a.yaml", "platform: {linux: {dockerImage: x, registryCredentialSecretName: NONE}}\n",
		"automations/a.md",
		"---\ntriggers:\n- {provider: webhook, event: received, filter: {webhook_ids: [uid1, uid2, a]}}\n- {provider: "+
			"schedule, event: cron_fired, filter: {schedule_ids: [s1, s2]}}\nenvironmentId: e2\n---\nText.\n",
	)
	judge := func(name string) (problem, nearest string) {
		if name == "API_KEY" {
			return "", ""
		}
		return fmt.Sprintf("the team has no managed secret %q", name), penstock.Nearest(name, []string{"API_KEY"})
	}
	known := definition.Known{
		Harnesses: []string{"builtin", "claude", "codex"}, RunSecret: judge, Environments: []string{"e1"},
		Runners:    []string{"r1"},
		MCPServers: []string{"mcp-1"}, WebhookUIDs: []string{"uid1"}, ScheduleIDs: []string{"s1"},
		WebhookSecret: func(webhook, name string) (problem, nearest string) {
			problem, nearest = judge(name)
			return strings.Replace(problem, "the team has", webhook+" has", 1), nearest
		},
		NotURLSafe: func(name string) bool { return name == "API_KEY" },
		Taken:      func(name, alias string) (nameTaken, aliasTaken bool) { return name == "x", alias == "Taken" },
	}
	_, found := definition.Parse(files, known)
	want := `agents/foreman/agent.md:4:9: FF_INVALID_REFERENCE the server has no harness "codxe"; ` +
		`it has builtin, claude, codex; did you mean "codex"?
agents/foreman/agent.md:6:45: FF_INVALID_REFERENCE the team has no managed secret "API_KEZ"; did you mean "API_KEY"?
automations/a.md:3:69: FF_INVALID_REFERENCE (warning) no webhook has the UID or file name "uid2", so it starts no runs
automations/a.md:4:71: FF_INVALID_REFERENCE (warning) no schedule has the id "s2", so it starts no runs
automations/a.md:5:16: FF_INVALID_REFERENCE the team has no environment "e2"; did you mean "e1"?
factory.yaml:2:7: FF_INVALID_VALUE another factory of the team has the name or alias "x"
factory.yaml:3:8: FF_INVALID_VALUE another factory of the team has the name or alias "Taken"
factory.yaml:9:14: FF_INVALID_REFERENCE the team has no managed secret "API_KEX"; did you mean "API_KEY"?
factory.yaml:10:6: FF_INVALID_MCP (warning) the team has no managed MCP server "mcp-2": ` +
		`runs start without it; did you mean "mcp-1"?
runners/a.yaml:1:66: FF_INVALID_REFERENCE the team has no managed secret "NONE"
webhooks/a.yaml:2:13: FF_INVALID_VALUE the secret API_KEY cannot be part of a URL: ` +
		`with url_token, only A-Z a-z 0-9 - . _ ~ are allowed
webhooks/b.yaml:1:13: FF_INVALID_REFERENCE b has no managed secret "API_KEI"; did you mean "API_KEY"?
`
	if diff := cmp.Diff(want, lines(found)); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

// TestInheritance: a harness with the worker's credentials needs a worker, whichever layer sets it.
func TestInheritance(t *testing.T) {
	t.Parallel()
	const auth = "harness:\n  type: claude\n  model: m\n  auth: {source: workerEnvironment}\n"
	const trigger = "triggers: [{provider: schedule, event: cron_fired, schedule: {cron: \"@daily\"}}]\n"
	for _, test := range []struct {
		name, factory, agent, automation string
		refused                          bool
	}{
		{"in the automation", "", "", auth + "workerHost: w\n", false},
		{"from the agent", "", "workerHost: w\n", auth, false},
		{"from the factory", "  workerHost: w\n", "", auth, false},
		{"from the factory to the agent", "  workerHost: w\n", auth, "", false},
		{"nowhere", "", "", auth, true},
		{"one that is not self-hosted", "  workerHost: w\n", "workerHost: warp\n", auth, true},
	} {
		files := with("factory.yaml", smallFactory+test.factory, "agents/foreman/agent.md", "---\nagentType: "+
			"FOREMAN\n"+test.agent+"---\n",
			"automations/a.md", "---\n"+trigger+test.automation+"---\nText.\n")
		if got := findings(files); strings.Contains(got, "workerEnvironment needs") != test.refused ||
			!test.refused && got != "" {
			t.Errorf("%s: got %q", test.name, got)
		}
	}
}

// TestTriggers covers every event of every provider with every key of its filters.
func TestTriggers(t *testing.T) {
	t.Parallel()
	for _, provider := range penstock.Providers() {
		for _, event := range penstock.TriggerEvents(provider) {
			trigger := fmt.Sprintf("{provider: %s, event: %s, ", provider, event)
			if provider == "schedule" {
				trigger += "schedule: {cron: \"@daily\"}, "
			}
			trigger += "filter: {"
			for _, key := range penstock.TriggerKeys(provider) {
				switch key {
				case "payload":
					trigger += "payload: {a: [1]}, "
				case "webhook_ids":
					trigger += "webhook_ids: [3kTMd9PqVxZ0aBcDeFgH1j], "
				case "schedule_ids":
				case "pr_numbers":
					trigger += "pr_numbers: {in: [1], not_in: []}, "
				default:
					trigger += key + ": {in: [x], not_in: [z]}, "
				}
			}
			if got := findings(with("automations/a.md", "---\ntriggers:\n- "+trigger+"}}\n---\nText.\n")); got != "" {
				t.Errorf("%s %s: got %s", provider, event, got)
			}
		}
	}
}

// TestFilesAndAPIRejectTheSameTriggers: files refuse the same triggers as the API, at the right place.
func TestFilesAndAPIRejectTheSameTriggers(t *testing.T) {
	t.Parallel()
	const head = "---\ntriggers:\n- provider: github\n  event: push\n  filter:\n    "
	for _, test := range []struct{ name, filter, want string }{
		{"a number that no pull request has", "pr_numbers: [1, 0]", "6:21: FF_INVALID_FILTER filter/pr_numbers/1: must be"},
		{
			"too many values", "labels: [" + strings.Repeat("a, ", 101) + "]",
			"6:13: FF_INVALID_FILTER filter/labels: has 101 values",
		},
		{
			"a value that is too long", "labels: [" + strings.Repeat("a", 257) + "]",
			"6:14: FF_INVALID_FILTER filter/labels/0: must be",
		},
	} {
		if got := findings(
			with("automations/a.md", head+test.filter+"\n---\nText.\n"),
		); !strings.Contains(got, "automations/a.md:"+test.want) {
			t.Errorf("%s: got %s", test.name, got)
		}
	}
	many := "---\ntriggers:\n" + strings.Repeat("- {provider: github, event: push}\n", 21) + "---\nText.\n"
	if got, want := findings(
		with("automations/a.md", many),
	), "automations/a.md:3:1: FF_INVALID_TRIGGER an automation has 21 triggers; at most 20 are allowed\n"; got != want {
		t.Errorf("21 triggers: got %s, want %s", got, want)
	}
}
