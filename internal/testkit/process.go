package testkit

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// process identifies a process. Its number alone is not enough, because the kernel reuses numbers.
type process struct {
	pid     int
	parent  int
	started string // clock ticks after boot
}

// command returns its command line, for messages.
func (p process) command() string {
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.pid))
	return fmt.Sprintf("%d %s", p.pid, strings.TrimSpace(string(bytes.ReplaceAll(line, []byte{0}, []byte{' '}))))
}

// alive reports whether it still runs; a zombie does not.
func (p process) alive() bool {
	now, running := readProcess(p.pid)
	return running && now.started == p.started
}

// readProcess reads /proc/PID/stat (proc(5)).
func readProcess(pid int) (p process, running bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, false
	}
	// The name in parentheses may contain any character, so fields count from its end.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 {
		return process{}, false
	}
	parent, _ := strconv.Atoi(fields[1])
	return process{pid: pid, parent: parent, started: fields[19]}, fields[0] != "Z" && fields[0] != "X"
}

// processes lists the processes of this machine, or none without /proc.
func processes() []process {
	paths, _ := filepath.Glob("/proc/[0-9]*")
	var all []process
	for _, path := range paths {
		pid, _ := strconv.Atoi(filepath.Base(path))
		if p, running := readProcess(pid); running {
			all = append(all, p)
		}
	}
	return all
}

// descendants lists the children of a process, their children and so on.
func descendants(pid int) []process {
	children := map[int][]process{}
	for _, p := range processes() {
		children[p.parent] = append(children[p.parent], p)
	}
	var found []process
	for next := children[pid]; len(next) > 0; {
		p := next[0]
		found = append(found, p)
		next = append(next[1:], children[p.pid]...)
	}
	return found
}

// workingIn lists the processes other than this one whose command line,
// environment or working directory names dir.
func workingIn(dir string) []process {
	var found []process
	for _, p := range processes() {
		if p.pid == os.Getpid() {
			continue
		}
		proc := fmt.Sprintf("/proc/%d/", p.pid)
		command, _ := os.ReadFile(proc + "cmdline")
		environment, _ := os.ReadFile(proc + "environ")
		cwd, _ := os.Readlink(proc + "cwd")
		if strings.Contains(string(command)+"\n"+string(environment)+"\n"+cwd, dir) {
			found = append(found, p)
		}
	}
	return found
}
