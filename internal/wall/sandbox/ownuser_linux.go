package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// The kernel counts much for each user: inotify instances, memory of pipes, descriptors in transit.
// If the worker is root and has a range of users, each tree gets a user of the machine for itself.
// Its files keep the worker as their owner: the tree sees them through mounts that map one to the
// other. Otherwise a tree has the worker's user, in a user namespace with bounds.

// subordinateIDs is the range of users that the machine gives to the user of this process
// (subuid(5)), as far as it gives the same groups.
func subordinateIDs(subuid, subgid string) IDRange {
	names := []string{strconv.Itoa(os.Getuid())}
	if u, err := user.Current(); err == nil {
		names = append(names, u.Username)
	}
	find := func(file string) (r IDRange) {
		content, _ := os.ReadFile(file)
		for line := range strings.Lines(string(content)) {
			fields := strings.Split(strings.TrimSpace(line), ":")
			if len(fields) != 3 || fields[0] != names[0] && fields[0] != names[len(names)-1] {
				continue
			}
			first, err1 := strconv.Atoi(fields[1])
			count, err2 := strconv.Atoi(fields[2])
			if errors.Join(err1, err2) == nil && first > 0 && count > 0 {
				return IDRange{first, count}
			}
		}
		return r
	}
	users, groups := find(subuid), find(subgid)
	if users.First != groups.First {
		return IDRange{}
	}
	return IDRange{users.First, min(users.Count, groups.Count)}
}

// userPool gives out the users of a range.
type userPool struct {
	ids IDRange

	mu   sync.Mutex
	used map[int]bool
}

// take returns a user that no other tree of this process has, or 0. Other programs with the same
// range begin at its start, so this begins at its end.
func (p *userPool) take() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id := p.ids.First + p.ids.Count - 1; id >= p.ids.First && p.ids.First > 0; id-- {
		if !p.used[id] {
			if p.used == nil {
				p.used = map[int]bool{}
			}
			p.used[id] = true
			return id
		}
	}
	return 0
}

func (p *userPool) free(id int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.used, id)
}

// standing is what a tree can take from others of what the kernel counts for each user.
type standing int

const (
	shared  standing = iota // all
	bounded                 // a share of inotify and fanotify, and no large pipes
	own                     // nothing: it has a user of its own
)

// tryStandings returns the best standing in which runs work here, and why it is not a better one. Runs
// in images count if images work here at all.
func (b *bubblewrap) tryStandings() (standing, error) {
	why := b.try(own, true)
	if why == nil {
		return own, nil
	}
	if b.try(bounded, true) == nil {
		return bounded, why
	}
	if why = b.try(own, false); why == nil {
		return own, nil
	}
	if err := b.try(bounded, false); err != nil {
		return shared, fmt.Errorf("%w; %w", why, err)
	}
	return bounded, why
}

// try starts a trivial tree where runs live, in an image or without one. The error says why it does
// not work.
func (b *bubblewrap) try(s standing, inImage bool) error {
	if s == own && os.Geteuid() != 0 {
		return errors.New("only a worker that is root can give each run a user of its own")
	}
	if s == own && b.users.ids.First == 0 {
		return errors.New("root has no range of users in /etc/subuid and /etc/subgid")
	}
	trial := &bubblewrap{
		machine: b.machine, bwrap: b.bwrap, path: b.path, userNamespaces: b.userNamespaces, trees: b.trees,
		disablesUsers: b.disablesUsers, sizes: b.sizes, users: userPool{ids: b.users.ids},
		standing: func() (standing, error) { return s, nil },
	}
	spec, remove, err := b.trialSpec(inImage)
	defer remove()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	result, err := Run(ctx, trial, spec)
	if err != nil && inImage {
		return fmt.Errorf("a trial with layers in %s: %w", cmp.Or(b.layers, os.TempDir()), err)
	}
	if err != nil {
		return err
	}
	info, err := os.Stat(filepath.Join(spec.Dir, "file"))
	if err != nil || result.Code != 0 {
		return fmt.Errorf("a trial in %s ended with %s: %s", filepath.Dir(spec.Dir), result.Exit,
			strings.TrimSpace(result.Output))
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || int(stat.Uid) != os.Geteuid() {
		return errors.New("the files of a run with a user of its own do not belong to the worker")
	}
	return nil
}

// trialFile is a file of the image of a trial. Only its owner may read it, as many files of images.
const trialFile = "penstock-trial"

// trialSpec returns a tree that writes and reads its files. If it lives in an image, this includes one
// of the image. remove is never nil.
func (b *bubblewrap) trialSpec(inImage bool) (spec Spec, remove func(), err error) {
	var folders []string
	remove = func() {
		for _, dir := range folders {
			_ = os.RemoveAll(dir)
		}
	}
	folder := func(in string) (dir string) {
		if err == nil {
			dir, err = os.MkdirTemp(in, ".trial-*")
			folders = append(folders, dir)
		}
		if err == nil {
			dir, err = filepath.Abs(dir)
		}
		return dir
	}
	dir := folder(b.runs)
	spec = Spec{Dir: filepath.Join(dir, "work"), Home: filepath.Join(dir, "home")}
	script := "umask 077; echo > file && cat file"
	made := []string{spec.Dir, spec.Home}
	if inImage {
		layer := filepath.Join(folder(b.layers), "layer")
		spec.Image = &Image{Layers: []string{layer}, Dir: filepath.Join(dir, "image")}
		spec.ReadOnly = hostPrograms()
		script += fmt.Sprintf(" && cat /%[1]s && echo >> /%[1]s", trialFile)
		made = append(made, layer, spec.Image.Dir)
	}
	for _, dir := range made {
		if err == nil {
			err = os.Mkdir(dir, 0o700)
		}
	}
	if err == nil && inImage {
		err = os.WriteFile(filepath.Join(spec.Image.Layers[0], trialFile), nil, 0o600)
	}
	spec.Argv = []string{"/bin/sh", "-c", script}
	return spec, remove, err
}

// hostPrograms are the folders with the host's programs and libraries.
func hostPrograms() (mounts []Mount) {
	for _, dir := range append([]string{"/usr"}, systemDirs...) {
		if exists(dir) {
			mounts = append(mounts, Mount{Source: dir})
		}
	}
	return mounts
}

// SharesUser says why the trees of s use up what the kernel allows the user of the worker, or nil if
// each has a user of its own.
func SharesUser(s Sandbox) error {
	b, ok := s.(*bubblewrap)
	if !ok {
		return errors.New("a sandbox of kind " + s.Kind() + " has the user of the worker")
	}
	_, why := b.standing()
	return why
}

// shareOf bounds what one tree of the worker's user can take: all trees together at most half. The
// names are as in /proc/sys/user. The values are shares of what the kernel allows the user.
func shareOf(trees int) map[string]int {
	bounds := map[string]int{}
	for name, limit := range map[string]string{
		"max_inotify_instances": "/proc/sys/fs/inotify/max_user_instances",
		"max_inotify_watches":   "/proc/sys/fs/inotify/max_user_watches",
		"max_fanotify_groups":   "/proc/sys/fs/fanotify/max_user_groups",
		"max_fanotify_marks":    "/proc/sys/fs/fanotify/max_user_marks",
	} {
		content, err := os.ReadFile(limit)
		n, numberErr := strconv.Atoi(strings.TrimSpace(string(content)))
		if err == nil && numberErr == nil {
			bounds[name] = max(1, n/2/trees)
		}
	}
	return bounds
}
