package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/supply/secret"
	"github.com/penstock-dev/penstock/internal/wall/sandbox"
)

// ownFolder checks whether only this user can use a flag's folder.
func ownFolder(path, flag string) finding {
	todo := "set " + flag + " to a folder that this user can write to"
	dir := existing(path)
	probe, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return failing(todo, "cannot write to %s: %v", dir, err)
	}
	_ = errors.Join(probe.Close(), os.Remove(probe.Name()))
	if dir != filepath.Clean(path) {
		return ok("%s does not exist yet and can be created", path)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return failing(todo, "%v", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return warn("chmod 700 "+dir, "other users can read %s", dir)
	}
	return ok("%s", dir)
}

// existing returns the folder, or its nearest existing parent.
func existing(dir string) string {
	dir = filepath.Clean(dir)
	for {
		if info, err := os.Stat(dir); err == nil && info.IsDir() || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// diskSpace checks the free space for workspaces, the database and files.
func diskSpace(path, flag string) finding {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(existing(path), &disk); err != nil {
		return warn("", "cannot measure the free space: %v", err)
	}
	blocks := int64(min(disk.Bavail, 1<<40)) // more than any disk has
	free := blocks * int64(disk.Bsize)       //nolint:unconvert // of another type on other systems
	todo := "free some space, or set " + flag + " to a folder on another disk"
	switch {
	case free < 200<<20:
		return failing(todo, "%s free; too little to store data", bytesText(free))
	case free < 2<<30:
		return warn(todo, "%s free; repositories and artifacts can fill it soon", bytesText(free))
	}
	return ok("%s free", bytesText(free))
}

// database checks whether the database responds, and its schema.
func (cmd *doctorCmd) database(ctx context.Context) finding {
	if err := cmd.checkDatabase(); err != nil {
		return failing("", "%v", err)
	}
	if file, embedded := cmd.sqliteFile(); embedded {
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			return ok("%s does not exist yet; serve creates it", file)
		}
	}
	const todo = "check --database (PENSTOCK_DATABASE), that the database is running and that its user has access"
	start := time.Now()
	s, err := store.Open(ctx, store.Options{URL: cmd.databaseURL(), AsIs: true})
	if err != nil {
		return failing(todo, "%s: %v", cmd.databaseName(), err)
	}
	have, newest, err := s.SchemaVersion(ctx)
	took := time.Since(start).Round(time.Millisecond)
	if err := errors.Join(err, s.Close()); err != nil {
		return failing(todo, "%s: %v", cmd.databaseName(), err)
	}
	switch {
	case have > newest:
		return failing(
			"install the release that created it, or restore a backup", "%s has schema %d, but this version supports up to %d",
			cmd.databaseName(), have, newest,
		)
	case have < newest:
		return warn(
			"run penstock migrate, or start serve, which does the same", "%s has schema %d; this version updates it to "+
				"%d", cmd.databaseName(),
			have, newest,
		)
	}
	return ok("%s responds in %s, schema %d", cmd.databaseName(), took, have)
}

// bucket checks whether the object store does all that a server needs.
func (cmd *doctorCmd) bucket(ctx context.Context) finding {
	const todo = "check --blobs (PENSTOCK_BLOBS), that the object store is running, and that its credentials have the " +
		"permissions in docs/operations.md"
	blobs, err := cmd.Blobs.open(ctx, "")
	if err != nil {
		return failing("", "%v", err)
	}
	start := time.Now()
	if err := blobs.Probe(ctx); err != nil {
		return failing(todo, "%s: %v", cmd.Blobs, err)
	}
	return ok("%s works, in %s", cmd.Blobs, time.Since(start).Round(time.Millisecond))
}

// keyset checks whether secrets can be decrypted.
func (cmd *doctorCmd) keyset(ctx context.Context) finding {
	path := cmd.keysetPath()
	file, err := cmd.locateKeyset(ctx)
	if err == nil {
		err = file.Check(ctx)
	}
	if errors.Is(err, fs.ErrNotExist) {
		file, embedded := cmd.sqliteFile()
		if err := cmd.keysetOfDatabase(ctx, nil); err != nil {
			return failing("", "%v", err)
		}
		if _, err := os.Stat(file); embedded && err == nil {
			return failing(
				"restore it from a backup, or set --keyset; without it, encrypted secrets and saved sessions are lost",
				"%s is missing, but the database exists", path,
			)
		}
		return ok("%s does not exist yet; serve creates it", path)
	}
	if errors.Is(err, fs.ErrPermission) {
		return failing("give this user read access to it", "%v", err)
	}
	if err != nil {
		return failing("", "%v", keysetError(err))
	}
	if err := cmd.keysetOfDatabase(ctx, &file); err != nil {
		return failing("", "%v", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return failing("", "%v", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return warn("chmod 600 "+path, "other users can read %s", path)
	}
	if file.KMS != nil {
		return ok("%s, encrypted with the AWS KMS key %s", path, file.KMS.Key)
	}
	return ok("%s", path)
}

// keysetOfDatabase returns an error if the keyset in the file, which must exist, does not belong to the
// database. A database that cannot be read is another check's problem.
func (cmd *doctorCmd) keysetOfDatabase(ctx context.Context, file *secret.KeysetFile) error {
	if database, embedded := cmd.sqliteFile(); embedded {
		if _, err := os.Stat(database); err != nil {
			return nil
		}
	}
	db, err := store.Open(ctx, store.Options{URL: cmd.databaseURL(), AsIs: true})
	if err != nil {
		return nil
	}
	defer func() { _ = db.Close() }()
	if have, newest, err := db.SchemaVersion(ctx); err != nil || have == 0 || have > newest {
		return nil
	}
	var keyset *secret.Keyset
	if file != nil {
		if keyset, err = secret.OpenKeyset(ctx, *file); err != nil {
			return keysetError(err)
		}
	}
	return cmd.checkKeyset(ctx, db, keyset)
}

// sandboxKind tries a kind of sandbox. If it was not selected, it may be missing.
func (cmd *doctorCmd) sandboxKind(ctx context.Context, kind string) finding {
	const todo = "remove the cause, or install bubblewrap (Debian: apt-get install bubblewrap). Without a sandbox, " +
		"only the model demo/offline runs; --sandbox process --allow-open-network runs agents without isolation"
	chosen := kind == cmd.Sandbox
	exe, err := os.Executable()
	o := sandbox.Options{
		Kind: kind, Exe: exe, AllowOpenNetwork: cmd.AllowOpenNetwork || !chosen && kind == sandbox.Process,
		AllowUserNamespaces: cmd.AllowUserNamespaces,
	}
	release := func() {}
	if err == nil {
		release, err = cmd.chooseAside(&o, cmd.Data)
	}
	if err == nil {
		defer release()
		err = sandbox.Probe(ctx, o)
	}
	switch {
	case err != nil && chosen:
		return failing(todo, "%v", err)
	case err != nil:
		return ok("not available; not selected: %v", err)
	case kind == sandbox.Process && chosen:
		return warn("use it only for agents and prompts that may access this user's files", "works, but isolates nothing")
	case kind == sandbox.Docker && chosen && cmd.DockerImage == "":
		return ok("the daemon responds; no container was tried without --docker-image")
	case chosen:
		return ok("works; %s", howRunsStart(o))
	}
	return ok("works; not selected")
}

// howRunsStart says whether runs share what the kernel counts for each user, and whether they start
// slowly.
func howRunsStart(o sandbox.Options) string {
	box, err := sandbox.New(o)
	if err != nil {
		return err.Error()
	}
	says := "each run has a user of its own"
	if err := sandbox.SharesUser(box); err != nil {
		says = fmt.Sprintf("runs share the kernel's limits for each user, such as inotify instances (%v)", err)
	}
	if err := sandbox.StartsSlowly(box); err != nil {
		says += fmt.Sprintf("; runs start slowly (%v)", err)
	}
	return says
}

// gitProgram checks git, which clones repositories.
func gitProgram(ctx context.Context) finding {
	out, err := exec.CommandContext(ctx, "git", "--version").Output()
	if err != nil {
		return failing("install git (Debian: apt-get install git)", "cannot run git: %v", err)
	}
	return ok("%s", strings.TrimSpace(string(out)))
}

// modelProviders checks which models runs can name.
func modelProviders(settings *fileSettings) finding {
	var named []string
	for _, p := range allProviders(settings) {
		name := p.Name
		if v := vendorOf(p.Name); v != nil {
			name = v.title
		}
		named = append(named, name)
	}
	if len(named) == 0 {
		return warn(
			"set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY in the environment of serve",
			"no provider is configured: runs can only use demo/offline",
		)
	}
	return ok("%s", strings.Join(named, ", "))
}

// systemClock checks the clock, because schedules, leases and certificates depend on it.
func systemClock(context.Context) finding {
	const todo = "set the clock, and synchronize it with NTP"
	now := time.Now().UTC()
	if info, found := debug.ReadBuildInfo(); found {
		for _, s := range info.Settings {
			if built, err := time.Parse(time.RFC3339, s.Value); s.Key == "vcs.time" && err == nil && now.Before(built) {
				return failing(todo, "%s is before this program was built (%s)", now.Format(time.RFC3339), s.Value)
			}
		}
	}
	if !clockSynchronized() {
		return warn(
			"synchronize the clock with NTP (systemd-timesyncd or chrony)", "%s; the kernel reports that the clock is not "+
				"synchronized",
			now.Format(time.RFC3339),
		)
	}
	return ok("%s", now.Format(time.RFC3339))
}

// address checks whether serve can listen.
func (cmd *doctorCmd) address(ctx context.Context) finding {
	if err := cmd.checkAddress(); err != nil {
		return failing("", "%v", err)
	}
	on, err := cmd.listen(ctx)
	if err == nil {
		on.close()
		return ok("%s is free", cmd.Listen)
	}
	if pid, held := lockHolder(cmd.Data); held && errors.Is(err, syscall.EADDRINUSE) {
		return ok("%s is in use, and process %s serves this data folder", cmd.Listen, pid)
	}
	return failing("stop the program that uses it, or set --listen to another address", "%v", err)
}
