import type { CreateFactoryRequest, Factory, FactoryRepository, UpdateFactoryRequest } from '@penstock/sdk';

/** A factory during editing. */
export interface FactoryDraft {
  source: 'service' | 'repository';
  name: string;
  alias: string;
  description: string;
  url: string;
  branch: string;
  path: string;
  secret: string;
}

export function draftOf(factory?: Factory): FactoryDraft {
  return {
    source: factory?.source === 'repository' ? 'repository' : 'service',
    name: factory?.name ?? '',
    alias: factory?.alias ?? '',
    description: factory?.description ?? '',
    url: factory?.repository?.url ?? '',
    branch: factory?.repository?.branch ?? '',
    path: factory?.repository?.path ?? '',
    secret: factory?.repository?.secret ?? '',
  };
}

function repositoryOf(draft: FactoryDraft): FactoryRepository {
  const given = (['branch', 'path', 'secret'] as const).filter((name) => draft[name].trim() !== '');
  return { url: draft.url.trim(), ...Object.fromEntries(given.map((name) => [name, draft[name].trim()])) };
}

/** The request to create the factory of a draft. */
export function creationOf(draft: FactoryDraft): CreateFactoryRequest {
  if (draft.source === 'repository') {
    return { ...(draft.name.trim() ? { name: draft.name.trim() } : {}), repository: repositoryOf(draft) };
  }
  const given = (['alias', 'description'] as const).filter((name) => draft[name].trim() !== '');
  return { name: draft.name.trim(), ...Object.fromEntries(given.map((name) => [name, draft[name].trim()])) };
}

/** The request for the changes of a draft. A factory from a repository can only change its source. */
export function updateOf(draft: FactoryDraft): UpdateFactoryRequest {
  if (draft.source === 'repository') {
    return { repository: repositoryOf(draft) };
  }
  return { name: draft.name.trim(), alias: draft.alias.trim() || null, description: draft.description.trim() || null };
}

/** Whether all required fields have a value. */
export function isComplete(draft: FactoryDraft): boolean {
  return (draft.source === 'repository' ? draft.url : draft.name).trim() !== '';
}
