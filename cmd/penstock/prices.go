package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/supply/price"
)

// priceFile is the path of --prices; "": the built-in list.
type priceFile string

// prices returns the price list f, with the prices that the configuration file sets for its
// providers.
func (s *fileSettings) prices(f priceFile) (*price.Table, error) {
	table, err := f.table()
	if err != nil {
		return nil, err
	}
	for _, p := range allProviders(s) {
		if own := s.Providers[p.Name].Prices; own != nil {
			table = table.With(strings.TrimSuffix(p.ModelID(""), "/"), *own)
		}
	}
	return table, nil
}

// table reads the file. A file that is invalid is a configuration error.
func (f priceFile) table() (*price.Table, error) {
	if f == "" {
		return price.Default(), nil
	}
	content, err := os.ReadFile(string(f))
	if err != nil {
		return nil, exitf(exitConfig, "--prices: %w", err)
	}
	table, err := price.Parse(content)
	if err != nil {
		return nil, exitf(exitConfig, "--prices %s: %w", f, err)
	}
	return table, nil
}

// unpriced returns a function that explains why a model of this server's providers has no price, with the
// line of the configuration that fixes it. It returns "" for any other model.
func (s *fileSettings) unpriced(table *price.Table) func(modelID string) string {
	providers := allProviders(s)
	return func(modelID string) string {
		id, _ := penstock.CanonicalModelID(modelID)
		for _, p := range providers {
			prefix := p.ModelID("")
			model, ok := strings.CutPrefix(id, prefix)
			if !ok || model == "" {
				continue
			}
			if table.Known(strings.TrimSuffix(prefix, "/"), model) {
				return ""
			}
			why := fmt.Sprintf("A budget on costs applies to this run, and the model %.200q has no price. ", id)
			if p.Private() {
				return why + fmt.Sprintf("If it costs nothing, the operator adds the line \"prices: free\" to providers.%s in the "+
					"configuration of the server.", p.Name)
			}
			return why + fmt.Sprintf("The operator sets \"prices\" of providers.%s in the configuration of the server, such as "+
				"\"prices: {input: 3, output: 15}\" in US dollars per million tokens.", p.Name)
		}
		return ""
	}
}

type pricesCmd struct{}

func (*pricesCmd) Help() string {
	return "The list begins with its date and its sources. Prices are in US dollars per million tokens, and those of " +
		"tools per thousand uses. docs/prices.md describes the format."
}

// Run prints the list unchanged, so that its output is a file for --prices.
func (*pricesCmd) Run(std *stdio) error {
	_, err := std.out.Write(price.Builtin())
	return err
}
