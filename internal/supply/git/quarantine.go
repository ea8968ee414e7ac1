package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/penstock-dev/penstock/internal/supply/filelock"
)

// Quarantine is a bare repository that receives what somebody pushes, so that it can be examined
// before it goes to the remote. Nobody else can write to its folder. It is not safe for concurrent use.
type Quarantine struct {
	cache  *Cache
	remote remote
	dir    string
	head   string // the default branch; "": none
}

// Limits of what a quarantine receives and prints.
const (
	maxPack    = "512m"   // of one push, packed
	maxListed  = 16 << 20 // bytes of a list of commits, objects or changes
	maxRemarks = 400      // bytes of what a remote says about a push
)

// NewQuarantine makes a repository in dir, which must be missing, with the branches of src as they are
// now. Its objects share the disk with the mirror's.
func NewQuarantine(ctx context.Context, c *Cache, src Source, dir string) (*Quarantine, error) {
	r, err := c.remote(src)
	if err != nil {
		return nil, err
	}
	q := &Quarantine{cache: c, remote: r, dir: dir}
	if err := q.create(ctx); err != nil {
		return nil, fmt.Errorf("read %s: %w", r.url, r.hide(errors.Join(err, os.RemoveAll(dir))))
	}
	return q, nil
}

func (q *Quarantine) create(ctx context.Context) error {
	m := q.cache.mirror(q.remote)
	lock, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Close()
	if _, err := m.update(ctx, lock, ""); err != nil {
		return err
	}
	if err := waitLock(ctx, lock, filelock.Shared); err != nil {
		return err
	}
	clone := command{local: true, watch: q.dir, lock: lock, args: []string{
		"clone", "--quiet", "--bare", "--local", "--template=", "--no-recurse-submodules", "--", m.path, q.dir,
	}}
	if _, err := q.cache.run(ctx, clone); err != nil {
		return err
	}
	head, err := q.run(ctx, command{args: []string{"symbolic-ref", "--quiet", "HEAD"}})
	if _, detached := errors.AsType[*runError](err); err != nil && !detached {
		return err
	}
	q.head = strings.TrimPrefix(strings.TrimSpace(head), "refs/heads/")
	hooks := filepath.Join(q.dir, hooksFolder)
	if err := os.Mkdir(hooks, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(hooks, "proc-receive"), []byte(relayHook), 0o700) //nolint:gosec // git runs it
}

const hooksFolder = "penstock-hooks"

// relayHook connects git to our pipes: see githooks(5), proc-receive.
const relayHook = `#!/bin/sh
exec 5<&0
cat <&5 >&3 4<&- &
exec cat <&4 3>&- 5<&-
`

func (q *Quarantine) run(ctx context.Context, cmd command) (string, error) {
	cmd.repo = q.dir
	cmd.local = cmd.remote == nil
	cmd.config = append(cmd.config, [2]string{"core.useReplaceRefs", "false"})
	return q.cache.run(ctx, cmd)
}

// Refresh reads the branches of the remote anew. If git cannot read one of them, because it has a bad
// object, it is as if the remote did not have this one.
func (q *Quarantine) Refresh(ctx context.Context) error {
	err := q.fetch(ctx, "+refs/heads/*:refs/heads/*")
	if retriable(ctx, err) {
		err = q.refreshEach(ctx)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", q.remote.url, q.remote.hide(err))
	}
	return nil
}

func (q *Quarantine) fetch(ctx context.Context, refs string) error {
	_, err := q.run(ctx, command{remote: &q.remote, watch: q.dir, args: []string{
		"fetch", "--quiet", "--prune", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--",
		q.remote.url, refs,
	}})
	return err
}

// maxEach bounds the branches that are fetched one by one.
const maxEach = 50

func (q *Quarantine) refreshEach(ctx context.Context) error {
	out, err := q.run(ctx, command{remote: &q.remote, most: maxListed, args: []string{
		"ls-remote", "--quiet", "--heads", "--", q.remote.url,
	}})
	if err != nil {
		return err
	}
	there := map[string]string{}
	for line := range strings.Lines(out) {
		id, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		there[strings.TrimPrefix(name, "refs/heads/")] = id
	}
	here, _, err := q.Branches(ctx)
	if err != nil {
		return err
	}
	for name, id := range here {
		if there[name] == id {
			delete(there, name)
		} else if _, err := q.run(ctx, command{args: []string{"update-ref", "-d", "refs/heads/" + name}}); err != nil {
			return err
		}
	}
	for n, name := range slices.Sorted(maps.Keys(there)) {
		if n >= maxEach {
			break
		}
		if err := q.fetch(ctx, "+refs/heads/"+name+":refs/heads/"+name); err != nil && !retriable(ctx, err) {
			return err
		}
	}
	return nil
}

// Advertise writes the refs to which one can push, as the response to the first request of git
// (gitprotocol-http(5)).
func (q *Quarantine) Advertise(ctx context.Context, out io.Writer) error {
	if _, err := io.WriteString(out, packet("# service=git-receive-pack\n")+flush); err != nil {
		return err
	}
	_, err := q.run(ctx, command{stdout: out, args: []string{"receive-pack", "--stateless-rpc", "--advertise-refs", "."}})
	return err
}

// Update is a ref that somebody pushes. An id is "" if the ref does not exist before or after.
type Update struct{ Name, Old, New string }

// Remove removes the repository, with all that it has received.
func (q *Quarantine) Remove() error { return os.RemoveAll(q.dir) }

// withCommands returns a push, whose list of commands has a limit: git keeps all of them in memory.
func withCommands(in io.Reader) (io.Reader, error) {
	var read bytes.Buffer
	_, err := readPackets(bufio.NewReader(io.TeeReader(in, &read)))
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil // git says what is wrong with it
	}
	return io.MultiReader(&read, in), err
}

// Receive reads a push and writes the response to it. When the objects are here, it calls decide, which
// returns for each update why it is refused, or "". decide also pushes to the remote: see [Quarantine.Push].
func (q *Quarantine) Receive(
	ctx context.Context, in io.Reader, out io.Writer, decide func(updates []Update, atomic bool) []string,
) error {
	in, err := withCommands(in)
	if err != nil {
		return err
	}
	fromHook, toUs, err := os.Pipe()
	if err != nil {
		return err
	}
	fromUs, toHook, err := os.Pipe()
	if err != nil {
		return errors.Join(err, fromHook.Close(), toUs.Close())
	}
	decided := make(chan error, 1)
	go func() {
		err := converse(fromHook, toHook, decide)
		decided <- errors.Join(err, toHook.Close(), fromHook.Close())
	}()
	_, err = q.run(ctx, command{
		input: in, stdout: out, watch: q.dir, pipes: []*os.File{toUs, fromUs},
		args: []string{"receive-pack", "--stateless-rpc", "."},
		config: [][2]string{
			{"core.hooksPath", filepath.Join(q.dir, hooksFolder)},
			{"receive.procReceiveRefs", "refs"},
			{"receive.maxInputSize", maxPack},
			{"receive.autogc", "false"},
			{"receive.advertisePushOptions", "false"},
			{"receive.certNonceSeed", ""},
			{"receive.shallowUpdate", "false"},
			{"gc.auto", "0"},
		},
	})
	_ = toUs.Close()
	_ = fromUs.Close()
	return errors.Join(err, <-decided)
}

// converse speaks the protocol of the hook proc-receive. Without updates, the hook does not run.
func converse(r io.Reader, w io.Writer, decide func([]Update, bool) []string) error {
	in := bufio.NewReader(r)
	hello, err := readPackets(in)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return err
	}
	atomic := false
	for _, line := range hello {
		_, features, _ := strings.Cut(line, "\x00")
		for name := range strings.FieldsSeq(features) {
			atomic = atomic || name == "atomic"
		}
	}
	features := ""
	if atomic {
		features = "\x00atomic"
	}
	if _, err := io.WriteString(w, packet("version=1"+features+"\n")+flush); err != nil {
		return err
	}
	lines, err := readPackets(in)
	if err != nil {
		return err
	}
	var updates []Update
	for _, line := range lines {
		old, rest, _ := strings.Cut(line, " ")
		id, name, found := strings.Cut(rest, " ")
		if !found {
			return errors.New("git sends an update that is none")
		}
		updates = append(updates, Update{Name: name, Old: existing(old), New: existing(id)})
	}
	var answer strings.Builder
	for i, reason := range decide(updates, atomic) {
		if reason == "" {
			answer.WriteString(packet("ok " + updates[i].Name + "\n"))
		} else {
			answer.WriteString(packet("ng " + updates[i].Name + " " + clean(strings.ReplaceAll(reason, "\n", " "), nil) + "\n"))
		}
	}
	_, err = io.WriteString(w, answer.String()+flush)
	return err
}

// existing returns an id, or "" for the one of zeros.
func existing(id string) string {
	if strings.Trim(id, "0") == "" {
		return ""
	}
	return id
}

// The packets of git's protocols: gitprotocol-common(5).
const (
	flush         = "0000"
	maxPacket     = 65520
	maxPacketList = 4 << 20
)

func packet(text string) string { return fmt.Sprintf("%04x%s", len(text)+4, text) }

// Refused is the response to the first request of a push that is refused: git shows the sentence.
func Refused(sentence string) string {
	return packet("# service=git-receive-pack\n") + flush + packet("ERR "+clean(sentence, nil)+"\n")
}

// readPackets reads lines up to the next flush. The error is io.EOF if there is nothing.
func readPackets(r *bufio.Reader) (lines []string, err error) {
	total := 0
	for {
		var size [4]byte
		if n, err := io.ReadFull(r, size[:]); err != nil {
			if n > 0 || lines != nil {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		n, err := strconv.ParseUint(string(size[:]), 16, 16)
		if total += int(n); err != nil || n > maxPacket || n > 0 && n < 4 || total > maxPacketList {
			return nil, errors.New("git sends a packet that is none")
		}
		if n == 0 {
			return lines, nil
		}
		line := make([]byte, n-4)
		if _, err := io.ReadFull(r, line); err != nil {
			return nil, err
		}
		lines = append(lines, strings.TrimSuffix(string(line), "\n"))
	}
}

// Branches returns the branches of the remote, as they were at the last refresh, and the one that was the
// default when the quarantine was made, "" for none.
func (q *Quarantine) Branches(ctx context.Context) (heads map[string]string, byDefault string, err error) {
	out, err := q.run(ctx, command{most: maxListed, args: []string{
		"for-each-ref", "--format=%(objectname) %(refname)", "refs/heads/",
	}})
	if err != nil {
		return nil, "", err
	}
	heads = map[string]string{}
	for line := range strings.Lines(out) {
		id, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		heads[strings.TrimPrefix(name, "refs/heads/")] = id
	}
	return heads, q.head, nil
}

// Commits lists the commits that can be reached from id and from none of without, the newest first.
// More than most are ErrManyFiles.
func (q *Quarantine) Commits(ctx context.Context, id string, without []string, most int) ([]string, error) {
	out, err := q.run(ctx, command{
		most: maxListed, stdin: revisions(id, without), args: []string{
			"rev-list", "--max-count=" + strconv.Itoa(most+1), "--stdin",
		},
	})
	if err != nil {
		return nil, err
	}
	list := strings.Fields(out)
	if len(list) > most {
		return nil, ErrManyFiles
	}
	return list, nil
}

func revisions(id string, without []string) string {
	var b strings.Builder
	b.WriteString(id + "\n")
	for _, other := range without {
		b.WriteString("^" + other + "\n")
	}
	return b.String()
}

// Object is an object of a repository. Path is one of its places, "" for a commit and a tree at the top.
type Object struct{ ID, Path string }

// Objects lists the objects that can be reached from id and from none of without, in the order of the
// commits.
func (q *Quarantine) Objects(ctx context.Context, id string, without []string) (list []Object, err error) {
	out, err := q.run(ctx, command{
		most: maxListed, stdin: revisions(id, without), args: []string{"rev-list", "--objects", "--stdin"},
	})
	for line := range strings.Lines(out) {
		id, path, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		list = append(list, Object{id, path})
	}
	return list, err
}

// Kinds returns the type and the size of each object.
func (q *Quarantine) Kinds(ctx context.Context, ids []string) (kinds []string, sizes []int64, err error) {
	if len(ids) == 0 {
		return nil, nil, nil
	}
	out, err := q.run(ctx, command{
		most: maxListed, stdin: strings.Join(ids, "\n") + "\n",
		args: []string{"cat-file", "--batch-check=%(objecttype) %(objectsize)"},
	})
	if err != nil {
		return nil, nil, err
	}
	for line := range strings.Lines(out) {
		kind, size, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		n, err := strconv.ParseInt(size, 10, 64)
		if err != nil {
			return nil, nil, fmt.Errorf("git does not have an object: %q", line)
		}
		kinds, sizes = append(kinds, kind), append(sizes, n)
	}
	if len(kinds) != len(ids) {
		return nil, nil, errors.New("git did not answer for each object")
	}
	return kinds, sizes, nil
}

// Read calls each with the content of each object, in the order of ids. The caller bounds their sizes.
func (q *Quarantine) Read(ctx context.Context, ids []string, each func(i int, content []byte)) error {
	if len(ids) == 0 {
		return nil
	}
	r, w := io.Pipe()
	read := make(chan error, 1)
	go func() {
		err := readBatch(bufio.NewReader(r), ids, each)
		_ = r.CloseWithError(err)
		read <- err
	}()
	_, err := q.run(ctx, command{
		stdout: w, stdin: strings.Join(ids, "\n") + "\n", args: []string{"cat-file", "--batch=%(objectsize)"},
	})
	_ = w.Close()
	return errors.Join(err, <-read)
}

func readBatch(r *bufio.Reader, ids []string, each func(i int, content []byte)) error {
	for i := range ids {
		line, err := r.ReadString('\n')
		if err != nil {
			return err
		}
		size, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			return fmt.Errorf("git does not have an object: %q", line)
		}
		content := make([]byte, size+1) // and a line break
		if _, err := io.ReadFull(r, content); err != nil {
			return err
		}
		each(i, content[:size])
	}
	return nil
}

// Change is a file that differs between two commits.
type Change struct {
	Path    string
	Mode    string // of the new file, as git prints it; "": the file is removed
	OldMode string // "": it is new
	ID      string // of the new content; "": the file is removed
}

// The modes of what is no plain file.
const (
	ModeSymlink   = "120000"
	ModeSubmodule = "160000"
)

// Compare lists the files that differ between id and the newest commit that it has in common with base.
// Without such a commit, or with base "", all files are new. A file that is renamed is two changes. If
// there is more than one such commit, because histories cross, a file counts that differs from any of
// them, and from base.
func (q *Quarantine) Compare(ctx context.Context, base, id string) ([]Change, error) {
	var common []string
	if base != "" {
		out, err := q.run(ctx, command{args: []string{"merge-base", "--all", base, id}})
		if err != nil && exitCode(err) != 1 {
			return nil, err
		}
		common = strings.Fields(out)
	}
	switch {
	case len(common) > maxCommon:
		return nil, ErrManyFiles
	case len(common) == 1:
		return q.Differ(ctx, common[0], id)
	case len(common) == 0:
		out, err := q.run(ctx, command{args: []string{"hash-object", "-w", "-t", "tree", "/dev/null"}})
		if err != nil {
			return nil, err
		}
		return q.Differ(ctx, strings.TrimSpace(out), id)
	}
	list, err := q.Differ(ctx, base, id)
	if err != nil {
		return nil, err
	}
	changed := map[string]bool{}
	for _, from := range common {
		some, err := q.Differ(ctx, from, id)
		if err != nil {
			return nil, err
		}
		for _, c := range some {
			changed[c.Path] = true
		}
	}
	return slices.DeleteFunc(list, func(c Change) bool { return !changed[c.Path] }), nil
}

// maxCommon bounds the commits at which two histories cross.
const maxCommon = 20

// Differ lists the files that differ between two commits or trees.
func (q *Quarantine) Differ(ctx context.Context, from, to string) ([]Change, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, q.cache.listing, ErrManyFiles)
	defer cancel()
	out, err := q.run(ctx, command{most: maxListed, args: []string{
		"diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--no-ext-diff", "--end-of-options", from, to,
	}})
	if errors.Is(err, errLongOutput) {
		return nil, ErrManyFiles
	}
	if err != nil {
		return nil, err
	}
	return parseChanges(out)
}

func exitCode(err error) int {
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return failed.ExitCode()
	}
	return -1
}

// parseChanges reads the raw format of git-diff-tree(1).
func parseChanges(out string) (list []Change, err error) {
	fields := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		parts := strings.Fields(strings.TrimPrefix(fields[i], ":"))
		if len(parts) != 5 {
			return nil, fmt.Errorf("git prints a change that is none: %q", fields[i])
		}
		c := Change{Path: fields[i+1], OldMode: existing(parts[0]), Mode: existing(parts[1]), ID: existing(parts[3])}
		list = append(list, c)
	}
	return list, nil
}

// Links returns the symbolic links of a commit: where each points, as git stores it, by its path.
func (q *Quarantine) Links(ctx context.Context, commit string) (map[string]string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, q.cache.listing, ErrManyFiles)
	defer cancel()
	found := linkFilter{}
	if _, err := q.run(ctx, command{stdout: &found, args: []string{
		"ls-tree", "-r", "-z", "--full-tree", commit,
	}}); err != nil {
		return nil, err
	}
	links := map[string]string{}
	return links, q.Read(ctx, found.ids, func(i int, content []byte) { links[found.paths[i]] = string(content) })
}

// linkFilter keeps the symbolic links of the output of git-ls-tree(1).
type linkFilter struct {
	rest       []byte
	ids, paths []string
}

func (f *linkFilter) Write(p []byte) (int, error) {
	f.rest = append(f.rest, p...)
	for {
		line, rest, found := bytes.Cut(f.rest, []byte{0})
		if !found {
			return len(p), nil
		}
		head, path, _ := strings.Cut(string(line), "\t")
		if parts := strings.Fields(head); len(parts) == 3 && parts[0] == ModeSymlink {
			f.ids, f.paths = append(f.ids, parts[2]), append(f.paths, path)
		}
		f.rest = rest
	}
}

// Push pushes updates to the remote, each only if the remote's ref is still at its old id. It returns for
// each why the remote has refused it, or "", and the error that refused all.
func (q *Quarantine) Push(ctx context.Context, updates []Update, atomic bool) (refusals []string, err error) {
	args := []string{"push", "--porcelain", "--no-follow-tags", "--no-signed", "--recurse-submodules=no", "--no-verify"}
	if atomic {
		args = append(args, "--atomic")
	}
	for _, u := range updates {
		args = append(args, "--force-with-lease="+u.Name+":"+u.Old)
	}
	args = append(args, "--", q.remote.url)
	for _, u := range updates {
		args = append(args, u.New+":"+u.Name)
	}
	var out bytes.Buffer
	_, err = q.run(ctx, command{remote: &q.remote, stdout: &out, args: args})
	results := map[string]string{}
	for line := range strings.Lines(out.String()) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) != 3 {
			continue
		}
		_, name, _ := strings.Cut(fields[1], ":")
		if results[name] = ""; fields[0] == "!" {
			results[name] = rejection(clean(fields[2], &q.remote), err)
		}
	}
	refusals = make([]string, len(updates))
	for i, u := range updates {
		reason, known := results[u.Name]
		if !known && err != nil {
			return nil, q.remote.hide(err)
		}
		if !known {
			return nil, errors.New("git push did not report a ref")
		}
		if refusals[i] = reason; reason == "" {
			// It saves a fetch. If it fails, because of a folder of branches that are gone, the next refresh does it.
			_, _ = q.run(ctx, command{args: []string{"update-ref", u.Name, u.New}})
		}
	}
	return refusals, nil
}

// rejection says why a remote rejects a ref, with what it remarks.
func rejection(summary string, err error) string {
	if strings.Contains(summary, "(stale info)") {
		return "the branch has changed on the remote since it was fetched: fetch and rebase"
	}
	_, why, found := strings.Cut(summary, "(")
	if !found {
		why = summary
	}
	reason := strings.TrimSuffix(why, ")")
	if failed, ok := errors.AsType[*runError](err); ok {
		var remarks []string
		for line := range strings.Lines(failed.stderr) {
			if remark, is := strings.CutPrefix(strings.TrimSpace(line), "remote:"); is && strings.TrimSpace(remark) != "" {
				remarks = append(remarks, strings.TrimSpace(remark))
			}
		}
		if text := strings.Join(remarks, " "); text != "" {
			reason += ": " + strings.ToValidUTF8(text[:min(len(text), maxRemarks)], "")
		}
	}
	return reason
}
