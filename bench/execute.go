package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"github.com/penstock-dev/penstock"
)

const (
	executeSlots  = 8
	executeRuns   = 80
	executeRounds = 3
)

// execute measures what a whole run costs, from its creation to its end: the model demo/offline, in
// sealed sandboxes, several at once. The bare side starts bwrap and a shell that ends at once, as many
// at once, in turns.
func (b *bench) execute(ctx context.Context) error {
	database, drop, err := b.freshSQLite(ctx)
	if err != nil {
		return err
	}
	defer drop()
	p, err := b.serve(ctx, database, "--concurrency", strconv.Itoa(executeSlots))
	if err != nil {
		return err
	}
	defer p.stop()
	var rates, bareRates []float64
	var server, children, alone []time.Duration
	for round := range executeRounds + 1 {
		p.resume()
		own, below, start := p.cpuTime(), p.childTime(), time.Now()
		if err := b.executeRuns(ctx, p); err != nil {
			return err
		}
		took := time.Since(start)
		own, below = p.cpuTime()-own, p.childTime()-below
		p.pause()
		bareTook, bareTime, err := manyAlone(ctx)
		if err != nil {
			return err
		}
		if round == 0 { // programs are in memory
			continue
		}
		rates = append(rates, executeRuns/took.Seconds())
		bareRates = append(bareRates, executeRuns/bareTook.Seconds())
		server, children = append(server, own/executeRuns), append(children, below/executeRuns)
		alone = append(alone, bareTime/executeRuns)
	}
	runs, starts := middle(rates), middle(bareRates)
	b.out.row(row{
		what: "runs per second, " + strconv.Itoa(executeSlots) + " at once", penstock: fmt.Sprintf("%.1f", runs),
		bare: fmt.Sprintf("%.1f", starts), ratio: ratio(runs, starts),
	})
	one := quantile(alone, .5)
	for _, part := range []struct {
		what string
		list []time.Duration
	}{{"server and worker", server}, {"processes of the run", children}} {
		median := quantile(part.list, .5)
		b.out.row(row{
			what: "CPU of a run: " + part.what, penstock: millis(median), bare: millis(one),
			ratio: ratio(float64(median), float64(one)),
		})
	}
	return nil
}

// executeRuns creates runs and waits until all of them have succeeded.
func (b *bench) executeRuns(ctx context.Context, p *process) error {
	const body = `{"prompt": "Say hello.", "model": "demo/offline"}`
	post := request("POST", createPath, body)
	c, err := dial(ctx, p.addr)
	if err != nil {
		return err
	}
	defer c.Close()
	for range executeRuns {
		if _, err := c.do(post); err != nil {
			return err
		}
	}
	for {
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
		switch unfinished, err := countRuns(ctx, p); {
		case err != nil:
			return err
		case unfinished == 0:
			return nil
		}
	}
}

// countRuns returns whether runs are left that have not succeeded.
func countRuns(ctx context.Context, p *process) (unfinished int, err error) {
	query := url.Values{"limit": {"1"}}
	for _, state := range penstock.States() {
		if state != penstock.StateSucceeded {
			query.Add("state", string(state))
		}
	}
	address := "http://" + p.addr + "/api/v1" + createPath + "?" + query.Encode()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return 0, err
	}
	r.Header.Set("Authorization", "Bearer "+apiKey)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	var list struct {
		Runs []struct {
			State penstock.State `json:"state"`
		} `json:"runs"`
	}
	if err == nil {
		err = json.Unmarshal(content, &list)
	}
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("list the runs: %s", content)
	}
	for _, run := range list.Runs {
		if run.State.Done() {
			return 0, fmt.Errorf("a run has ended as %s", run.State)
		}
	}
	return len(list.Runs), err
}

// manyAlone starts as many sandboxes of the program bwrap as executeRuns starts runs, and returns how
// long it takes and their CPU time.
func manyAlone(ctx context.Context) (took, used time.Duration, err error) {
	var mu sync.Mutex
	var slots sync.WaitGroup
	start, left := time.Now(), executeRuns
	for range executeSlots {
		slots.Go(func() {
			for {
				mu.Lock()
				left--
				over := left < 0 || err != nil
				mu.Unlock()
				if over {
					return
				}
				cmd := exec.CommandContext(ctx, "bwrap", append(aloneArgs(), "true")...)
				failed := cmd.Run()
				mu.Lock()
				if failed != nil {
					err = fmt.Errorf("start bwrap: %w", failed)
				} else {
					used += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
				}
				mu.Unlock()
			}
		})
	}
	slots.Wait()
	return time.Since(start), used, err
}
