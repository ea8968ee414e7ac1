package factory

import (
	"slices"
	"sync"

	"github.com/penstock-dev/penstock/internal/control/definition"
)

// maxParsed limits the cache to the definitions that were applied last.
const maxParsed = 32

// parsedDefinitions caches the parsed files of factories, so that the next change need not parse
// the previous files again. It has only committed revisions, which never change. The zero value is
// ready.
type parsedDefinitions struct {
	mu   sync.Mutex
	list []parsedDefinition // the newest last
}

type parsedDefinition struct {
	factoryUID string
	revision   int64
	definition *definition.Definition
}

// keep stores a revision and drops the factory's older ones.
func (k *parsedDefinitions) keep(factoryUID string, revision int64, d *definition.Definition) {
	if d == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.list = slices.DeleteFunc(k.list, func(p parsedDefinition) bool { return p.factoryUID == factoryUID })
	k.list = append(k.list, parsedDefinition{factoryUID, revision, d})
	if over := len(k.list) - maxParsed; over > 0 {
		k.list = slices.Delete(k.list, 0, over)
	}
}

// find returns nil for an unknown revision.
func (k *parsedDefinitions) find(factoryUID string, revision int64) *definition.Definition {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range k.list {
		if p.factoryUID == factoryUID && p.revision == revision {
			return p.definition
		}
	}
	return nil
}
