package main_test

import (
	"archive/tar"
	"net/http"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
)

func TestImagesOnTheCommandLine(t *testing.T) {
	t.Parallel()
	registry := testkit.NewRegistry(t)
	digest := registry.Push(t, "team/app:1", nil, []testkit.ImageFile{
		{Header: tar.Header{Name: "opt/file"}, Content: "x"},
	})
	name, data := registry.Host+"/team/app:1", t.TempDir()
	images := func(args ...string) called {
		t.Helper()
		return call(t, nil, append([]string{"image", "--data", data}, args...)...)
	}
	images("list").want(t, 0, "NAMES")
	images("pull", name).want(t, 0, name+" was pulled: "+digest)
	images("pull", name).want(t, 0, name+" is in the cache: "+digest)
	images("list").want(t, 0, name, digest, "ago")
	var list struct {
		Images []struct {
			Digest string   `json:"digest"`
			Names  []string `json:"names"`
			Bytes  int64    `json:"bytes"`
			InUse  bool     `json:"in_use"`
		} `json:"images"`
	}
	fromJSON(t, images("list", "-o", "json").out, &list)
	if len(list.Images) != 1 || list.Images[0].Digest != digest || list.Images[0].Bytes == 0 || list.Images[0].InUse {
		t.Errorf("got %+v", list)
	}
	images("remove", name).want(t, 0, "removed "+name)
	images("pull", registry.Host+"/team/app:2").want(t, 70, registry.Host+" does not have it")
	images("remove", name).want(t, 1, "is not in the cache")
	images("--image-cache", "many", "list").want(t, 64, "is not a size")
	images("--image-mirror", "docker.io", "list").want(t, 64, "REGISTRY=HOST")
	images("--image-cache", "1KB", "pull", name).want(t, 70, "larger than the cache")
}

// The server runs what an environment names in its image, asks the mirror first, and keeps within
// the bound of the cache.
func TestServedRunsUseImages(t *testing.T) {
	t.Parallel()
	registry, mirror := testkit.NewRegistry(t), testkit.NewRegistry(t)
	shell := testkit.HostImage(t, "sh", "cat")
	digest := mirror.Push(t, "app", []string{"PATH=/bin"}, shell, []testkit.ImageFile{
		{Header: tar.Header{Name: "opt/only-here"}, Content: "from the mirror"},
	})
	h := serveHooks(t, testkit.ServeOptions{Args: []string{
		"--image-mirror", registry.Host + "=" + mirror.Host, "--image-cache", "1GB",
	}})
	var environment penstock.Environment
	h.ask(http.MethodPost, "/agent/environments", map[string]any{"name": "app", "docker_image": registry.Host + "/app"},
		http.StatusCreated, &environment)
	run := h.run(map[string]any{
		"prompt": "demo: run cat /opt/only-here", "config": map[string]any{"environment_id": environment.UID},
	})
	records := h.records(run)
	for _, want := range []string{"from the mirror", `"event_type":"image_ready"`, digest} {
		if !strings.Contains(records, want) {
			t.Errorf("the records do not hold %s", want)
		}
	}
	call(t, nil, "image", "--data", h.Data, "list").want(t, 0, registry.Host+"/app", digest)
	examine(t, 0, nil, "--data", h.Data).want(t, "images", "ok", "1 in the cache")
}
