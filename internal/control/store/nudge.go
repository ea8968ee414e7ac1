package store

import "sync"

// Nudges notifies subscribers that a topic may have changed, in this process and, on PostgreSQL, in
// the other replicas. A nudge may come late, twice or never, so subscribers also poll every few
// seconds.
type Nudges struct {
	mu     sync.Mutex
	topics map[string]map[chan struct{}]struct{}
	remote func([]string) // nil: this is the only process
}

// The topics besides the ones that [RunTopic] returns.
const (
	TopicQueue     = "queue"     // a run may wait for a worker
	TopicSchedules = "schedules" // the next time may have changed
	TopicSearch    = "search"    // there are runs to index

	TopicRepositories = "repositories" // a repository may be due
	TopicBudgets      = "budgets"      // a budget may have more room
	TopicSubjects     = "subjects"     // an event may wait for a run
	TopicEndpoints    = "endpoints"    // a message may wait to be sent
	TopicCommands     = "commands"     // a person may have told a run something on a forge
	TopicOutputs      = "outputs"      // an output may wait to be done
)

// RepositoryTopic changes when a poll of the factory's repository is requested, and when it was
// polled.
func RepositoryTopic(factoryUID string) string { return "repository:" + factoryUID }

// RunTopic changes with every event of a run, and when its lease is lost or a
// follow-up waits.
func RunTopic(runID string) string { return "run:" + runID }

func newNudges() *Nudges {
	return &Nudges{topics: map[string]map[chan struct{}]struct{}{}}
}

// Subscribe returns a channel that receives after the topic changed; changes in
// quick succession come as one. stop ends the subscription.
func (n *Nudges) Subscribe(topic string) (c <-chan struct{}, stop func()) {
	ch := make(chan struct{}, 1)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.topics[topic] == nil {
		n.topics[topic] = map[chan struct{}]struct{}{}
	}
	n.topics[topic][ch] = struct{}{}
	return ch, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.topics[topic], ch)
		if len(n.topics[topic]) == 0 {
			delete(n.topics, topic)
		}
	}
}

func (n *Nudges) notify(topics []string) {
	if len(topics) == 0 {
		return
	}
	n.notifyLocal(topics)
	if n.remote != nil {
		n.remote(topics)
	}
}

func (n *Nudges) notifyLocal(topics []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, topic := range topics {
		for ch := range n.topics[topic] {
			select {
			case ch <- struct{}{}:
			default:
			}
		}
	}
}

// topicSet collects topics to send, each once.
type topicSet struct {
	mu sync.Mutex
	m  map[string]struct{}
}

func newTopicSet() *topicSet { return &topicSet{m: map[string]struct{}{}} }

func (s *topicSet) add(topics []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range topics {
		s.m[t] = struct{}{}
	}
}

func (s *topicSet) take(most int) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for t := range s.m {
		if len(out) == most {
			break
		}
		out = append(out, t)
		delete(s.m, t)
	}
	return out
}
