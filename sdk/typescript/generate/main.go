// Command generate writes the generated sources of the TypeScript SDK: the types of the contract's
// schemas, and its operations as methods of resources. The names of the operations are in
// sdk/operations.yaml. Everything else follows from api/openapi.yaml. An operation without a name
// is an error, so that no part of the contract is missing unnoticed.
package main

//go:generate go run . -operations ../../operations.yaml -out ../src

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v4"

	"github.com/penstock-dev/penstock/api"
)

func main() {
	operations := flag.String("operations", "", "file that names the operations")
	out := flag.String("out", "", "folder of the sources")
	flag.Parse()
	if err := run(*operations, *out); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(operations, out string) error {
	var doc document
	if err := yaml.Unmarshal(api.OpenAPI, &doc); err != nil {
		return fmt.Errorf("read the contract: %w", err)
	}
	text, err := os.ReadFile(filepath.Clean(operations))
	if err != nil {
		return err
	}
	var names ordered[operationName]
	if err := yaml.Unmarshal(text, &names); err != nil {
		return fmt.Errorf("read %s: %w", operations, err)
	}
	list, err := doc.operations(names)
	if err != nil {
		return err
	}
	for name, content := range map[string]string{
		"types.gen.ts":     types(&doc, list),
		"resources.gen.ts": resources(&doc, list),
		"routes.gen.ts":    routes(&doc, list),
	} {
		//nolint:gosec // everybody may read sources
		if err := os.WriteFile(filepath.Join(out, name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}
