package inside

import (
	"bytes"
	"os"
	"slices"
	"strconv"
)

// Descendants lists the processes below pid, parents before their children. Meanwhile some may
// end and others start.
func Descendants(pid int) []int { return Processes().Below(pid) }

// Table holds all processes of the machine, at one time: the children of each.
type Table map[int][]int

// Processes reads a table. Its costs grow with the number of processes.
func Processes() Table {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	table := Table{}
	for _, e := range entries {
		if child, err := strconv.Atoi(e.Name()); err == nil {
			if stat, ok := ReadStat(child); ok {
				table[stat.Parent] = append(table[stat.Parent], child)
			}
		}
	}
	return table
}

// Below lists the processes below pid, parents before their children.
func (t Table) Below(pid int) []int {
	tree := slices.Clone(t[pid])
	for i := 0; i < len(tree); i++ {
		tree = append(tree, t[tree[i]]...)
	}
	return tree
}

// children lists the processes below pid like Descendants, at the cost of the tree alone. Where processes
// end meanwhile, it may miss some of their siblings (proc_tid_children(5)), so it suits only a caller
// that asks until there are none.
func children(pid int) []int {
	tree, ok := childrenOf(nil, pid)
	if !ok { // a kernel without CONFIG_PROC_CHILDREN
		return Descendants(pid)
	}
	for i := 0; i < len(tree); i++ {
		tree, _ = childrenOf(tree, tree[i])
	}
	return tree
}

// childrenOf appends the children of a process to list. It returns false if it can read none.
func childrenOf(list []int, pid int) (all []int, ok bool) {
	dir := "/proc/" + strconv.Itoa(pid) + "/task/"
	threads, err := os.ReadDir(dir)
	if err != nil {
		return list, false
	}
	for _, thread := range threads {
		content, err := os.ReadFile(dir + thread.Name() + "/children")
		if err != nil {
			continue
		}
		ok = true
		for field := range bytes.FieldsSeq(content) {
			if child, err := strconv.Atoi(string(field)); err == nil {
				list = append(list, child)
			}
		}
	}
	return list, ok
}

// Stat holds the fields of /proc/PID/stat that we use (proc_pid_stat(5)).
type Stat struct {
	Parent int
	Start  uint64 // in clock ticks after boot; together with the PID, it identifies a process
	Zombie bool   // it has ended, and nobody has waited for it yet
	// Stopped means that it runs only after SIGCONT, or when its tracer lets it.
	Stopped bool
	Hangs   bool // in the kernel, where no signal reaches it
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
		Hangs: state == "D",
	}, err1 == nil && err2 == nil
}
