package store

// The subjects of the store follow the packages of rules. Each subject has its statements in the
// files of its noun. A subject of a [Store], such as [Runs], reads, and writes in transactions of
// its own. A subject of a [Tx], such as [RunsTx], reads and writes in that transaction.

type (
	// Keys has API keys, the principals that own them, and the shares of a key's limit that servers take.
	Keys struct{ s *Store }
	// Sessions has sign-ins to the dashboard.
	Sessions struct{ s *Store }
	// Secrets has managed secrets, what names them, and everything else that is encrypted.
	Secrets struct{ s *Store }
	// Responses has the responses that are kept for repeated requests.
	Responses struct{ s *Store }
	// Settings has what the installation remembers about itself.
	Settings struct{ s *Store }

	// Environments has environments.
	Environments struct{ s *Store }
	// Identities has agents, and the agents of factories.
	Identities struct{ s *Store }

	// Runs has the rows of runs: their states, lists, sums and search index.
	Runs struct{ s *Store }
	// Events has the logs of runs.
	Events struct{ s *Store }
	// Conversations has the runs of a conversation as one, and its saved session.
	Conversations struct{ s *Store }
	// Followups has messages to runs, from their arrival to their delivery.
	Followups struct{ s *Store }
	// Files has the attachments, artifacts and changes of runs, and which blobs are in use.
	Files struct{ s *Store }

	// Queue has waiting runs and the workers that claim them.
	Queue struct{ s *Store }
	// Executions has claimed runs: their leases, turns, interrupts and traffic.
	Executions struct{ s *Store }

	// Budgets has budgets, their accounts and the runs that they block.
	Budgets struct{ s *Store }
	// Calls has the ledger: reserved and settled calls of models.
	Calls struct{ s *Store }
	// Usage has sums of calls.
	Usage struct{ s *Store }

	// Automations has automations and their clocks.
	Automations struct{ s *Store }
	// Schedules has schedules.
	Schedules struct{ s *Store }

	// Webhooks has webhooks and their secrets.
	Webhooks struct{ s *Store }
	// Deliveries has the log of deliveries: admission, identities, payloads and counts.
	Deliveries struct{ s *Store }

	// Factories has factories.
	Factories struct{ s *Store }
	// Definitions has the files of factories, at every revision.
	Definitions struct{ s *Store }
	// Repositories has the Git repositories that factories follow, and their commits.
	Repositories struct{ s *Store }
)

type (
	// KeysTx has what [Keys] has, in a transaction.
	KeysTx struct{ tx *Tx }
	// SessionsTx has what [Sessions] has, in a transaction.
	SessionsTx struct{ tx *Tx }
	// SecretsTx has what [Secrets] has, in a transaction.
	SecretsTx struct{ tx *Tx }
	// ResponsesTx has what [Responses] has, in a transaction.
	ResponsesTx struct{ tx *Tx }
	// SettingsTx has what [Settings] has, in a transaction.
	SettingsTx struct{ tx *Tx }

	// EnvironmentsTx has what [Environments] has, in a transaction.
	EnvironmentsTx struct{ tx *Tx }
	// IdentitiesTx has what [Identities] has, in a transaction.
	IdentitiesTx struct{ tx *Tx }

	// RunsTx has what [Runs] has, in a transaction.
	RunsTx struct{ tx *Tx }
	// EventsTx has what [Events] has, in a transaction.
	EventsTx struct{ tx *Tx }
	// ConversationsTx has what [Conversations] has, in a transaction.
	ConversationsTx struct{ tx *Tx }
	// FollowupsTx has what [Followups] has, in a transaction.
	FollowupsTx struct{ tx *Tx }
	// FilesTx has what [Files] has, in a transaction.
	FilesTx struct{ tx *Tx }

	// QueueTx has what [Queue] has, in a transaction.
	QueueTx struct{ tx *Tx }
	// ExecutionsTx has what [Executions] has, in a transaction.
	ExecutionsTx struct{ tx *Tx }

	// BudgetsTx has what [Budgets] has, in a transaction.
	BudgetsTx struct{ tx *Tx }
	// CallsTx has what [Calls] has, in a transaction.
	CallsTx struct{ tx *Tx }

	// AutomationsTx has what [Automations] has, in a transaction.
	AutomationsTx struct{ tx *Tx }
	// SchedulesTx has what [Schedules] has, in a transaction.
	SchedulesTx struct{ tx *Tx }

	// WebhooksTx has what [Webhooks] has, in a transaction.
	WebhooksTx struct{ tx *Tx }
	// DeliveriesTx has what [Deliveries] has, in a transaction.
	DeliveriesTx struct{ tx *Tx }

	// FactoriesTx has what [Factories] has, in a transaction.
	FactoriesTx struct{ tx *Tx }
	// DefinitionsTx has what [Definitions] has, in a transaction.
	DefinitionsTx struct{ tx *Tx }
	// RepositoriesTx has what [Repositories] has, in a transaction.
	RepositoriesTx struct{ tx *Tx }
)

func (s *Store) setSubjects() {
	s.Keys = Keys{s}
	s.Sessions = Sessions{s}
	s.Secrets = Secrets{s}
	s.Responses = Responses{s}
	s.Settings = Settings{s}
	s.Environments = Environments{s}
	s.Identities = Identities{s}
	s.Runs = Runs{s}
	s.Events = Events{s}
	s.Conversations = Conversations{s}
	s.Followups = Followups{s}
	s.Files = Files{s}
	s.Queue = Queue{s}
	s.Executions = Executions{s}
	s.Budgets = Budgets{s}
	s.Calls = Calls{s}
	s.Usage = Usage{s}
	s.Automations = Automations{s}
	s.Schedules = Schedules{s}
	s.Webhooks = Webhooks{s}
	s.Deliveries = Deliveries{s}
	s.Factories = Factories{s}
	s.Definitions = Definitions{s}
	s.Repositories = Repositories{s}
}

// Keys returns the subject in this transaction.
func (tx *Tx) Keys() KeysTx { return KeysTx{tx} }

// Sessions returns the subject in this transaction.
func (tx *Tx) Sessions() SessionsTx { return SessionsTx{tx} }

// Secrets returns the subject in this transaction.
func (tx *Tx) Secrets() SecretsTx { return SecretsTx{tx} }

// Responses returns the subject in this transaction.
func (tx *Tx) Responses() ResponsesTx { return ResponsesTx{tx} }

// Settings returns the subject in this transaction.
func (tx *Tx) Settings() SettingsTx { return SettingsTx{tx} }

// Environments returns the subject in this transaction.
func (tx *Tx) Environments() EnvironmentsTx { return EnvironmentsTx{tx} }

// Identities returns the subject in this transaction.
func (tx *Tx) Identities() IdentitiesTx { return IdentitiesTx{tx} }

// Runs returns the subject in this transaction.
func (tx *Tx) Runs() RunsTx { return RunsTx{tx} }

// Events returns the subject in this transaction.
func (tx *Tx) Events() EventsTx { return EventsTx{tx} }

// Conversations returns the subject in this transaction.
func (tx *Tx) Conversations() ConversationsTx { return ConversationsTx{tx} }

// Followups returns the subject in this transaction.
func (tx *Tx) Followups() FollowupsTx { return FollowupsTx{tx} }

// Files returns the subject in this transaction.
func (tx *Tx) Files() FilesTx { return FilesTx{tx} }

// Queue returns the subject in this transaction.
func (tx *Tx) Queue() QueueTx { return QueueTx{tx} }

// Executions returns the subject in this transaction.
func (tx *Tx) Executions() ExecutionsTx { return ExecutionsTx{tx} }

// Budgets returns the subject in this transaction.
func (tx *Tx) Budgets() BudgetsTx { return BudgetsTx{tx} }

// Calls returns the subject in this transaction.
func (tx *Tx) Calls() CallsTx { return CallsTx{tx} }

// Automations returns the subject in this transaction.
func (tx *Tx) Automations() AutomationsTx { return AutomationsTx{tx} }

// Schedules returns the subject in this transaction.
func (tx *Tx) Schedules() SchedulesTx { return SchedulesTx{tx} }

// Webhooks returns the subject in this transaction.
func (tx *Tx) Webhooks() WebhooksTx { return WebhooksTx{tx} }

// Deliveries returns the subject in this transaction.
func (tx *Tx) Deliveries() DeliveriesTx { return DeliveriesTx{tx} }

// Factories returns the subject in this transaction.
func (tx *Tx) Factories() FactoriesTx { return FactoriesTx{tx} }

// Definitions returns the subject in this transaction.
func (tx *Tx) Definitions() DefinitionsTx { return DefinitionsTx{tx} }

// Repositories returns the subject in this transaction.
func (tx *Tx) Repositories() RepositoriesTx { return RepositoriesTx{tx} }
