package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/supply/layer"
)

const (
	savedFiles  = 10_000
	savedRounds = 7
	forkRounds  = 3
)

// checkpoint measures how long a turn takes to be packed, beside tar and zstd with the same files, and
// how long a fork of a large workspace takes to start, beside a run without a workspace.
func (b *bench) checkpoint(ctx context.Context) error {
	if err := b.packs(ctx); err != nil {
		return err
	}
	return b.forks(ctx)
}

// packs packs files that changed, in turns with tar and zstd.
func (b *bench) packs(ctx context.Context) error {
	dir, err := os.MkdirTemp(b.dir, "changed-")
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	parts := []layer.Part{{Name: "work", From: root}}
	var since layer.Since
	if since.Prepared, err = layer.Scan(ctx, parts); err != nil {
		return err
	}
	if err := writeSources(root); err != nil {
		return err
	}
	var took, bare []time.Duration
	var size, bareSize int64
	for round := range savedRounds + 1 {
		packed := filepath.Join(b.dir, "pack.tar.zst")
		start := time.Now()
		if err := pack(ctx, since, parts, packed); err != nil {
			return err
		}
		own := time.Since(start)
		const tar = `tar --create --file - --directory "$1" . | zstd -1 --quiet --force -o "$2"`
		archive := filepath.Join(b.dir, "bare.tar.zst")
		start = time.Now()
		if _, err := output(ctx, "/bin/sh", "-c", tar, "tar", dir, archive); err != nil {
			return fmt.Errorf("pack with tar and zstd: %w", err)
		}
		if round > 0 { // the files are in memory
			took, bare = append(took, own), append(bare, time.Since(start))
		}
		size, bareSize = sizeOf(packed), sizeOf(archive)
	}
	own, other := quantile(took, .5), quantile(bare, .5)
	b.out.row(row{
		what: "a turn that changed 10,000 files is packed, p50", penstock: millis(own), bare: millis(other),
		ratio: ratio(float64(own), float64(other)), aim: upTo(float64(own), 2*float64(other), "ratio ≤ 2"),
	})
	b.out.row(row{
		what: "its size", penstock: megabytes(size), bare: megabytes(bareSize),
		ratio: ratio(float64(size), float64(bareSize)),
	})
	return nil
}

func pack(ctx context.Context, since layer.Since, parts []layer.Part, name string) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = since.Next(ctx, parts, penstock.NewID(), 2<<30, file)
	return errors.Join(err, file.Close())
}

func sizeOf(name string) int64 {
	info, err := os.Stat(name)
	if err != nil {
		return 0
	}
	return info.Size()
}

// writeSources writes files with the size and the repetitions of source text, the same in each run.
func writeSources(root *os.Root) error {
	random := rand.New(rand.NewPCG(1, 2))
	words := make([]string, 3000)
	for i := range words {
		words[i] = fmt.Sprintf("%x", random.Uint64N(1<<(8+uint(i)%24)))
	}
	for i := range savedFiles {
		dir := fmt.Sprintf("dir-%02d", i%100)
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		var text strings.Builder
		for length := 500 + random.IntN(7000); text.Len() < length; {
			text.WriteString(words[random.IntN(len(words))])
			text.WriteByte(" \n"[random.IntN(2)])
		}
		if err := root.WriteFile(fmt.Sprintf("%s/%d.txt", dir, i), []byte(text.String()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// forks starts forks of a workspace of 2 GB, in turns with runs in its environment and with runs that have
// no workspace. A start lasts from the creation of a run until its agent has started.
func (b *bench) forks(ctx context.Context) error {
	database, drop, err := b.freshSQLite(ctx)
	if err != nil {
		return err
	}
	defer drop()
	p, err := b.serve(ctx, database)
	if err != nil {
		return err
	}
	defer p.stop()
	var environment penstock.Environment
	const fill = "head -c 2G /dev/urandom | split --bytes 104858 --suffix-length 5 - part-"
	if err := p.call(ctx, http.MethodPost, "/agent/environments", map[string]any{
		"name": "large", "setup_commands": []string{fill},
	}, &environment); err != nil {
		return err
	}
	const hello = "demo: say hello"
	large := map[string]any{"prompt": hello, "config": map[string]any{"environment_id": environment.UID}}
	source, _, err := p.started(ctx, "/agent/runs", large)
	if err != nil {
		return err
	}
	var plain, layered, forked []time.Duration
	for round := range forkRounds + 1 {
		for _, start := range []struct {
			path string
			body map[string]any
			took *[]time.Duration
		}{
			{"/agent/runs", map[string]any{"prompt": hello}, &plain},
			{"/agent/runs", large, &layered},
			{"/agent/runs/" + source + "/fork", map[string]any{"prompt": hello}, &forked},
		} {
			_, took, err := p.started(ctx, start.path, start.body)
			if err != nil {
				return err
			}
			if round > 0 {
				*start.took = append(*start.took, took)
			}
		}
	}
	one, layer, fork := quantile(plain, .5), quantile(layered, .5), quantile(forked, .5)
	b.out.row(row{
		what: "a run on a layer of 2 GB starts, p50", penstock: millis(layer), bare: millis(one),
		ratio: ratio(float64(layer), float64(one)),
	})
	b.out.row(row{
		what: "a fork of a workspace of 2 GB starts, p50", penstock: millis(fork), bare: millis(one),
		ratio: ratio(float64(fork), float64(one)), aim: upTo(float64(fork), 4*float64(one), "ratio ≤ 4"),
	})
	return nil
}

// started creates a run, waits until it has succeeded, and returns how long it took until its agent started.
func (p *process) started(ctx context.Context, path string, body any) (id string, took time.Duration, err error) {
	var created struct {
		ID   string               `json:"run_id"`
		Runs []penstock.ForkedRun `json:"runs"`
	}
	if err := p.call(ctx, http.MethodPost, path, body, &created); err != nil {
		return "", 0, err
	}
	if id = created.ID; id == "" {
		id = created.Runs[0].ID
	}
	var run penstock.Run
	for !run.State.Done() {
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return "", 0, err
		}
		if err := p.call(ctx, http.MethodGet, "/agent/runs/"+id, nil, &run); err != nil {
			return "", 0, err
		}
	}
	if run.State != penstock.StateSucceeded {
		return "", 0, fmt.Errorf("a run has ended as %s: %+v", run.State, run.StatusMessage)
	}
	var timeline struct {
		Events []penstock.TimelineEvent `json:"events"`
	}
	if err := p.call(ctx, http.MethodGet, "/agent/runs/"+id+"/timeline", nil, &timeline); err != nil {
		return "", 0, err
	}
	for _, e := range timeline.Events {
		if e.Type == "agent_started" {
			return id, e.OccurredAt.Std().Sub(run.CreatedAt.Std()), nil
		}
	}
	return "", 0, errors.New("the agent of a run has not started")
}
