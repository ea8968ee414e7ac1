package definition

import (
	"fmt"

	"go.yaml.in/yaml/v4"

	"github.com/penstock-dev/penstock"
)

// RunRepository is a repository that runs work on: its URL, or a connection with the path there.
type RunRepository struct {
	URL        string `json:"url,omitzero" rule:"text" about:"Its address, https or ssh, without credentials."`
	Connection string `json:"connection,omitzero" rule:"name" about:"The connection to the forge that has it. Needs a path."`
	Path       string `json:"path,omitzero" rule:"text" about:"Its path on the forge of the connection, such as acme/shop."`
	Ref        string `json:"ref,omitzero" rule:"text" about:"A branch, tag or commit. The default is the default branch."`
}

// runRepositories returns a list in the vocabulary of the server. An empty list stays one.
func runRepositories(list []RunRepository) []penstock.RunRepository {
	if list == nil {
		return nil
	}
	out := make([]penstock.RunRepository, len(list))
	for i, r := range list {
		out[i] = penstock.RunRepository{URL: r.URL, Connection: r.Connection, Path: r.Path, Ref: r.Ref}
	}
	return out
}

// repositoriesOf returns a list as it is in a file.
func repositoriesOf(list []penstock.RunRepository) []RunRepository {
	if list == nil {
		return nil
	}
	out := make([]RunRepository, len(list))
	for i, r := range list {
		out[i] = RunRepository{URL: r.URL, Connection: r.Connection, Path: r.Path, Ref: r.Ref}
	}
	return out
}

// repositories checks a list with the rules of the API. What a connection does not give by now is a warning: it
// may come later, and may be limited to a factory that the files create.
func (p *parser) repositories(d *document, list []RunRepository, path ...any) {
	at := d.find(path...)
	if at == nil || at.Kind != yaml.SequenceNode {
		return
	}
	check := p.known.Repositories
	if check == nil {
		check = func(list []penstock.RunRepository) []penstock.FieldError {
			return penstock.CheckRepositories("", list, nil, nil)
		}
	}
	all := runRepositories(list)
	errs := check(all)
	for _, problem := range errs {
		if node := pointed(at, problem.Pointer); !p.reported(d, node) {
			d.badf(node, InvalidValue, "repositories: %s%s", spaced(lastKey(problem.Pointer)), problem.Detail)
		}
	}
	if errs != nil || p.known.Connection == nil {
		return
	}
	for i, r := range all {
		if key, problem := p.known.Connection(r); problem != "" {
			d.warnf(pointed(at, fmt.Sprintf("/%d/%s", i, key)), InvalidReference, "",
				"repositories: %s; until this changes, runs with it are not created", problem)
		}
	}
}
