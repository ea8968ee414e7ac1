package sandbox

import "testing"

// Without a memory limit, the size of in-memory file systems is still limited.
func TestBubblewrapLimitsFilesInMemory(t *testing.T) {
	t.Parallel()
	s := open(t, Bubblewrap)
	if b, ok := s.(*bubblewrap); !ok || !b.sizes() {
		t.Skip("this bwrap cannot bound a tmpfs")
	}
	sp := spec(t, `
		for place in /tmp /var/tmp /dev/shm /run; do
			head -c 100M /dev/zero > $place/big 2>/dev/null && echo "$place takes more than it may"
			rm -f $place/big
		done
		head -c 15M /dev/zero > /tmp/fits && head -c 3M /dev/zero > /dev/shm/fits && echo fits
		touch /dev/x 2>/dev/null && echo "/dev can be written"
		echo x > /dev/null && [ -w /dev/full ] && echo devices`)
	sp.Tmp, sp.Shm = 16<<20, 4<<20
	if got, want := output(t, s, sp), "fits\ndevices\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
