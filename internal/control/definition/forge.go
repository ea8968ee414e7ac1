package definition

import (
	"go.yaml.in/yaml/v4"

	"github.com/penstock-dev/penstock"
)

// Forge is what runs may do on the forges of their repositories.
type Forge struct {
	Push *Push `json:"push,omitzero" about:"What runs may push."`
}

// Push is what runs may push.
type Push struct {
	Branches       []string        `json:"branches,omitzero" rule:"glob" about:"Patterns of branches, such as penstock/**; [] allows no branch." default:"[\"penstock/**\"]"`
	ProtectedPaths *PathProtection `json:"protectedPaths,omitzero" about:"Files that a push must not change, such as workflows and the instructions of agents."`
	Limits         *PushBounds     `json:"limits,omitzero" about:"How much a push may change, compared with the base branch."`
	Secrets        string          `json:"secrets,omitzero" rule:"pushSecrets" about:"Whether a push with a secret in a new commit is refused." default:"\"refuse\""`
}

// PathProtection says which paths a push must not change.
type PathProtection struct {
	Policy string   `json:"policy,omitzero" rule:"pathPolicy" about:"What becomes of a push that changes a protected path." default:"\"refuse\""`
	Add    []string `json:"add,omitzero" rule:"glob" about:"Patterns of protected paths, in addition to the default ones."`
	Except []string `json:"except,omitzero" rule:"glob" about:"Patterns of paths that are not protected."`
}

// PushBounds limits what a push changes.
type PushBounds struct {
	Files  *int `json:"files,omitzero" rule:"pushFiles" about:"Changed files." default:"300"`
	Bytes  *int `json:"bytes,omitzero" rule:"pushBytes" about:"Bytes of all changed files." default:"10485760"`
	Binary *int `json:"binary,omitzero" rule:"pushBinary" about:"Bytes of one binary file; 0 allows none." default:"1048576"`
}

// Settings returns f in the vocabulary of the server, or nil if f is empty.
func (f *Forge) Settings() *penstock.ForgeSettings {
	if f == nil || f.Push == nil {
		return nil
	}
	p := f.Push
	settings := &penstock.ForgeSettings{Push: &penstock.PushSettings{
		Branches: p.Branches, ProtectedPaths: (*penstock.PathProtection)(p.ProtectedPaths),
		Limits: (*penstock.PushBounds)(p.Limits), Secrets: p.Secrets,
	}}
	if settings.IsZero() {
		return nil
	}
	return settings
}

// ForgeOf returns settings as they are in a file.
func ForgeOf(s *penstock.ForgeSettings) *Forge {
	if s.IsZero() {
		return nil
	}
	p := s.Push
	return &Forge{&Push{
		Branches: p.Branches, ProtectedPaths: (*PathProtection)(p.ProtectedPaths), Limits: (*PushBounds)(p.Limits),
		Secrets: p.Secrets,
	}}
}

// forge checks settings of forges with the rules of the API.
func (p *parser) forge(d *document, f *Forge, path ...any) {
	at := d.find(path...)
	if at == nil || at.Kind != yaml.MappingNode {
		return
	}
	for _, problem := range f.Settings().Check("") {
		pointer := fileKeys.Replace(problem.Pointer)
		if node := pointed(at, pointer); !p.reported(d, node) {
			d.badf(node, InvalidValue, "forge: %s%s", spaced(lastKey(pointer)), problem.Detail)
		}
	}
}
