package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/penstock-dev/penstock/internal/wall/image"
	"github.com/penstock-dev/penstock/internal/wall/sandbox"
)

// docking holds the flags of the sandbox docker.
type docking struct {
	DockerHost    string `env:"DOCKER_HOST" default:"unix:///var/run/docker.sock" placeholder:"URL" help:"Socket of the Docker daemon for --sandbox docker. The daemon must run on this machine."`
	DockerImage   string `placeholder:"IMAGE" help:"Container image for runs that do not name one, with --sandbox docker. Without this flag, such runs fail."`
	DockerRuntime string `placeholder:"NAME" help:"OCI runtime of the sandbox docker, such as runsc; by default, the daemon's."`
}

// dockerDir is the folder of the sandbox docker in a data folder.
const dockerDir = "docker"

// choose sets the options of the sandbox docker, with dir as its folder.
func (d docking) choose(o *sandbox.Options, dir string) {
	o.Dir, o.DockerHost, o.DockerImage, o.DockerRuntime = dir, d.DockerHost, d.DockerImage, d.DockerRuntime
}

// chooseAside is choose and place for a process beside the worker of a data folder. For the sandbox
// docker it uses a folder that release removes, so that it leaves the containers of the worker alone.
func (d docking) chooseAside(o *sandbox.Options, data string) (release func(), err error) {
	place(o, data)
	if o.Kind != sandbox.Docker {
		return func() {}, nil
	}
	dir, err := os.MkdirTemp(existing(data), ".docker-*")
	if err != nil {
		return nil, err
	}
	d.choose(o, dir)
	return func() { _ = os.RemoveAll(dir) }, nil
}

// pullDefault gives the daemon the default image, if it has none.
func (d docking) pullDefault(ctx context.Context, kind string, log *slog.Logger) error {
	if kind != sandbox.Docker || d.DockerImage == "" {
		return nil
	}
	daemon, err := image.NewDaemon(d.DockerHost)
	if err != nil {
		return err
	}
	log.Info("getting the default image of the sandbox docker", "image", d.DockerImage)
	i, err := daemon.Acquire(ctx, d.DockerImage, image.Login{})
	if err != nil {
		return err
	}
	i.Release()
	return nil
}
