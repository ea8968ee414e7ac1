package store

// The statements are in parts, by subject. A subject of a [Store], such as [Runs], reads, and writes
// in transactions of its own. The same subject of a [Tx], such as [RunsTx], reads and writes in that
// transaction. What both read is written once, for either, in a type that both embed. The subjects
// follow the packages of rules: docs/architecture.md has a table.

// For access.
type (
	// Keys stores API keys, the principals that own them, and the shares of a key's limit that servers take.
	Keys struct{ s *Store }
	// KeysTx is [Keys] in a transaction.
	KeysTx struct{ tx *Tx }

	// Members stores persons, service accounts and what is granted to them and to groups.
	Members struct{ s *Store }
	// MembersTx is [Members] in a transaction.
	MembersTx struct{ tx *Tx }

	// Sessions stores sign-ins to the dashboard.
	Sessions struct{ s *Store }
	// SessionsTx is [Sessions] in a transaction.
	SessionsTx struct{ tx *Tx }

	// Secrets stores managed secrets and what names them, and re-encrypts every sealed value.
	Secrets struct {
		secretReads
		s *Store
	}
	// SecretsTx is [Secrets] in a transaction.
	SecretsTx struct {
		secretReads
		tx *Tx
	}
	secretReads struct{ q querier }

	// Responses stores responses that are kept for repeated requests.
	Responses struct{ s *Store }
	// ResponsesTx is [Responses] in a transaction.
	ResponsesTx struct{ tx *Tx }

	// Settings stores what the installation remembers about itself.
	Settings struct{ s *Store }
	// SettingsTx is [Settings] in a transaction.
	SettingsTx struct{ tx *Tx }
)

// For run.
type (
	// Environments stores the rows of environments, and what names them.
	Environments struct {
		environmentReads
		s *Store
	}
	// EnvironmentsTx is [Environments] in a transaction.
	EnvironmentsTx struct {
		environmentReads
		tx *Tx
	}
	environmentReads struct{ q querier }

	// Prebuilds stores what workers report about the workspaces that they keep for environments.
	Prebuilds struct{ s *Store }
	// PrebuildsTx is [Prebuilds] in a transaction.
	PrebuildsTx struct{ tx *Tx }
)

// For run.
type (
	// Runs stores rows of runs: creation, states, lists, sums, search, removal.
	Runs struct{ s *Store }
	// RunsTx is [Runs] in a transaction.
	RunsTx struct{ tx *Tx }

	// Events stores logs of runs.
	Events struct{ s *Store }
	// EventsTx is [Events] in a transaction.
	EventsTx struct{ tx *Tx }

	// Conversations reads the runs of a conversation as one, and stores its saved session.
	Conversations struct{ s *Store }
	// ConversationsTx is [Conversations] in a transaction.
	ConversationsTx struct{ tx *Tx }

	// Followups stores messages to runs, from their arrival to their delivery.
	Followups struct{ s *Store }
	// FollowupsTx is [Followups] in a transaction.
	FollowupsTx struct{ tx *Tx }

	// Files tracks attachments, artifacts and changes of runs, and which blobs they refer to.
	Files struct{ s *Store }
	// FilesTx is [Files] in a transaction.
	FilesTx struct{ tx *Tx }
)

// For run: executions.
type (
	// Queue tracks waiting runs, and the workers that claim them.
	Queue struct {
		queueReads
		s *Store
	}
	// QueueTx is [Queue] in a transaction.
	QueueTx struct {
		queueReads
		tx *Tx
	}
	queueReads struct{ q querier }

	// Executions tracks claimed runs: leases, turns, interrupts, traffic.
	Executions struct{ s *Store }
	// ExecutionsTx is [Executions] in a transaction.
	ExecutionsTx struct{ tx *Tx }
)

// For run: budgets.
type (
	// Budgets stores the rows of budgets, their accounts, and the runs that they block.
	Budgets struct {
		budgetReads
		s *Store
	}
	// BudgetsTx is [Budgets] in a transaction.
	BudgetsTx struct {
		budgetReads
		tx *Tx
	}
	budgetReads struct{ q querier }

	// Calls stores the ledger of model calls: reserve, settle, abandon.
	Calls struct{ s *Store }
	// CallsTx is [Calls] in a transaction.
	CallsTx struct{ tx *Tx }

	// Usage sums up the ledger.
	Usage struct{ s *Store }
)

// For forge.
type (
	// Forges stores connections to forges.
	Forges struct{ s *Store }
	// ForgesTx is [Forges] in a transaction.
	ForgesTx struct{ tx *Tx }
)

// For announce.
type (
	// Endpoints stores event endpoints, the messages to them, and what became of these.
	Endpoints struct{ s *Store }
	// EndpointsTx is [Endpoints] in a transaction.
	EndpointsTx struct{ tx *Tx }
)

// For factory: automations.
type (
	// Automations stores the rows of automations, and their clocks.
	Automations struct {
		automationReads
		s *Store
	}
	// AutomationsTx is [Automations] in a transaction.
	AutomationsTx struct {
		automationReads
		tx *Tx
	}
	automationReads struct{ q querier }

	// Schedules stores the rows of schedules.
	Schedules struct{ s *Store }
	// SchedulesTx is [Schedules] in a transaction.
	SchedulesTx struct{ tx *Tx }

	// Occurrences stores what was due to start work, and what became of it.
	Occurrences struct{ s *Store }
	// OccurrencesTx is [Occurrences] in a transaction.
	OccurrencesTx struct{ tx *Tx }
)

// For factory: deliveries.
type (
	// Webhooks stores the rows of webhooks, and their secrets.
	Webhooks struct {
		webhookReads
		s *Store
	}
	// WebhooksTx is [Webhooks] in a transaction.
	WebhooksTx struct {
		webhookReads
		tx *Tx
	}
	webhookReads struct{ q querier }

	// Deliveries stores the log of deliveries: admission, identities, payloads, counts.
	Deliveries struct {
		deliveryReads
		s *Store
	}
	// DeliveriesTx is [Deliveries] in a transaction.
	DeliveriesTx struct {
		deliveryReads
		tx *Tx
	}
	deliveryReads struct{ q querier }

	// Subjects stores what events are about, and which run has which event.
	Subjects struct {
		subjectReads
		s *Store
	}
	// SubjectsTx is [Subjects] in a transaction.
	SubjectsTx struct {
		subjectReads
		tx *Tx
	}
	subjectReads struct{ q querier }
)

// For factory.
type (
	// Factories stores the rows of factories.
	Factories struct {
		factoryReads
		s *Store
	}
	// FactoriesTx is [Factories] in a transaction.
	FactoriesTx struct {
		factoryReads
		tx *Tx
	}
	factoryReads struct{ q querier }

	// Identities stores agents, inside and outside of factories.
	Identities struct{ s *Store }
	// IdentitiesTx is [Identities] in a transaction.
	IdentitiesTx struct{ tx *Tx }

	// Definitions stores files of factories, at every revision.
	Definitions struct{ s *Store }
	// DefinitionsTx is [Definitions] in a transaction.
	DefinitionsTx struct{ tx *Tx }

	// Repositories stores Git repositories that factories follow, and their commits.
	Repositories struct{ s *Store }
	// RepositoriesTx is [Repositories] in a transaction.
	RepositoriesTx struct{ tx *Tx }
)

func (s *Store) setSubjects() {
	s.Keys = Keys{s}
	s.Members = Members{s}
	s.Sessions = Sessions{s}
	s.Secrets = Secrets{secretReads{s}, s}
	s.Responses = Responses{s}
	s.Settings = Settings{s}
	s.Environments = Environments{environmentReads{s}, s}
	s.Prebuilds = Prebuilds{s}
	s.Runs = Runs{s}
	s.Events = Events{s}
	s.Conversations = Conversations{s}
	s.Followups = Followups{s}
	s.Files = Files{s}
	s.Queue = Queue{queueReads{s}, s}
	s.Executions = Executions{s}
	s.Budgets = Budgets{budgetReads{s}, s}
	s.Calls = Calls{s}
	s.Usage = Usage{s}
	s.Automations = Automations{automationReads{s}, s}
	s.Schedules = Schedules{s}
	s.Occurrences = Occurrences{s}
	s.Webhooks = Webhooks{webhookReads{s}, s}
	s.Deliveries = Deliveries{deliveryReads{s}, s}
	s.Subjects = Subjects{subjectReads{s}, s}
	s.Forges = Forges{s}
	s.Endpoints = Endpoints{s}
	s.Factories = Factories{factoryReads{s}, s}
	s.Identities = Identities{s}
	s.Definitions = Definitions{s}
	s.Repositories = Repositories{s}
}

// Forges is [Forges] in this transaction.
func (tx *Tx) Forges() ForgesTx { return ForgesTx{tx} }

// Endpoints is [Endpoints] in this transaction.
func (tx *Tx) Endpoints() EndpointsTx { return EndpointsTx{tx} }

// Members is [Members] in this transaction.
func (tx *Tx) Members() MembersTx { return MembersTx{tx} }

// Keys is [Keys] in this transaction.
func (tx *Tx) Keys() KeysTx { return KeysTx{tx} }

// Sessions is [Sessions] in this transaction.
func (tx *Tx) Sessions() SessionsTx { return SessionsTx{tx} }

// Secrets is [Secrets] in this transaction.
func (tx *Tx) Secrets() SecretsTx { return SecretsTx{secretReads{tx}, tx} }

// Responses is [Responses] in this transaction.
func (tx *Tx) Responses() ResponsesTx { return ResponsesTx{tx} }

// Settings is [Settings] in this transaction.
func (tx *Tx) Settings() SettingsTx { return SettingsTx{tx} }

// Environments is [Environments] in this transaction.
func (tx *Tx) Environments() EnvironmentsTx { return EnvironmentsTx{environmentReads{tx}, tx} }

// Prebuilds is [Prebuilds] in this transaction.
func (tx *Tx) Prebuilds() PrebuildsTx { return PrebuildsTx{tx} }

// Runs is [Runs] in this transaction.
func (tx *Tx) Runs() RunsTx { return RunsTx{tx} }

// Events is [Events] in this transaction.
func (tx *Tx) Events() EventsTx { return EventsTx{tx} }

// Conversations is [Conversations] in this transaction.
func (tx *Tx) Conversations() ConversationsTx { return ConversationsTx{tx} }

// Followups is [Followups] in this transaction.
func (tx *Tx) Followups() FollowupsTx { return FollowupsTx{tx} }

// Files is [Files] in this transaction.
func (tx *Tx) Files() FilesTx { return FilesTx{tx} }

// Queue is [Queue] in this transaction.
func (tx *Tx) Queue() QueueTx { return QueueTx{queueReads{tx}, tx} }

// Executions is [Executions] in this transaction.
func (tx *Tx) Executions() ExecutionsTx { return ExecutionsTx{tx} }

// Budgets is [Budgets] in this transaction.
func (tx *Tx) Budgets() BudgetsTx { return BudgetsTx{budgetReads{tx}, tx} }

// Calls is [Calls] in this transaction.
func (tx *Tx) Calls() CallsTx { return CallsTx{tx} }

// Automations is [Automations] in this transaction.
func (tx *Tx) Automations() AutomationsTx { return AutomationsTx{automationReads{tx}, tx} }

// Schedules is [Schedules] in this transaction.
func (tx *Tx) Schedules() SchedulesTx { return SchedulesTx{tx} }

// Occurrences is [Occurrences] in this transaction.
func (tx *Tx) Occurrences() OccurrencesTx { return OccurrencesTx{tx} }

// Webhooks is [Webhooks] in this transaction.
func (tx *Tx) Webhooks() WebhooksTx { return WebhooksTx{webhookReads{tx}, tx} }

// Deliveries is [Deliveries] in this transaction.
func (tx *Tx) Deliveries() DeliveriesTx { return DeliveriesTx{deliveryReads{tx}, tx} }

// Subjects is [Subjects] in this transaction.
func (tx *Tx) Subjects() SubjectsTx { return SubjectsTx{subjectReads{tx}, tx} }

// Factories is [Factories] in this transaction.
func (tx *Tx) Factories() FactoriesTx { return FactoriesTx{factoryReads{tx}, tx} }

// Identities is [Identities] in this transaction.
func (tx *Tx) Identities() IdentitiesTx { return IdentitiesTx{tx} }

// Definitions is [Definitions] in this transaction.
func (tx *Tx) Definitions() DefinitionsTx { return DefinitionsTx{tx} }

// Repositories is [Repositories] in this transaction.
func (tx *Tx) Repositories() RepositoriesTx { return RepositoriesTx{tx} }
