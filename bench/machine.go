package main

import (
	"cmp"
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// describeMachine prints the machine and software of the measurement.
func (b *bench) describeMachine(ctx context.Context) error {
	sync, err := syncTime(b.dir)
	if err != nil {
		return err
	}
	version, err := output(ctx, b.binary, "version")
	if err != nil {
		return err
	}
	engines := "SQLite " + sqliteVersion(b.binary) + ", synchronous=FULL"
	if b.postgres != "" {
		settings, err := postgresSettings(ctx, b.postgres)
		if err != nil {
			return err
		}
		engines += "; " + settings
	} else {
		engines += "; no PostgreSQL (scripts/with-postgres brings one)"
	}
	fmt.Fprintf(
		b.out.w, "machine   %d cores, %s, Linux %s, load %s\n", runtime.NumCPU(), cpuName(),
		oneLine("/proc/sys/kernel/osrelease"), load1(),
	)
	fmt.Fprintf(b.out.w, "disk      4 KB written and synced in %s (median)\n", millis(sync))
	fmt.Fprintf(b.out.w, "binary    %s\n", version)
	fmt.Fprintf(b.out.w, "engines   %s\n", engines)
	return nil
}

func oneLine(path string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return "?"
	}
	return strings.TrimSpace(string(content))
}

// load1 returns the load average of the last minute, which shows other load on the machine.
func load1() string {
	load, _, _ := strings.Cut(oneLine("/proc/loadavg"), " ")
	return load
}

func cpuName() string {
	for line := range strings.Lines(oneLine("/proc/cpuinfo")) {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return cmp.Or(runtime.GOARCH, "?")
}

// sqliteVersion returns the version of the driver, which includes SQLite.
func sqliteVersion(binary string) string {
	const driver = "modernc.org/sqlite"
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return "?"
	}
	for _, d := range info.Deps {
		if d.Path == driver {
			return "(" + driver + " " + d.Version + ")"
		}
	}
	return "?"
}

// syncTime returns how long the disk takes to make a page durable. No commit is faster.
func syncTime(dir string) (time.Duration, error) {
	file, err := os.Create(filepath.Join(dir, "sync"))
	if err != nil {
		return 0, err
	}
	defer file.Close()
	const times = 51
	page := make([]byte, 4096)
	var took []time.Duration
	for range times {
		start := time.Now()
		if _, err := file.Write(page); err != nil {
			return 0, err
		}
		if err := file.Sync(); err != nil {
			return 0, err
		}
		took = append(took, time.Since(start))
	}
	return quantile(took, .5), nil
}
