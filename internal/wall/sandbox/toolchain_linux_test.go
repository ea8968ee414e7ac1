package sandbox

import (
	"os"
	"testing"

	"github.com/penstock-dev/penstock/internal/wall/inside"
)

// Common toolchains must work with the filter and without a network.
func TestToolchainsWorkInASealedSandbox(t *testing.T) {
	t.Parallel()
	s := open(t, Bubblewrap)
	path := defaultPath + ":/usr/local/go/bin:/usr/lib/go/bin:/usr/local/cargo/bin"
	for program, script := range map[string]string{
		"gcc": `printf '#include <stdio.h>\nint main(){puts("works");}' > a.c && gcc -O2 a.c && ./a.out`,
		// This does not compile: a first compilation builds the standard library, which takes long.
		"go": `printf 'package main\nimport _ "net"\nfunc main(){}' > a.go
			GOTOOLCHAIN=local go list -deps a.go > deps && grep -qx net deps && gofmt -w . && echo works`,
		"python3": `python3 -c '
import asyncio, socket, subprocess, threading
socket.socketpair()
asyncio.run(asyncio.sleep(0))
t = threading.Thread(target=lambda: subprocess.run(["echo", "works"]))
t.start()
t.join()'`,
		"node": `node -e '
require("os").networkInterfaces()
new (require("worker_threads").Worker)("console.log(\"works\")", {eval: true})'`,
		"javac": `echo 'class A {
	public static void main(String[] a) throws Exception {
		java.net.NetworkInterface.getNetworkInterfaces();
		new Thread(() -> System.out.println("works")).start();
	}
}' > A.java && javac A.java && java -cp . A`,
		"rustc": `echo 'fn main() { std::thread::spawn(|| println!("works")).join().unwrap() }' > a.rs && rustc a.rs && ./a`,
		"git": `git init -q . &&
			git -c user.name=a -c user.email=a@b commit -q --allow-empty -m works && git log --format=%s`,
		"make": `printf 'all: one two\none two:\n\t@true\n' > Makefile && make -s -j2 && echo works`,
	} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			if _, err := inside.LookPath(program, "/", []string{"PATH=" + path}); err != nil {
				t.Skip(err)
			}
			sp := spec(t, script)
			sp.Env = []string{"PATH=" + path}
			if _, err := os.Stat("/usr/local/rustup"); err == nil {
				sp.Env = append(sp.Env, "RUSTUP_HOME=/usr/local/rustup")
			}
			seal(t, &sp)
			if got := output(t, s, sp); got != "works\n" {
				t.Errorf("got %q", got)
			}
		})
	}
}
