package sandbox

import (
	"bytes"
	"os"
	"strconv"
)

// descendants lists the processes below pid, parents before their children. Meanwhile some may
// end and others start.
func descendants(pid int) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	children := map[int][]int{}
	for _, e := range entries {
		if child, err := strconv.Atoi(e.Name()); err == nil {
			if stat, ok := readStat(child); ok {
				children[stat.parent] = append(children[stat.parent], child)
			}
		}
	}
	tree := children[pid]
	for i := 0; i < len(tree); i++ {
		tree = append(tree, children[tree[i]]...)
	}
	return tree
}

// procStat holds the fields of /proc/PID/stat that we use (proc_pid_stat(5)).
type procStat struct {
	parent int
	start  uint64 // in clock ticks after boot; together with the PID, it identifies a process
	zombie bool   // it has ended, and nobody has waited for it yet
	// stopped means that it runs only after SIGCONT, or when its tracer lets it.
	stopped bool
}

func readStat(pid int) (procStat, bool) {
	content, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return procStat{}, false
	}
	// The second field is the program's name in parentheses. It may contain any character.
	fields := bytes.Fields(content[bytes.LastIndexByte(content, ')')+1:])
	if len(fields) < 20 {
		return procStat{}, false
	}
	parent, err1 := strconv.Atoi(string(fields[1]))
	start, err2 := strconv.ParseUint(string(fields[19]), 10, 64)
	state := string(fields[0])
	return procStat{
		parent: parent, start: start, zombie: state == "Z", stopped: state == "T" || state == "t",
	}, err1 == nil && err2 == nil
}
