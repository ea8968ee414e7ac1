package inside

import (
	"bytes"
	"os"
	"strconv"
)

// Descendants lists the processes below pid, parents before their children. Meanwhile some may
// end and others start.
func Descendants(pid int) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	children := map[int][]int{}
	for _, e := range entries {
		if child, err := strconv.Atoi(e.Name()); err == nil {
			if stat, ok := ReadStat(child); ok {
				children[stat.Parent] = append(children[stat.Parent], child)
			}
		}
	}
	tree := children[pid]
	for i := 0; i < len(tree); i++ {
		tree = append(tree, children[tree[i]]...)
	}
	return tree
}

// Stat holds the fields of /proc/PID/stat that we use (proc_pid_stat(5)).
type Stat struct {
	Parent int
	Start  uint64 // in clock ticks after boot; together with the PID, it identifies a process
	Zombie bool   // it has ended, and nobody has waited for it yet
	// Stopped means that it runs only after SIGCONT, or when its tracer lets it.
	Stopped bool
}

// ReadStat returns false if there is no such process.
func ReadStat(pid int) (Stat, bool) {
	content, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Stat{}, false
	}
	// The second field is the program's name in parentheses. It may contain any character.
	fields := bytes.Fields(content[bytes.LastIndexByte(content, ')')+1:])
	if len(fields) < 20 {
		return Stat{}, false
	}
	parent, err1 := strconv.Atoi(string(fields[1]))
	start, err2 := strconv.ParseUint(string(fields[19]), 10, 64)
	state := string(fields[0])
	return Stat{
		Parent: parent, Start: start, Zombie: state == "Z", Stopped: state == "T" || state == "t",
	}, err1 == nil && err2 == nil
}
