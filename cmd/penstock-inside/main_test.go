package main

import (
	"os/exec"
	"strings"
	"testing"
)

// Several processes of this program start for each run, so it must stay small. These packages are
// what makes others slow to start, or large.
func TestImportsLittle(t *testing.T) {
	t.Parallel()
	const form = "{{if .Standard}}std {{end}}{{.ImportPath}}"
	out, err := exec.Command("go", "list", "-deps", "-f", form, ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		name, std := strings.CutPrefix(strings.TrimSpace(line), "std ")
		allowed := std && name != "net/http" && name != "crypto/tls" && name != "regexp" && name != "text/template"
		switch name {
		case "github.com/penstock-dev/penstock/cmd/penstock-inside", "github.com/penstock-dev/penstock/internal/wall/inside",
			"golang.org/x/sys/unix":
			allowed = true
		}
		if !allowed {
			t.Errorf("it imports %s", name)
		}
	}
}
