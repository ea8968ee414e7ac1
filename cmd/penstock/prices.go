package main

import (
	"os"
	"strings"

	"github.com/penstock-dev/penstock/internal/price"
)

// priceFile is the path of --prices; "": the built-in list.
type priceFile string

// prices returns the price list: that of f, with the prices that the configuration file has
// for its providers.
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
