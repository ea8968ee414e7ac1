package sandbox

import (
	"context"
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"strconv"

	"github.com/penstock-dev/penstock/internal/wall/inside"
)

// process is the kind Process.
type process struct {
	machine
	path, user string
}

func newProcess(m machine, opts Options) (Sandbox, error) {
	if !opts.AllowOpenNetwork {
		return nil, errors.New("the sandbox process isolates nothing, and its runs reach every network of this machine: " +
			"accept that with --allow-open-network, or use bubblewrap")
	}
	name := strconv.Itoa(os.Getuid()) // in containers, it often has no other name
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return &process{m, opts.Path, name}, nil
}

func (p *process) Kind() string { return Process }

func (p *process) Layout(spec Spec) Layout {
	return Layout{Dir: spec.Dir, Home: spec.Home, Exe: p.exe}
}

func (p *process) Start(ctx context.Context, spec Spec) (Running, error) {
	if err := spec.check(); err != nil {
		return nil, err
	}
	if spec.Relay != "" {
		return nil, errors.New("sandbox: the kind process isolates nothing, so it cannot be sealed")
	}
	if spec.Image != nil {
		return nil, errors.New("sandbox: the kind process cannot use a container image")
	}
	tree, err := p.launch(ctx, inside.Order{
		Argv: spec.Argv,
		Env:  environment(p.path, p.user, p.Layout(spec), spec.Env),
		Dir:  filepath.Join(spec.Dir, spec.Cwd),
	}, spec)
	if err != nil {
		return nil, err
	}
	return tree, nil
}
