package main_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/penstock-dev/penstock/internal/supply/price"
	"github.com/penstock-dev/penstock/internal/testkit"
)

func TestCostOfRunsComesFromTheOperatorsList(t *testing.T) {
	t.Parallel()
	list := writeFile(t, "prices.yaml", "models:\n  openai/gpt-test: {input: 2.5, output: 10}\n")
	s := testkit.Serve(t, testkit.ServeOptions{Args: []string{"--no-worker", "--prices", list}})
	startPriced(t, s, testkit.NewModel(t, testkit.Turn{Text: "Done.", InputTokens: 1000, OutputTokens: 7}), list)
	env := client(s)

	run := getRun(t, env, startRun(t, env, "Fix the login", "--model", "openai/gpt-test", "--wait"))
	want := 0.00257 // 1000 × 2.5 and 7 × 10 millionths
	if run.Usage == nil || run.Usage.InferenceCostUSD == nil || *run.Usage.InferenceCostUSD != want {
		t.Errorf("got %+v, want %v US dollars", run.Usage, want)
	}
	// The list replaces the built-in one, so the models of the built-in list have no price.
	run = getRun(t, env, startRun(t, env, "Fix the login", "--model", "openai/gpt-6-luna", "--wait"))
	if run.Usage == nil || run.Usage.TotalTokens != 1007 || run.Usage.InferenceCostUSD != nil {
		t.Errorf("got %+v, want 1007 tokens without a cost", run.Usage)
	}
}

func TestPrintedPricesAreAFileForPrices(t *testing.T) {
	t.Parallel()
	printed := call(t, nil, "prices")
	printed.want(t, 0, price.Default().Date(), "genai-prices", "litellm")
	table, err := price.Parse([]byte(printed.out))
	if err != nil || !table.Known("anthropic", "claude-opus-5-5") {
		t.Errorf("got %v, %v", table, err)
	}
}

func TestInvalidPricesStopTheStart(t *testing.T) {
	t.Parallel()
	list := writeFile(t, "prices.yaml", "models:\n  corp/large: {input: -1, output: 2}\n")
	for _, path := range []string{list, "nowhere.yaml"} {
		args := []string{"serve", "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--prices", path}
		call(t, nil, args...).want(t, 78, "--prices", path)
	}
}

// The example in docs/prices.md costs what the page says.
func TestListInTheDocument(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/prices.md")
	if err != nil {
		t.Fatal(err)
	}
	example := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(page)
	if example == nil {
		t.Fatal("the page has no list")
	}
	table, err := price.Parse(example[1])
	if err != nil {
		t.Fatal(err)
	}
	usage := price.Usage{Input: 100_001}
	cost, ok := table.Cost(price.Call{Provider: "demo-corp", Model: "large", Region: "us", Usage: usage})
	if want := int64(660_006_600); !ok || cost != want { // 100,001 tokens at 6 US dollars per million, and a tenth
		t.Errorf("got %d, %v; want %d", cost, ok, want)
	}
	if cost, ok := table.Cost(price.Call{Provider: "local", Model: "any", Usage: usage}); !ok || cost != 0 {
		t.Errorf("a free provider costs %d, %v", cost, ok)
	}
}
