package sandbox

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// memoryUse returns the memory and swap of the processes, in bytes. It counts shared pages once
// only if that decides whether the sum exceeds limit, because finding them is expensive.
func memoryUse(pids []int, limit int64) int64 {
	files := memoryFiles(pids)
	if sum := sumMemory(pids, files, inStatus); sum <= limit {
		return sum
	}
	return sumMemory(pids, files, inSmaps)
}

// memory is the use of a process, in bytes.
type memory struct{ private, shared int64 }

func sumMemory(pids []int, files int64, read func(pid int) memory) int64 {
	var sum memory
	for _, pid := range pids {
		m := read(pid)
		sum.private += m.private
		sum.shared += m.shared
	}
	return sum.private + max(sum.shared, files) // a file may be mapped, too
}

// inStatus ignores sharing (proc_pid_status(5)).
func inStatus(pid int) memory {
	f := fields(fmt.Sprintf("/proc/%d/status", pid))
	return memory{f["RssAnon"] + f["VmSwap"], f["RssShmem"]}
}

// inSmaps divides shared pages among the processes that share them (proc_pid_smaps(5)).
func inSmaps(pid int) memory {
	f := fields(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	anonymous, ok := f["Pss_Anon"]
	if !ok { // an old kernel, or a process that we may not read
		return inStatus(pid)
	}
	return memory{anonymous + f["SwapPss"], f["Pss_Shmem"]}
}

// fields are the sizes in a file of lines such as "RssAnon:  12 kB", in bytes.
func fields(file string) map[string]int64 {
	content, _ := os.ReadFile(file) // a process that is gone uses nothing
	sizes := map[string]int64{}
	for line := range strings.Lines(string(content)) {
		name, rest, _ := strings.Cut(line, ":")
		size, isSize := strings.CutSuffix(strings.TrimSpace(rest), " kB")
		if kilobytes, err := strconv.ParseInt(size, 10, 64); isSize && err == nil {
			sizes[name] = kilobytes << 10
		}
	}
	return sizes
}

// memoryFiles returns the size of the open files of memfd_create(2), mapped or not.
func memoryFiles(pids []int) (bytes int64) {
	device, ok := memoryDevice()
	if !ok {
		return 0
	}
	for _, file := range unlinkedFiles(pids) {
		if file.Dev == device {
			bytes += file.Blocks * blockSize
		}
	}
	return bytes
}

// memoryDevice is the device of all files of memfd_create(2).
var memoryDevice = sync.OnceValues(func() (uint64, bool) {
	fd, err := unix.MemfdCreate("penstock", unix.MFD_CLOEXEC)
	if err != nil {
		return 0, false
	}
	defer unix.Close(fd)
	var file unix.Stat_t
	err = unix.Fstat(fd, &file)
	return file.Dev, err == nil
})
