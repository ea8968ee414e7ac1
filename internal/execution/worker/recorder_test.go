package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/supply/secret"
)

// log is where a recorder appends to.
type eventLog struct {
	mu      sync.Mutex
	batches [][]penstock.Draft
	respond func(call int, drafts []penstock.Draft) error
	calls   int
}

func (l *eventLog) append(_ context.Context, drafts []penstock.Draft) error {
	l.mu.Lock()
	l.calls++
	call, respond := l.calls, l.respond
	l.mu.Unlock()
	if respond != nil {
		if err := respond(call, drafts); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.batches = append(l.batches, drafts)
	return nil
}

func (l *eventLog) all() []penstock.Draft {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []penstock.Draft
	for _, b := range l.batches {
		list = append(list, b...)
	}
	return list
}

// recording runs a recorder in a new bubble.
func recording(
	t *testing.T, respond func(call int, drafts []penstock.Draft) error,
	test func(r *recorder, l *eventLog, loseLease context.CancelCauseFunc),
) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := &eventLog{respond: respond}
		lease, lose := context.WithCancelCause(t.Context())
		r := newRecorder(secret.NewMasker("hunter22", "topsecretvalue"), slog.New(slog.DiscardHandler), lose, l.append)
		done := make(chan struct{})
		go func() {
			defer close(done)
			r.Run(lease)
		}()
		test(r, l, lose)
		r.Close()
		<-done
	})
}

func note(text string) penstock.Draft {
	return penstock.Timeline(penstock.Now(), text, nil)
}

func timelineEvent(d penstock.Draft) string {
	var data penstock.TimelineData
	_ = json.Unmarshal(d.Data, &data)
	return data.Type
}

func TestEventsAreBatchedInOrder(t *testing.T) {
	t.Parallel()
	recording(t, nil, func(r *recorder, l *eventLog, _ context.CancelCauseFunc) {
		for i := range 3 {
			r.Record(note(fmt.Sprint(i)))
		}
		time.Sleep(49 * time.Millisecond)
		synctest.Wait()
		if n := len(l.all()); n != 0 {
			t.Errorf("%d events were appended before the batch was due", n)
		}
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		r.Record(note("3"))
		if err := r.Flush(); err != nil {
			t.Fatal(err)
		}
		for i, d := range l.all() {
			if timelineEvent(d) != fmt.Sprint(i) || d.N != int64(i+1) {
				t.Errorf("event %d is %s with number %d", i, timelineEvent(d), d.N)
			}
		}
		if len(l.batches) != 2 || len(l.all()) != 4 {
			t.Errorf("got %d batches of %d events", len(l.batches), len(l.all()))
		}
		begin := time.Now()
		if err := r.Flush(); err != nil || time.Since(begin) != 0 {
			t.Errorf("a flush of nothing: %v after %v", err, time.Since(begin))
		}
	})
}

func TestManyBytesDoNotWait(t *testing.T) {
	t.Parallel()
	recording(t, nil, func(r *recorder, l *eventLog, _ context.CancelCauseFunc) {
		for range 3 {
			r.Record(penstock.Timeline(penstock.Now(), "x", map[string]any{"text": strings.Repeat("x", 30<<10)}))
		}
		synctest.Wait()
		if n := len(l.all()); n != 3 {
			t.Errorf("%d events were appended at once, want 3", n)
		}
	})
}

func TestFailedAppendsAreTriedAgainInOrder(t *testing.T) {
	t.Parallel()
	away := func(call int, _ []penstock.Draft) error {
		if call <= 5 {
			return errors.New("connection refused")
		}
		return nil
	}
	recording(t, away, func(r *recorder, l *eventLog, _ context.CancelCauseFunc) {
		for i := range 10 {
			r.Record(note(fmt.Sprint(i)))
		}
		if err := r.Flush(); err != nil {
			t.Fatal(err)
		}
		for i, d := range l.all() {
			if timelineEvent(d) != fmt.Sprint(i) {
				t.Errorf("event %d is %s", i, timelineEvent(d))
			}
		}
		if l.calls != 6 {
			t.Errorf("%d calls", l.calls)
		}
	})
}

func TestRecordingWaitsForASlowControlPlane(t *testing.T) {
	t.Parallel()
	recording(t, nil, func(r *recorder, l *eventLog, _ context.CancelCauseFunc) {
		open := make(chan struct{})
		l.mu.Lock()
		l.respond = func(int, []penstock.Draft) error { <-open; return nil }
		l.mu.Unlock()
		const events = 100
		recorded := 0
		var mu sync.Mutex
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range events {
				r.Record(penstock.Timeline(penstock.Now(), "x", map[string]any{"text": strings.Repeat("x", 50<<10)}))
				mu.Lock()
				recorded++
				mu.Unlock()
			}
		}()
		time.Sleep(time.Minute)
		synctest.Wait()
		mu.Lock()
		if most := (queueBytes+maxEvent)/(50<<10) + 1; recorded == 0 || recorded > most {
			t.Errorf("%d events were taken while nothing could be appended, want at most %d", recorded, most)
		}
		mu.Unlock()
		close(open)
		<-done
		if err := r.Flush(); err != nil || len(l.all()) != events {
			t.Errorf("%d events were appended, %v", len(l.all()), err)
		}
	})
}

func TestLostLeaseEndsTheRecording(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]struct {
		respond func(int, []penstock.Draft) error
		lose    error
	}{
		"an append says so": {func(int, []penstock.Draft) error { return penstock.ErrLeaseLost }, nil},
		"it ends while nothing passes": {
			func(int, []penstock.Draft) error { return errors.New("connection refused") }, penstock.ErrLeaseLost,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			recording(t, end.respond, func(r *recorder, l *eventLog, lose context.CancelCauseFunc) {
				r.Record(note("a"))
				if end.lose != nil {
					time.AfterFunc(time.Minute, func() { lose(end.lose) })
				}
				if err := r.Flush(); !errors.Is(err, penstock.ErrLeaseLost) {
					t.Errorf("got %v, want ErrLeaseLost", err)
				}
				for range 2000 { // nobody takes these, and nobody waits
					r.Record(penstock.Timeline(penstock.Now(), "x", map[string]any{"text": strings.Repeat("x", 1<<10)}))
				}
				if len(l.all()) != 0 {
					t.Errorf("%d events were appended", len(l.all()))
				}
			})
		})
	}
}

// The log must not show an error: no person has to act when the lease has ended.
func TestLeaseThatEndsWhileTheDatabaseIsUnavailableRejectsNothing(t *testing.T) {
	t.Parallel()
	away := func(int, []penstock.Draft) error { return penstock.Errorf(penstock.CodeUnavailable, "away") }
	recording(t, away, func(r *recorder, _ *eventLog, lose context.CancelCauseFunc) {
		var said bytes.Buffer
		r.log = slog.New(slog.NewTextHandler(&said, nil))
		r.Record(note("a"))
		r.Record(note("b"))
		time.AfterFunc(time.Minute, func() { lose(penstock.ErrLeaseLost) })
		if err := r.Flush(); !errors.Is(err, penstock.ErrLeaseLost) {
			t.Errorf("got %v, want ErrLeaseLost", err)
		}
		synctest.Wait() // for Run to end
		if said.Len() > 0 || r.done > 0 {
			t.Errorf("%d events count as appended; the log says:\n%s", r.done, said.String())
		}
	})
}

func TestOnlyTheEventThatIsRefusedIsLost(t *testing.T) {
	t.Parallel()
	refuse := func(_ int, drafts []penstock.Draft) error {
		for _, d := range drafts {
			if timelineEvent(d) == "3" {
				return penstock.Invalid("/drafts/3", "is wrong")
			}
		}
		return nil
	}
	recording(t, refuse, func(r *recorder, l *eventLog, _ context.CancelCauseFunc) {
		for i := range 6 {
			r.Record(note(fmt.Sprint(i)))
		}
		if err := r.Flush(); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range l.all() {
			got = append(got, timelineEvent(d))
		}
		if diff := cmp.Diff([]string{"0", "1", "2", "4", "5"}, got); diff != "" {
			t.Errorf("appended (-want +got):\n%s", diff)
		}
	})
}

func TestRefusedMoveEndsTheRecording(t *testing.T) {
	t.Parallel()
	refuse := func(int, []penstock.Draft) error { return penstock.Errorf(penstock.CodeConflict, "the run is over") }
	recording(t, refuse, func(r *recorder, _ *eventLog, _ context.CancelCauseFunc) {
		r.Record(penstock.NewDraft(penstock.EventState, penstock.Now(), penstock.StateData{State: penstock.StatePending}))
		if err := r.Flush(); penstock.CodeOf(err) != penstock.CodeConflict {
			t.Errorf("got %v, want the refusal", err)
		}
	})
}

// A secret that is split across deltas is masked like a whole one. Nothing of it is ever shown.
func TestSecretsAreMaskedAcrossDeltas(t *testing.T) {
	t.Parallel()
	recording(t, nil, func(r *recorder, l *eventLog, _ context.CancelCauseFunc) {
		say := func(id, text string) {
			r.Record(
				penstock.NewDraft(
					penstock.EventMessageDelta, penstock.Now(), penstock.MessageDelta{ID: id, Role: "assistant", Text: text},
				),
			)
		}
		message := penstock.NewDraft(penstock.EventMessage, penstock.Now(), penstock.Message{
			ID: "a", Role: "assistant",
			Content: []penstock.Block{
				penstock.Text("the password is hunter22, and the key topsecretvalue. All hunt is over: hunte"),
			},
		})
		for _, piece := range []string{
			"the password is hun", "te", "r2", "2, and the key topsecret\x1b[3", "1mvalue", ". All hunt", " is over: hunte",
		} {
			say("a", piece)
			say("b", piece[:1]) // another message between them
		}
		if err := r.Flush(); err != nil {
			t.Fatal(err)
		}
		r.Record(message)
		if err := r.Flush(); err != nil {
			t.Fatal(err)
		}
		texts := map[string]string{}
		for _, d := range l.all() {
			var delta penstock.MessageDelta
			if err := json.Unmarshal(d.Data, &delta); err == nil && d.Type == penstock.EventMessageDelta {
				texts[delta.ID] += delta.Text
			}
		}
		want := map[string]string{"a": "the password is ***, and the key ***. All hunt is over: ", "b": "ttr21. "}
		if diff := cmp.Diff(want, texts); diff != "" {
			t.Errorf("deltas (-want +got):\n%s", diff)
		}
		last := l.all()[len(l.all())-1]
		if strings.Contains(string(last.Data), "hunter22") || !strings.Contains(string(last.Data), "hunte") {
			t.Errorf("the message is %s", last.Data)
		}
	})
}

func TestMessageReplacesItsDeltasThatWait(t *testing.T) {
	t.Parallel()
	recording(t, nil, func(r *recorder, l *eventLog, _ context.CancelCauseFunc) {
		for _, id := range []string{"a", "b", "a"} {
			r.Record(penstock.NewDraft(penstock.EventMessageDelta, penstock.Now(), penstock.MessageDelta{ID: id, Text: "x"}))
		}
		r.Record(penstock.NewDraft(penstock.EventMessage, penstock.Now(), penstock.Message{ID: "a"}))
		if err := r.Flush(); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range l.all() {
			got = append(got, fmt.Sprintf("%s %s %d", d.Type, d.Key, d.N))
		}
		if diff := cmp.Diff([]string{"message_delta b 2", "message a 4"}, got); diff != "" {
			t.Errorf("appended (-want +got):\n%s", diff)
		}
	})
}

func TestAnAgentThatTalksWithoutEndIsStopped(t *testing.T) {
	t.Parallel()
	recording(t, nil, func(r *recorder, l *eventLog, _ context.CancelCauseFunc) {
		var stopped error
		r.stop, r.most = func(err error) { stopped = err }, 10*perEvent
		for n := 0; stopped == nil && n < 100; n++ {
			r.Record(note("again"))
		}
		if !errors.Is(stopped, errRecorded) {
			t.Fatalf("stopped with %v", stopped)
		}
		r.Record(note("the end")) // the final text of the run is recorded all the same
		if err := r.Flush(); err != nil {
			t.Error(err)
		}
		if all := l.all(); len(all) > 10 || timelineEvent(all[len(all)-1]) != "the end" {
			t.Errorf("%d events are recorded", len(all))
		}
	})
}
