package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/penstock-dev/penstock"
)

// promptFile is the path of a command's prompt, relative to the workspace.
const promptFile = ".penstock/prompt.md"

// commandHarness runs a program once for each prompt. The program reads the prompt from its
// standard input, or from the file in PENSTOCK_PROMPT_FILE. Its output is the message, and its exit
// code is the result of the turn.
type commandHarness struct{ program Program }

type commandAgent struct {
	commandHarness
	session Session
	process Process // of the active turn
}

// Start implements Harness. There is no session to load: each turn is a new program.
func (h commandHarness) Start(_ context.Context, s Session) (Agent, error) {
	return &commandAgent{commandHarness: h, session: s}, nil
}

func (a *commandAgent) SessionID() string { return "" }

func (a *commandAgent) Fresh() bool { return true }

func (a *commandAgent) Close() {
	if a.process != nil {
		a.process.Kill()
	}
}

// Prompt implements Agent.
func (a *commandAgent) Prompt(ctx context.Context, m Message, interrupt <-chan struct{}) (penstock.Result, error) {
	if err := a.writePrompt(m.Text); err != nil {
		return failed(penstock.CodeAgentProcessFailed, "The worker cannot write the prompt to the workspace: %s", err), nil
	}
	env := append(a.program.environment(a.session.Env), "PENSTOCK_PROMPT_FILE="+path.Join(a.session.Dir, promptFile))
	process, err := a.session.Start(ctx, Command{Argv: a.program.Argv, Env: env})
	if err != nil {
		return penstock.Result{}, err
	}
	a.process = process
	cut, stop := a.killOn(ctx, interrupt)
	defer stop()

	given := make(chan struct{})
	go func() {
		defer close(given)
		_, _ = io.WriteString(process.Stdin(), m.Text) // the program may not read it
		_ = process.Stdin().Close()
	}()
	said := transcript{record: a.session.Record}
	lastWords := &Tail{}
	_ = say(&said, io.TeeReader(process.Stdout(), lastWords)) // only the end of the output is needed
	_ = process.Stdout().Close()
	exit, err := process.Wait()
	<-given
	said.end()
	stop()
	switch {
	case ctx.Err() != nil:
		return penstock.Result{}, context.Cause(ctx)
	case err == nil && exit.Code == 0: // an interrupt would have come too late
		return penstock.Result{State: penstock.StateSucceeded, ActionsUnknown: true}, nil
	case cut.Load():
		return penstock.Result{}, ErrInterrupted
	case err != nil:
		return penstock.Result{}, fmt.Errorf("wait for the command: %w", err)
	}
	reason := "The command failed: " + exit.Text
	if text := lastWords.Text(a.session.Mask); text != "" {
		reason += "\n\n" + text
	}
	return failed(penstock.CodeAgentProcessFailed, "%s", reason), nil
}

// killOn ends the program when ctx ends or interrupt is closed, until stop is called. stop may be
// called repeatedly, and returns true after an interrupt.
func (a *commandAgent) killOn(ctx context.Context, interrupt <-chan struct{}) (cut *atomic.Bool, stop func()) {
	cut = new(atomic.Bool)
	ended := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-ended:
			return
		case <-interrupt:
			cut.Store(true)
		case <-ctx.Done():
		}
		a.process.Kill()
	})
	return cut, sync.OnceFunc(func() {
		close(ended)
		watching.Wait()
	})
}

// writePrompt writes the prompt to a new file in the workspace, because a program may have left a
// link there.
func (a *commandAgent) writePrompt(text string) error {
	root := a.session.Root
	if err := root.Remove(promptFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := root.MkdirAll(filepath.Dir(promptFile), 0o755); err != nil {
		return err
	}
	file, err := root.OpenFile(promptFile, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

// say turns the output in r into a message. It joins characters that are split between two reads.
func say(said *transcript, r io.Reader) error {
	buf := make([]byte, 32<<10)
	held := 0
	for {
		n, err := r.Read(buf[held:])
		n += held
		whole := n - partial(buf[:n])
		said.say("", false, string(buf[:whole]))
		held = copy(buf, buf[whole:n])
		if err != nil {
			said.say("", false, string(buf[:held]))
			return err
		}
	}
}

// partial returns the number of bytes at the end of text that may be an incomplete character.
func partial(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if tail := text[len(text)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}
