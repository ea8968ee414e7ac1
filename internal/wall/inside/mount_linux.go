package inside

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// The folders in Image.Dir.
const (
	ImageUpper = "upper" // what the tree changes
	ImageWork  = "work"  // of the kernel
	ImageRoot  = "root"  // where the file system is mounted
)

// Overlay is how the file system of an image is mounted.
type Overlay struct {
	Layers []string `json:"layers"` // the top one first
	Dir    string   `json:"dir"`    // see Image
	Points []Point  `json:"points"` // what bwrap mounts something on
}

// Point is a path of the image on which something is mounted.
type Point struct {
	Path string `json:"path"` // without the leading slash
	Dir  bool   `json:"dir"`
}

// outer is what the namespaces around bwrap have.
type outer struct {
	Overlay *Overlay       `json:"overlay"` // nil: none
	Bounds  map[string]int `json:"bounds"`  // see order
}

// forkMounting starts the program of o with the overlay mounted and the bounds set, in new namespaces.
// In between, it runs this program as "enter mount". The program gets two more descriptors: these
// settings and the program.
func (o Order) forkMounting(program string, fds []uintptr) (pid int, err error) {
	text, err := json.Marshal(outer{o.Overlay, o.Bounds})
	if err != nil {
		return 0, err
	}
	settings, err := memoryFile(text)
	if err != nil {
		return 0, err
	}
	defer unix.Close(int(settings))
	executable, err := os.Open(program)
	if err != nil {
		return 0, err
	}
	defer executable.Close()
	fds = append(slices.Clone(fds), settings, executable.Fd())
	ids := func(id int) []syscall.SysProcIDMap { return []syscall.SysProcIDMap{{HostID: id, Size: 1}} }
	argv := []string{"penstock", "enter", mountArg, strconv.Itoa(len(fds) - 2), strconv.Itoa(len(fds) - 1)}
	return syscall.ForkExec("/proc/self/exe", append(argv, o.Argv...), &syscall.ProcAttr{
		Dir:   o.Dir,
		Env:   append(slices.Clone(o.Env), "GOMAXPROCS=1"),
		Files: fds,
		Sys: &syscall.SysProcAttr{
			Setpgid: true, Pdeathsig: syscall.SIGKILL,
			Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
			UidMappings: ids(os.Geteuid()), GidMappings: ids(os.Getegid()),
		},
	})
}

// mountArg makes enter set up the namespaces around bwrap.
const mountArg = "mount"

// enterMount sets up what the first descriptor describes and becomes the program of the second one.
// It returns only if that fails.
func enterMount(args []string) error {
	if len(args) < 3 {
		return errors.New("penstock enter is started by a sandbox, never by hand")
	}
	runtime.LockOSThread()
	settings, err1 := strconv.Atoi(args[0])
	program, err2 := strconv.Atoi(args[1])
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	file := os.NewFile(uintptr(settings), "settings")
	var o outer
	err := json.NewDecoder(io.LimitReader(file, 1<<20)).Decode(&o)
	_ = file.Close()
	if err != nil {
		return fmt.Errorf("read the settings: %w", err)
	}
	for name, n := range o.Bounds { // the kernel may not know one, and /proc/sys may be read-only
		_ = Write(filepath.Join("/proc/sys/user", name), strconv.Itoa(n))
	}
	if o.Overlay != nil {
		if err := o.Overlay.mount(); err != nil {
			return err
		}
	}
	unix.CloseOnExec(program)
	return syscall.Exec(fmt.Sprintf("/proc/self/fd/%d", program), args[2:], []string{})
}

func (o Overlay) mount() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the mounts private: %w", err)
	}
	// The options of a mount fit into a page, so the layers are named relative to their folder.
	if err := os.Chdir(filepath.Dir(o.Layers[0])); err != nil {
		return err
	}
	var lower []string
	for _, layer := range o.Layers {
		lower = append(lower, filepath.Base(layer))
	}
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s,userxattr", strings.Join(lower, ":"),
		filepath.Join(o.Dir, ImageUpper), filepath.Join(o.Dir, ImageWork))
	if len(options) >= os.Getpagesize() {
		return fmt.Errorf("the image has %d layers, which are too many for one mount", len(o.Layers))
	}
	at := filepath.Join(o.Dir, ImageRoot)
	if err := unix.Mount("overlay", at, "overlay", unix.MS_NODEV|unix.MS_NOSUID, options); err != nil {
		return fmt.Errorf("mount the layers of the image (overlayfs in a user namespace, Linux 5.11): %w", err)
	}
	// The kernel makes a folder there that its owner cannot remove.
	if err := os.Chmod(filepath.Join(o.Dir, ImageWork, "work"), 0o700); err != nil { //nolint:gosec // a folder
		return err
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	root, err := os.OpenRoot(at)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, p := range o.Points {
		if err := p.prepare(root); err != nil {
			return fmt.Errorf("make /%s in the image: %w", p.Path, err)
		}
	}
	return nil
}

// prepare makes a real folder or file of each component. bwrap follows links when it makes them
// itself, and a link of an image could lead it to the host.
func (p Point) prepare(root *os.Root) error {
	parts := strings.Split(p.Path, "/")
	for i := range parts {
		name := path.Join(parts[:i+1]...)
		info, err := root.Lstat(name)
		last := i == len(parts)-1
		fits := err == nil && (info.IsDir() && (!last || p.Dir) || last && !p.Dir && info.Mode().IsRegular())
		switch {
		case fits:
			continue
		case err == nil:
			err = root.RemoveAll(name)
		case errors.Is(err, fs.ErrNotExist):
			err = nil
		}
		if err != nil {
			return err
		}
		if last && !p.Dir {
			err = root.WriteFile(name, nil, 0o644)
		} else {
			err = root.Mkdir(name, 0o755)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
