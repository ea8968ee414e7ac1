package definition_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/penstock-dev/penstock/internal/control/definition"
)

// BenchmarkParse validates a tree of 500 files.
func BenchmarkParse(b *testing.B) {
	files := map[string][]byte{}
	valid := validTree(b)
	maps.Copy(files, valid)
	for i := 0; len(files) < 500; i++ {
		files[fmt.Sprintf("automations/copy-%d/automation.md", i)] = valid["automations/on-issue/automation.md"]
		files[fmt.Sprintf("agents/copy-%d/agent.md", i)] = valid["agents/reviewer/agent.md"]
		files[fmt.Sprintf("runners/copy-%d.yaml", i)] = valid["runners/linux-build.yaml"]
	}
	for b.Loop() {
		if _, found := definition.Parse(files, definition.Known{}); len(found) > 0 {
			b.Fatal(lines(found))
		}
	}
}
