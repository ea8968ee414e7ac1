package sandbox

import (
	"io"
	"os/exec"
	"testing"
)

// BenchmarkStart measures from the call to the first byte that the program prints. The difference
// to the program alone is the cost of a sandbox.
func BenchmarkStart(b *testing.B) {
	const script = "echo x; read wait"
	b.Run("none", func(b *testing.B) {
		for b.Loop() {
			cmd := exec.Command("/bin/sh", "-c", script)
			stdin, err1 := cmd.StdinPipe()
			stdout, err2 := cmd.StdoutPipe()
			if err1 != nil || err2 != nil || cmd.Start() != nil {
				b.Fatal(err1, err2)
			}
			firstByte(b, stdout)
			b.StopTimer()
			_ = stdin.Close()
			_ = cmd.Wait()
			b.StartTimer()
		}
	})
	for _, name := range append([]string{"sealed", "image"}, kinds...) {
		b.Run(name, func(b *testing.B) {
			kind := name
			if name == "sealed" || name == "image" {
				kind = Bubblewrap
			}
			s := open(b, kind)
			sp := spec(b, script)
			if name == "sealed" {
				seal(b, &sp)
			}
			if name == "image" {
				sp.Image = pulled(b)
			}
			sp.Limits = Limits{Memory: 1 << 30, Processes: 100, CPUs: 2}
			for b.Loop() {
				r, err := s.Start(b.Context(), sp)
				if err != nil {
					b.Fatal(err)
				}
				firstByte(b, r.Stdout())
				b.StopTimer()
				r.Kill()
				_ = r.Stdin().Close()
				_ = r.Stdout().Close()
				b.StartTimer()
			}
		})
	}
}

func firstByte(b *testing.B, r io.Reader) {
	b.Helper()
	if _, err := io.ReadFull(r, make([]byte, 1)); err != nil {
		b.Fatal(err)
	}
}
