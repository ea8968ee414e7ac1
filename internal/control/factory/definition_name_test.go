package factory_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// The finding about a name or alias that another factory uses is at its line, however the files
// arrive. A factory may keep its own.
func TestNamesOfOtherFactoriesInFiles(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		w.createFactory("Payments", "pay")
		own := w.createFactory("Own", "mine")
		for _, test := range []struct{ name, alias, want string }{
			{"Own", "mine", ""},
			{"Own", "", ""},
			{"Own", "own", ""},
			{"Own", "PAY", "factory.yaml:3 another factory of the team has the name or alias \"PAY\"\n"},
			{"Own", "payments", "factory.yaml:3 another factory of the team has the name or alias \"payments\"\n"},
			{"Third", "mine", "factory.yaml:3 another factory of the team has the name or alias \"mine\"\n"},
			{"Pay", "", "factory.yaml:2 another factory of the team has the name or alias \"Pay\"\n"},
			{"pay", "payments", "factory.yaml:2 another factory of the team has the name or alias \"pay\"\n" +
				"factory.yaml:3 another factory of the team has the name or alias \"payments\"\n"},
		} {
			files := map[string]string{
				"factory.yaml": fmt.Sprintf(
					"schemaVersion: v1alpha1\nname: %s\nalias: %q\nagentDefaults: {model: auto}\n", test.name, test.alias,
				),
				"agents/lead/agent.md": "---\nagentType: FOREMAN\n---\nLead.\n",
			}
			if test.alias == "" {
				files["factory.yaml"] = strings.Replace(files["factory.yaml"], "alias: \"\"\n", "", 1)
			}
			wantReport := func(entrance string, err error, found []penstock.Diagnostic) {
				got := ""
				for _, d := range append(found, testworld.Findings(err)...) {
					got += fmt.Sprintf("%s:%d %s\n", d.Path, d.Line, d.Message)
				}
				if diff := cmp.Diff(test.want, got); diff != "" ||
					err != nil && penstock.CodeOf(err) != penstock.CodeInvalidDefinition {
					w.T.Errorf("%s %q, %q: %v (-want +got):\n%s", entrance, test.name, test.alias, err, diff)
				}
			}
			if test.name != "Third" {
				_, err := w.Factories.Apply(ctx, w.Admin, own.UID, factory.ApplyRequest{Files: files, DryRun: true})
				wantReport("apply", err, nil)
			}
			result, err := w.Factories.Validate(ctx, w.Admin, files)
			if err != nil || result.Valid != (test.want == "") {
				w.T.Errorf("validate %q, %q: got %t, %v", test.name, test.alias, result.Valid, err)
			}
			wantReport("validate", nil, result.Diagnostics)
			if test.name != "Own" { // a new one
				_, err = w.Factories.Create(ctx, w.Admin, factory.FactoryRequest{Files: files})
				if test.name == "Third" {
					wantReport("create", err, nil)
				} else {
					testworld.WantCode(w.T, err, penstock.CodeConflict, test.name)
				}
			}
		}
	})
}
