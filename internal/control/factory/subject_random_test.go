package factory_test

import (
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/definition"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// perWorld is how many sequences share a world, each with a subject of its own.
const perWorld = 2000

// Whatever happens in whatever order, at two servers that are killed at any step, one run at most works on a subject,
// and each event reaches one prompt or has a fate that says why not. Each sequence has a seed of its own, in a row.
// In one of four, two things happen at once; the others repeat exactly. PENSTOCK_TEST_SEED sets the first seed,
// PENSTOCK_TEST_SEQUENCES how many there are for each mode; make sequences runs many.
func TestSequencesOfEventsOnASubject(t *testing.T) {
	t.Parallel()
	sequences := uint64(12)
	if n, err := strconv.ParseUint(os.Getenv("PENSTOCK_TEST_SEQUENCES"), 10, 64); err == nil {
		sequences = n
	}
	first := uint64(rand.Uint32())
	if n, err := strconv.ParseUint(os.Getenv("PENSTOCK_TEST_SEED"), 10, 64); err == nil {
		first = n
	}
	for _, mode := range []string{"coalesce", "queue", "replace", shared} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			for seed := first; seed < first+sequences; seed += perWorld {
				t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
					t.Parallel()
					testkit.Engines(t, func(t *testing.T, url string) {
						newScene(t, url, mode).play(mode, seed, min(seed+perWorld, first+sequences))
					})
				})
			}
		})
	}
}

// shared is the mode in which two automations share the subject.
const shared = "shared"

// scene is where sequences happen: two servers, and an automation whose events start, continue and close.
type scene struct {
	*topics
	twin, other *testworld.World // servers with the connections of the first one, and with their own
	elsewhere   penstock.Webhook // starts nothing
	starts      []string         // the actions that start a run, each of an automation of its own
	db          *testkit.Direct
	number      string // of the webhook, in the log
	counts      struct{ Steps, Events, Doubles, Replays, Kills, AtOnce, Runs, Again int }
}

// promptOf is the prompt of the automation whose runs an action starts.
func promptOf(action string) string { return "Look at what was " + action + "." }

func newScene(t *testing.T, url, mode string) *scene {
	t.Helper()
	busy := penstock.WhenBusy(mode)
	if mode == shared {
		busy = penstock.WhenBusyCoalesce
	}
	w := testworld.New(t, url, func(d *run.Deps) {
		testworld.DefaultWebhooks(d)
		d.Log, d.TimesByHand = slog.New(slog.DiscardHandler), true
		d.Webhooks.DeliveriesPerMinute, d.Webhooks.DedupBodyWindow = 0, 0
		d.Webhooks.KeepDeliveries, d.Webhooks.KeepDeliveriesFor = 0, 0
	})
	h := &hooks{&world{w}, w.NewFactory("acme")}
	c := &scene{
		topics: &topics{hooks: h, webhook: h.hook(named("events", penstock.AuthToken))}, db: testkit.OpenDirect(t, url),
		elsewhere: h.hook(named("elsewhere", penstock.AuthToken)),
	}
	rules := closable(busy != penstock.WhenBusyQueue)
	rules.WhenBusy, rules.MaxFollowups = &busy, new(definition.MostFollowups)
	if busy == penstock.WhenBusyQueue { // the end of a turn gives the next event at once
		rules.Quiet = new(penstock.Period("0s"))
	}
	c.starts = []string{"opened"}
	if mode == shared {
		rules.SubjectScope, c.starts = new(penstock.SubjectScopeFactory), []string{"opened", "failed"}
	}
	for _, action := range c.starts {
		c.automation = c.about(action, rules)
		if _, err := w.Resources.UpdateAutomation(
			t.Context(), w.Admin, h.factory, c.automation.UID,
			factory.AutomationRequest{Triggers: on(strconv.Quote(action)), Prompt: new(promptOf(action))},
		); err != nil {
			t.Fatal(err)
		}
		rules.ContinueOn, rules.Closes = nil, nil // one of them is enough
	}
	c.twin, c.other = w.Twin(), w.Beside()
	if w.Deps.Store.Shared() {
		c.twin = w.Beside()
	}
	c.number = c.db.Rows("SELECT number FROM webhooks WHERE uid = $1", c.webhook.UID)[0][0]
	return c
}

// play runs the sequences of the seeds from first to before end.
func (c *scene) play(mode string, first, end uint64) {
	begun, seed := time.Now(), first
	defer func() {
		if c.T.Failed() {
			c.T.Logf("failed after %d others in this world; make sequences N=4 WORLDS=1 ENGINE=%s SEED=%d repeats it",
				seed-first, c.Deps.Store.Engine(), seed)
		}
	}()
	for ; seed < end; seed++ {
		s := &sequence{
			scene: c, random: rand.New(rand.NewPCG(seed, 1)), atOnce: seed%4 == 0, pr: int(seed-first) + 1,
			servers:  [2]*testworld.World{c.World, c.twin},
			received: testworld.NewReceived(), messages: map[string]string{}, ended: map[string]bool{}, cancelled: -1,
		}
		if seed%8 == 0 {
			s.servers[1] = c.other
		}
		if s.run(); c.T.Failed() {
			return
		}
	}
	c.T.Logf("%s, seeds %d to %d: %.0f sequences a second; %+v", mode, first, end-1,
		float64(end-first)/time.Since(begun).Seconds(), c.counts)
}
