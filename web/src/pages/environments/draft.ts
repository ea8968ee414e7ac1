import type { CloudEnvironmentConfig, Prebuild, PreparedHead } from '@penstock/sdk';

/** A repository in the form: owner/name on GitHub, or a URL, with an optional ref. */
export interface RepoDraft {
  id: number;
  place: string;
  ref: string;
}

export interface CommandDraft {
  id: number;
  text: string;
}

/** An environment during editing. */
export interface EnvironmentDraft {
  name: string;
  description: string;
  image: string;
  secret: string;
  repos: RepoDraft[];
  commands: CommandDraft[];
  prebuild: PrebuildDraft;
}

/** What is kept for later runs; inputs and secrets have one entry in a line. An empty mode is the default. */
export interface PrebuildDraft {
  mode: '' | 'lazy' | 'off';
  inputs: string;
  commands: CommandDraft[];
  secrets: string;
}

const onGitHub = /^[\w.-]+\/[\w.-]+$/;

/** Whether a repository is written as owner/name. */
export function isGitHub(place: string): boolean {
  return onGitHub.test(place.trim());
}

/** The draft of an existing or new environment. */
export function draftOf(config: CloudEnvironmentConfig = {}): EnvironmentDraft {
  let id = 0;
  return {
    name: config.name ?? '',
    description: config.description ?? '',
    image: config.docker_image ?? '',
    secret: config.docker_image_secret ?? '',
    repos: [
      ...(config.github_repos ?? []).map(({ owner, repo }) => ({ id: id++, place: `${owner}/${repo}`, ref: '' })),
      ...(config.repos ?? []).map(({ url, ref }) => ({ id: id++, place: url, ref: ref ?? '' })),
    ],
    commands: (config.setup_commands ?? []).map((text) => ({ id: id++, text })),
    prebuild: {
      mode: config.prebuild ? (config.prebuild.mode === 'off' ? 'off' : 'lazy') : '',
      inputs: (config.prebuild?.inputs ?? []).join('\n'),
      commands: (config.prebuild?.update_commands ?? []).map((text) => ({ id: id++, text })),
      secrets: (config.prebuild?.secrets ?? []).join('\n'),
    },
  };
}

const textsOf = (commands: CommandDraft[]): string[] => commands.map(({ text }) => text).filter((text) => text.trim() !== '');

const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

function prebuildOf({ mode, inputs, commands, secrets }: PrebuildDraft): { prebuild?: Prebuild } {
  if (mode === '') {
    return {};
  }
  const lists = { inputs: linesOf(inputs), update_commands: textsOf(commands), secrets: linesOf(secrets) };
  return { prebuild: { mode, ...Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0)) } };
}

/** The repositories of a prepared workspace with the beginnings of their commits. */
export function commitsOf(heads: PreparedHead[]): string {
  return heads
    .map(({ url, commit }) => {
      const name = url.slice(Math.max(url.lastIndexOf('/'), url.lastIndexOf(':')) + 1).replace(/\.git$/, '');
      return [name, commit.slice(0, 8)].filter(Boolean).join(' ');
    })
    .join(', ');
}

/** The environment of a draft. Fields that the form does not show keep their values. */
export function configOf(draft: EnvironmentDraft, before: CloudEnvironmentConfig = {}): CloudEnvironmentConfig {
  const {
    name: _n,
    description: _d,
    docker_image: _i,
    docker_image_secret: _is,
    github_repos: _g,
    repos: _r,
    setup_commands: _s,
    prebuild: _p,
    ...rest
  } = before;
  const repos = draft.repos.filter(({ place }) => place.trim() !== '');
  const [near, far] = [repos.filter(({ place }) => isGitHub(place)), repos.filter(({ place }) => !isGitHub(place))];
  const commands = textsOf(draft.commands);
  return {
    ...rest,
    name: draft.name.trim(),
    ...(draft.description.trim() ? { description: draft.description.trim() } : {}),
    ...(draft.image.trim() ? { docker_image: draft.image.trim() } : {}),
    ...(draft.image.trim() && draft.secret.trim() ? { docker_image_secret: draft.secret.trim() } : {}),
    ...(near.length > 0
      ? {
          github_repos: near.map(({ place }) => {
            const [owner = '', repo = ''] = place.trim().split('/');
            return { owner, repo };
          }),
        }
      : {}),
    ...(far.length > 0 ? { repos: far.map(({ place, ref }) => ({ url: place.trim(), ...(ref.trim() ? { ref: ref.trim() } : {}) })) } : {}),
    ...(commands.length > 0 ? { setup_commands: commands } : {}),
    ...prebuildOf(draft.prebuild),
  };
}
