// Generated from api/openapi.yaml and sdk/operations.yaml by `make generate`. Do not edit.

import type {
  AgentResponse,
  ArtifactItem,
  ArtifactResponse,
  Automation,
  Budget,
  Checkpoints,
  CloudEnvironment,
  Conversation,
  ConversationRedirect,
  DefinitionPlan,
  Delivery,
  DispatchResponse,
  EndpointMessageSent,
  EndpointMessagesReplayed,
  EventEndpoint,
  Factory,
  FactoryFiles,
  FactorySchemaVersions,
  FactorySchemas,
  FilesValidation,
  FilterTestResult,
  FollowupResponse,
  Forge,
  ForgeChecked,
  ForkGroup,
  ForkRunResponse,
  Grant,
  HandoffAttachmentsResponse,
  HarnessUsage,
  InterruptResponse,
  Key,
  Limits,
  ListAgentSkillsResponse,
  ListAgentsResponse,
  ListAutomationsResponse,
  ListBudgetsResponse,
  ListBundledSkillsResponse,
  ListConnectedWorkersResponse,
  ListDeliveriesResponse,
  ListEndpointAttemptsResponse,
  ListEnvironmentsResponse,
  ListEventEndpointsResponse,
  ListEventTypesResponse,
  ListFactoriesResponse,
  ListForgeRepositoriesResponse,
  ListForgesResponse,
  ListGrantsResponse,
  ListHarnessesResponse,
  ListKeysResponse,
  ListModelsResponse,
  ListOccurrencesResponse,
  ListPrebuildsResponse,
  ListRevisionsResponse,
  ListRunCallsResponse,
  ListRunsResponse,
  ListSchedulesResponse,
  ListSecretsResponse,
  ListServiceAccountsResponse,
  ListSignInProvidersResponse,
  ListSignatureSchemesResponse,
  ListSubjectsResponse,
  ListUsersResponse,
  ListWebhooksResponse,
  Me,
  Member,
  NetworkPolicy,
  Output,
  OutputList,
  PrepareAttachmentsResponse,
  RewindRunResponse,
  RunAgentResponse,
  RunChanges,
  RunItem,
  RunNetwork,
  RunReference,
  RunUsage,
  ScheduleTimes,
  ScheduledAgentItem,
  Secret,
  Session,
  SessionRedirect,
  SignInStart,
  Stats,
  Subject,
  Success,
  TimelineResponse,
  UploadedAttachment,
  UsageReport,
  Webhook,
  WebhookVerification,
} from './types.gen.js';

/** What each operation returns, by its method and path. */
export interface Routes {
  'GET /agent/runs': ListRunsResponse;
  'POST /agent/runs': RunAgentResponse;
  'GET /agent/runs/{runId}': RunItem;
  'PATCH /agent/runs/{runId}': RunItem;
  'POST /agent/runs/{runId}/followups': FollowupResponse;
  'POST /agent/runs/{runId}/interrupt': InterruptResponse;
  'GET /agent/runs/{runId}/checkpoints': Checkpoints;
  'POST /agent/runs/{runId}/fork': ForkRunResponse;
  'POST /agent/runs/{runId}/rewind': RewindRunResponse;
  'GET /agent/fork-groups/{forkGroup}': ForkGroup;
  'POST /agent/runs/{runId}/attachments/prepare': PrepareAttachmentsResponse;
  'POST /agent/runs/{runId}/cancel': string;
  'GET /agent/runs/{runId}/timeline': TimelineResponse;
  'GET /agent/runs/{runId}/network': RunNetwork;
  'GET /agent/runs/{runId}/changes': RunChanges;
  'GET /agent/runs/{runId}/changes/{repository}/patch': Response;
  'GET /agent/runs/{runId}/usage': RunUsage;
  'GET /agent/runs/{runId}/harness-usage': HarnessUsage;
  'GET /agent/runs/{runId}/calls': ListRunCallsResponse;
  'GET /agent/runs/{runId}/conversation': Conversation;
  'GET /agent/runs/{runId}/transcript': Response;
  'GET /agent/runs/{runId}/events': Response;
  'GET /agent/runs/{runId}/handoff/attachments': HandoffAttachmentsResponse;
  'POST /agent/runs/{runId}/artifacts': ArtifactItem;
  'GET /agent/run-by-external-reference': RunReference;
  'GET /agent/conversations/{conversationId}': Conversation;
  'POST /agent/conversations/{conversationId}/followups': FollowupResponse;
  'POST /agent/conversations/{conversationId}/interrupt': InterruptResponse;
  'POST /agent/conversations/{conversationId}/attachments/prepare': PrepareAttachmentsResponse;
  'GET /agent/conversations/{conversationId}/transcript': Response;
  'GET /agent/conversations/{conversationId}/screenshots/{artifactUid}/download': Response;
  'GET /agent/conversations/{conversationId}/redirect': ConversationRedirect;
  'GET /agent/sessions/{sessionId}/redirect': SessionRedirect;
  'GET /agent/artifacts/{artifactUid}': ArtifactResponse;
  'GET /agent/artifacts/{artifactUid}/download': Response;
  'GET /downloads/{token}': Response;
  'PUT /uploads/{token}': UploadedAttachment;
  'GET /agent/schedules': ListSchedulesResponse;
  'POST /agent/schedules': ScheduledAgentItem;
  'GET /occurrences': ListOccurrencesResponse;
  'GET /subjects': ListSubjectsResponse;
  'GET /subjects/{uid}': Subject;
  'GET /agent/schedules/{scheduleId}': ScheduledAgentItem;
  'PUT /agent/schedules/{scheduleId}': ScheduledAgentItem;
  'DELETE /agent/schedules/{scheduleId}': Success;
  'POST /agent/schedules/{scheduleId}/pause': ScheduledAgentItem;
  'POST /agent/schedules/{scheduleId}/resume': ScheduledAgentItem;
  'GET /agent': ListAgentSkillsResponse;
  'GET /agent/bundled-skills': ListBundledSkillsResponse;
  'GET /agent/identities': ListAgentsResponse;
  'POST /agent/identities': AgentResponse;
  'GET /agent/identities/{agentUid}': AgentResponse;
  'PUT /agent/identities/{agentUid}': AgentResponse;
  'DELETE /agent/identities/{agentUid}': undefined;
  'GET /agent/models': ListModelsResponse;
  'GET /agent/harnesses': ListHarnessesResponse;
  'GET /agent/connected-self-hosted-workers': ListConnectedWorkersResponse;
  'GET /agent/network': NetworkPolicy;
  'GET /agent/environments': ListEnvironmentsResponse;
  'POST /agent/environments': CloudEnvironment;
  'GET /agent/environments/{environmentUid}': CloudEnvironment;
  'PUT /agent/environments/{environmentUid}': CloudEnvironment;
  'DELETE /agent/environments/{environmentUid}': undefined;
  'GET /agent/environments/{environmentUid}/prebuilds': ListPrebuildsResponse;
  'DELETE /agent/environments/{environmentUid}/prebuilds/{puid}': undefined;
  'GET /factory': ListFactoriesResponse;
  'POST /factory': Factory;
  'GET /factory/{factoryUid}': Factory;
  'PATCH /factory/{factoryUid}': Factory;
  'DELETE /factory/{factoryUid}': undefined;
  'GET /factory/{factoryUid}/definition': FactoryFiles;
  'PUT /factory/{factoryUid}/definition': DefinitionPlan;
  'GET /factory/{factoryUid}/definition/history': ListRevisionsResponse;
  'GET /factory/{factoryUid}/definition/history/{revision}': FactoryFiles;
  'POST /factory/{factoryUid}/sync': Factory;
  'POST /factory/{factoryUid}/runs': DispatchResponse;
  'GET /factory/{factoryUid}/automations': ListAutomationsResponse;
  'POST /factory/{factoryUid}/automations': Automation;
  'GET /factory/{factoryUid}/automations/{automationUid}': Automation;
  'PATCH /factory/{factoryUid}/automations/{automationUid}': Automation;
  'DELETE /factory/{factoryUid}/automations/{automationUid}': undefined;
  'POST /factory/{factoryUid}/automations/{automationUid}/run': RunAgentResponse;
  'POST /factory/{factoryUid}/test-filter': FilterTestResult;
  'GET /factory/{factoryUid}/webhooks': ListWebhooksResponse;
  'POST /factory/{factoryUid}/webhooks': Webhook;
  'GET /factory/{factoryUid}/webhooks/{webhookUid}': Webhook;
  'PATCH /factory/{factoryUid}/webhooks/{webhookUid}': Webhook;
  'DELETE /factory/{factoryUid}/webhooks/{webhookUid}': undefined;
  'POST /factory/{factoryUid}/webhooks/{webhookUid}/rotate-secret': Webhook;
  'POST /factory/{factoryUid}/webhooks/{webhookUid}/test-delivery': Delivery;
  'POST /factory/{factoryUid}/webhooks/{webhookUid}/verify-request': WebhookVerification;
  'GET /factory/{factoryUid}/webhooks/{webhookUid}/deliveries': ListDeliveriesResponse;
  'GET /factory/{factoryUid}/webhooks/{webhookUid}/deliveries/{deliveryId}': Delivery;
  'GET /factory/{factoryUid}/webhooks/{webhookUid}/deliveries/{deliveryId}/payload': Response;
  'POST /factory/{factoryUid}/webhooks/{webhookUid}/deliveries/{deliveryId}/replay': Delivery;
  'GET /factory-files/schemas': FactorySchemaVersions;
  'GET /factory-files/schemas/v1alpha1': FactorySchemas;
  'GET /factory-files/schemas/{version}/{document}': Record<string, unknown>;
  'POST /factory-files/validate': FilesValidation;
  'GET /secrets': ListSecretsResponse;
  'POST /secrets': Secret;
  'GET /secrets/{secretName}': Secret;
  'PUT /secrets/{secretName}': Secret;
  'DELETE /secrets/{secretName}': undefined;
  'GET /budgets': ListBudgetsResponse;
  'POST /budgets': Budget;
  'GET /budgets/{budgetUid}': Budget;
  'PATCH /budgets/{budgetUid}': Budget;
  'DELETE /budgets/{budgetUid}': undefined;
  'GET /usage': UsageReport;
  'GET /keys': ListKeysResponse;
  'POST /keys': Key;
  'PATCH /keys/{keyUid}': Key;
  'DELETE /keys/{keyUid}': undefined;
  'GET /users': ListUsersResponse;
  'POST /users': Member;
  'GET /users/{userUid}': Member;
  'PATCH /users/{userUid}': Member;
  'DELETE /users/{userUid}': undefined;
  'GET /service-accounts': ListServiceAccountsResponse;
  'POST /service-accounts': Member;
  'GET /service-accounts/{serviceAccountUid}': Member;
  'PATCH /service-accounts/{serviceAccountUid}': Member;
  'DELETE /service-accounts/{serviceAccountUid}': undefined;
  'GET /grants': ListGrantsResponse;
  'POST /grants': Grant;
  'DELETE /grants/{grantUid}': undefined;
  'GET /me': Me;
  'GET /session': Session;
  'POST /session': Session;
  'DELETE /session': undefined;
  'GET /session/providers': ListSignInProvidersResponse;
  'POST /session/providers': SignInStart;
  'GET /signature-schemes': ListSignatureSchemesResponse;
  'GET /schedule-times': ScheduleTimes;
  'GET /stats': Stats;
  'GET /forges': ListForgesResponse;
  'POST /forges': Forge;
  'GET /forges/{forgeUid}': Forge;
  'PATCH /forges/{forgeUid}': Forge;
  'DELETE /forges/{forgeUid}': undefined;
  'GET /agent/runs/{runId}/outputs': OutputList;
  'POST /agent/runs/{runId}/outputs': Output;
  'GET /outputs': OutputList;
  'POST /outputs/{outputUid}/approve': Output;
  'POST /outputs/{outputUid}/reject': Output;
  'POST /forges/{forgeUid}/check': ForgeChecked;
  'GET /forges/{forgeUid}/repositories': ListForgeRepositoriesResponse;
  'POST /forges/{forgeUid}/rotate-secret': Forge;
  'GET /forges/{forgeUid}/deliveries': ListDeliveriesResponse;
  'GET /forges/{forgeUid}/deliveries/{deliveryId}': Delivery;
  'GET /forges/{forgeUid}/deliveries/{deliveryId}/payload': Response;
  'POST /forges/{forgeUid}/deliveries/{deliveryId}/replay': Delivery;
  'GET /event-endpoints': ListEventEndpointsResponse;
  'POST /event-endpoints': EventEndpoint;
  'GET /event-endpoints/{endpointUid}': EventEndpoint;
  'PATCH /event-endpoints/{endpointUid}': EventEndpoint;
  'DELETE /event-endpoints/{endpointUid}': undefined;
  'POST /event-endpoints/{endpointUid}/ping': EndpointMessageSent;
  'POST /event-endpoints/{endpointUid}/rotate-secret': EventEndpoint;
  'GET /event-endpoints/{endpointUid}/attempts': ListEndpointAttemptsResponse;
  'POST /event-endpoints/{endpointUid}/replay': EndpointMessagesReplayed;
  'GET /event-types': ListEventTypesResponse;
  'GET /limits': Limits;
}
