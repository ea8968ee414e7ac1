import { MultiSelect, TextInput } from '@mantine/core';
import type { EventType, Known } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { sessionQuery } from '../../api.ts';
import { may } from '../../layout/nav.ts';
import { allFactoriesQuery, eventTypesQuery } from '../../queries.ts';

/** What a person enters about an endpoint. */
export interface EndpointDraft {
  url: string;
  events: string[];
  factories: string[];
  description: string;
}

/** The fields of a request. An empty list means all. */
export function requestOf({ events, factories, description }: EndpointDraft) {
  return { events: events as Known<EventType>[], factory_uids: factories, description: description.trim() };
}

interface FieldsProps {
  draft: EndpointDraft;
  set: (change: Partial<EndpointDraft>) => void;
  /** Whether the endpoint has a URL, which the server does not show again. */
  known?: boolean;
  /** Whether the URL is the base of Slack's web API, which has a default. */
  api?: boolean;
}

/** The fields of an endpoint that can change. */
export function EndpointFields({ draft, set, known = false, api = false }: FieldsProps) {
  const { data: session } = useQuery(sessionQuery);
  const types = useQuery(eventTypesQuery);
  const reads = may(session?.scopes, 'factories:read');
  const factories = useQuery({ ...allFactoriesQuery, enabled: reads });
  const choices = types.data?.event_types.filter(({ type }) => type !== 'endpoint.ping').map(({ type }) => type) ?? [];
  return (
    <>
      <TextInput
        label={known ? 'New URL' : 'URL'}
        description={
          known
            ? 'Leave empty to keep the present one, which is not shown again'
            : api
              ? "The base of Slack's web API. Leave empty for Slack itself"
              : 'It can contain a credential, and is shown only once'
        }
        placeholder={api ? 'https://slack.com/api' : 'https://'}
        required={!known && !api}
        data-autofocus={!known || undefined}
        autoComplete="off"
        value={draft.url}
        onChange={(event) => set({ url: event.currentTarget.value })}
      />
      <MultiSelect
        label="Events"
        placeholder={draft.events.length === 0 ? 'All, also of later releases' : ''}
        data={choices}
        searchable
        clearable
        value={draft.events}
        onChange={(events) => set({ events })}
      />
      {(reads || draft.factories.length > 0) && (
        <MultiSelect
          label="Factories"
          placeholder={draft.factories.length === 0 ? 'All, and events without a factory' : ''}
          data={factories.data?.map(({ uid, name }) => ({ value: uid, label: name })) ?? draft.factories}
          disabled={!reads}
          searchable
          clearable
          value={draft.factories}
          onChange={(list) => set({ factories: list })}
        />
      )}
      <TextInput
        label="Description"
        description="A name for people"
        maxLength={500}
        value={draft.description}
        onChange={(event) => set({ description: event.currentTarget.value })}
      />
    </>
  );
}
