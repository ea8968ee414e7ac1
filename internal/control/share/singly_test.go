package share_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/internal/control/share"
	"github.com/penstock-dev/penstock/internal/testkit"
)

func TestWorkForAKeyIsDoneOnceAtATime(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err  error
		want int32
	}{"well": {nil, 2}, "badly": {errors.New("no"), 1}} {
		var s share.Singly
		var times, atOnce atomic.Int32
		begun, release := make(chan struct{}, 9), make(chan struct{})
		work := func() error {
			if atOnce.Add(1) > 1 {
				t.Errorf("%s: twice at once", name)
			}
			defer atOnce.Add(-1)
			times.Add(1)
			begun <- struct{}{}
			<-release
			return tt.err
		}
		var returned atomic.Bool
		go func() {
			s.Do("a", work)
			returned.Store(true)
		}()
		<-begun
		testkit.Eventually(t, 10*time.Second, func() error {
			if !returned.Load() {
				return errors.New("the caller waits for the work")
			}
			return nil
		})
		for range 5 {
			s.Do("a", work)
		}
		other := make(chan struct{})
		s.Do("b", func() error { close(other); return nil }) // does not wait
		<-other
		close(release)
		s.Wait()
		if times.Load() != tt.want {
			t.Errorf("%s: %d times, want %d", name, times.Load(), tt.want)
		}
		s.Do("a", work)
		s.Wait()
		if times.Load() != tt.want+1 {
			t.Errorf("%s: not again afterwards", name)
		}
	}
}
