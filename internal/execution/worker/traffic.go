package worker

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/wall/egress"
	"github.com/penstock-dev/penstock/internal/wall/gateway"
)

// modelTraffic counts what an execution exchanges with model providers.
type modelTraffic struct {
	mu    sync.Mutex
	hosts []penstock.HostTraffic
}

func (t *modelTraffic) of(host string, port int, mode string) *penstock.HostTraffic {
	i := slices.IndexFunc(t.hosts, func(h penstock.HostTraffic) bool {
		return h.Host == host && h.Port == port && h.Mode == mode
	})
	if i < 0 {
		i = len(t.hosts)
		t.hosts = append(t.hosts, penstock.HostTraffic{Host: host, Port: port, Mode: mode})
	}
	return &t.hosts[i]
}

// settled counts a call that reached the provider.
func (t *modelTraffic) settled(c gateway.Call) {
	if !c.Sent {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.of(c.Host, c.Port, penstock.TrafficModel)
	h.Requests++
	h.BytesOut += c.RequestBytes
	h.BytesIn += c.ResponseBytes
}

// refused counts a source by URL that no rule allows. Other refusals are not about a host.
func (t *modelTraffic) refused(r gateway.Refusal) {
	if r.Host == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.of(r.Host, r.Port, penstock.TrafficRefused)
	h.Refused++
	h.Reason = r.Reason
}

func (t *modelTraffic) report() []penstock.HostTraffic {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.hosts)
}

// reportEvery is how often the traffic of an execution is reported while it changes.
const reportEvery = 10 * time.Second

// reportedHosts limits the hosts of one report.
const reportedHosts = 200

// keepReporting reports the traffic periodically until ctx ends.
func (o *outlet) keepReporting(ctx context.Context) {
	tick := time.NewTicker(reportEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			o.reportTraffic()
		case <-ctx.Done():
			return
		}
	}
}

// reportTraffic records what the execution has exchanged with each host, if that is new.
func (o *outlet) reportTraffic() {
	o.reportMu.Lock()
	defer o.reportMu.Unlock()
	hosts := o.hosts()
	if slices.Equal(hosts, o.reported) {
		return
	}
	o.reported = hosts
	for _, draft := range trafficDrafts(hosts) {
		o.task.events.Record(draft)
	}
}

// hosts is what the execution has exchanged with each host since it began.
func (o *outlet) hosts() []penstock.HostTraffic {
	if o == nil {
		return nil
	}
	hosts := o.traffic.report()
	if o.proxy != nil {
		hosts = append(hosts, o.proxy.Report()...)
	}
	return hosts
}

func trafficDrafts(hosts []penstock.HostTraffic) []penstock.Draft {
	var drafts []penstock.Draft
	for chunk := range slices.Chunk(hosts, reportedHosts) {
		drafts = append(
			drafts, penstock.NewDraft(penstock.EventNetwork, penstock.Now(), penstock.NetworkReport{Hosts: chunk}),
		)
	}
	return drafts
}

// denied records the first refusal of a host on the timeline.
func (o *outlet) denied(d egress.Denial) {
	o.task.timeline(penstock.TimelineNetworkDenied, map[string]any{"host": d.Host, "port": d.Port, "reason": d.Reason})
}

// observed records a pull request that the proxy saw. It trusts the response of the host,
// independent of the agent.
func (o *outlet) observed(p egress.PullRequest) {
	status := "open"
	if p.Draft {
		status = "draft"
	}
	seen := true
	data := penstock.ArtifactData{URL: p.URL, Branch: p.Branch, Title: p.Title, Status: status, Observed: &seen}
	o.uploads.Go(func() {
		upload := penstock.Upload{ID: penstock.NewID(), Type: penstock.ArtifactPullRequest, Artifact: &data}
		_, err := o.task.saveArtifact(o.task.lease, upload, nil)
		if err != nil {
			o.task.log.Warn("cannot keep an observed pull request", "url", p.URL, "error", err)
		}
	})
}
