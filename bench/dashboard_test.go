package main

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
)

func TestDashboardReport(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		report func(*bench)
		want   []string // the rows, with single spaces
	}{
		{"a first load within its aim", func(b *bench) {
			b.reportLoad("sqlite", firstLoad{
				Bytes: 193_690, Files: 26, Interactive: times{1900, 1200, 1300}, Bare: times{500, 300, 400}, CPU: times{200},
				BareCPU: times{25},
			})
		}, []string{
			"script of Runs, gzipped, in 26 files 193.7 KB < 250 KB met",
			"sqlite Runs interactive, 4x slower CPU, p50 1300.0 ms 400.0 ms 3.25 < 1.5 s met",
			"sqlite Runs interactive, 4x slower CPU, longest 1900.0 ms 500.0 ms 3.80",
			"sqlite CPU of its main thread, not slowed, p50 200.0 ms 25.0 ms 8.00",
		}},
		{"a first load that is too large", func(b *bench) {
			b.reportLoad(
				"sqlite",
				firstLoad{
					Bytes: 250_000, Files: 1, Interactive: times{1500}, Bare: times{500}, CPU: times{200}, BareCPU: times{25},
				},
			)
		}, []string{
			"script of Runs, gzipped, in 1 files 250.0 KB < 250 KB missed",
			"sqlite Runs interactive, 4x slower CPU, p50 1500.0 ms 500.0 ms 3.00 < 1.5 s missed",
			"sqlite Runs interactive, 4x slower CPU, longest 1500.0 ms 500.0 ms 3.00",
			"sqlite CPU of its main thread, not slowed, p50 200.0 ms 25.0 ms 8.00",
		}},
		{"lists beside a bare page", func(b *bench) {
			b.reportLists(
				"postgres", listTimes{Paging: times{80, 90, 100}, Filtering: times{90, 201}, Searching: times{50}, Bare: times{40}},
			)
		}, []string{
			"postgres 100,000 runs another page, p50 90.0 ms 40.0 ms 2.25 < 200 ms met",
			"postgres 100,000 runs another page, longest 100.0 ms 40.0 ms 2.50",
			"postgres 100,000 runs a filter, p50 201.0 ms 40.0 ms 5.03 < 200 ms missed",
			"postgres 100,000 runs a filter, longest 201.0 ms 40.0 ms 5.03",
			"postgres 100,000 runs a search, p50 50.0 ms 40.0 ms 1.25 < 200 ms met",
			"postgres 100,000 runs a search, longest 50.0 ms 40.0 ms 1.25",
		}},
		{"a run that is drawn evenly", func(b *bench) {
			b.reportFrames(0, frameTimes{Frames: times{16.7, 33.3}, Bare: times{16.7}, Rate: 49.96, Busy: .234})
		}, []string{
			"a new run events shown a second 50.0",
			"a new run CPU of its main thread 23.4 %",
			"a new run frame, p99 33.3 ms 16.7 ms 1.99",
			"a new run frame, longest 33.3 ms 16.7 ms 1.99 < 100 ms met",
		}},
		{"a run that drops frames", func(b *bench) {
			b.reportFrames(5000, frameTimes{Frames: times{16.7, 100.1, 133.3}, Bare: times{16.7}, Rate: 50, Busy: .5})
		}, []string{
			"a run of 5,000 events events shown a second 50.0",
			"a run of 5,000 events CPU of its main thread 50.0 %",
			"a run of 5,000 events frame, p99 133.3 ms 16.7 ms 7.98",
			"a run of 5,000 events frame, longest 133.3 ms 16.7 ms 7.98 < 100 ms missed",
			"2 of 3 frames took longer than 100 ms",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			test.report(&bench{out: &table{w: &out}})
			var got []string
			for line := range strings.Lines(out.String()) {
				got = append(got, strings.Join(strings.Fields(line), " "))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWorkThatTakesASecond(t *testing.T) {
	t.Parallel()
	const seconds = 3
	w := &work{}
	got := map[penstock.EventType]int{}
	for n := range seconds * workEvents {
		d := w.next()
		got[d.Type]++
		if d.Type != penstock.EventUsage && d.Type != penstock.EventMessage && d.Type != penstock.EventActionResult &&
			!bytes.Contains(d.Data, []byte(mark+strconv.Itoa(n))) {
			t.Errorf("event %d does not hold its number: %s", n, d.Data)
		}
	}
	want := map[penstock.EventType]int{
		penstock.EventMessageDelta: 20 * seconds, penstock.EventMessage: seconds, penstock.EventAction: 14 * seconds,
		penstock.EventActionResult: 14 * seconds, penstock.EventUsage: seconds,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events of %d s (-want +got):\n%s", seconds, diff)
	}
}
