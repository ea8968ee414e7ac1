import type { CloudEnvironment, RunItem, RunRepository } from '@penstock/sdk';

const githubName = /^(?:https:\/\/)?(?:github\.com\/)?([A-Za-z0-9_][A-Za-z0-9_-]*)\/([A-Za-z0-9._-]+)$/;
const secretURL = /^(?:https?:\/\/[^/]*@|[^/:@]+:[^/@]+@)/i;
const page = /^https?:\/\/github\.com(?::\d+)?\/[^/]+\/[^/]+\/./i;

/**
 * Reads what people write for a repository: owner/name of GitHub or a URL, with #REF behind it. All that follows the first # is the ref.
 * It reads the same as the command line; the cases of both are in testdata/run_repositories.json.
 */
export function parseRepository(text: string): RunRepository | { problem: string } {
  const [, where = '', mark, ref = ''] = /^([^#]*)(#?)(.*)$/su.exec(text.trim()) ?? [];
  const bare = where.replace(/\/+$/, '').replace(/\.git$/, '');
  const [, owner, name] = githubName.exec(bare) ?? [];
  const withRef = ref ? { ref } : {};
  const [before = ''] = where.split('/');
  const isURL = /^[^:/]+:\/\//.test(where);
  if (where === '') {
    return { problem: 'It has no repository: use owner/name or a URL.' };
  }
  if (mark && !ref) {
    return { problem: 'It has no ref after the #: leave out the # for the default branch.' };
  }
  if (owner && name && !/^\.+$/.test(name)) {
    return { url: `https://github.com/${owner}/${name}.git`, ...withRef };
  }
  if (secretURL.test(where)) {
    return { problem: 'The URL must not hold a user name or password: the run’s network can have a credential for the host.' };
  }
  if (page.test(where)) {
    return { problem: 'It is a page of GitHub, not a repository: write owner/name, and #REF for a branch, tag or commit.' };
  }
  if (isURL || before.indexOf(':') > 0) {
    return { url: where, ...withRef };
  }
  if (before === '' || before === '~' || before.startsWith('.')) {
    return { problem: 'It is a folder of this machine: workers clone only URLs.' };
  }
  if (where.includes('@')) {
    return { problem: 'It is neither owner/name nor a URL: write #REF for a branch, tag or commit.' };
  }
  return { problem: 'It is neither owner/name, such as acme/shop#main, nor a URL.' };
}

/** What people would write for a repository. */
export function repositoryText({ url = '', ref }: RunRepository): string {
  const place = /^https:\/\/github\.com\/([^/]+\/[^/]+)\.git$/.exec(url)?.[1] ?? url;
  return ref ? `${place}#${ref}` : place;
}

/** What is wrong with the first repository that cannot be read. */
export function problemOf(texts: readonly string[]): string | undefined {
  for (const text of texts) {
    const read = parseRepository(text);
    if ('problem' in read) {
      return texts.length > 1 ? `${text.includes('@') ? 'One of them' : text}: ${read.problem}` : read.problem;
    }
  }
  return;
}

/** The repositories of a draft that can be read. */
export function repositoriesOf(texts: readonly string[]): RunRepository[] {
  return texts.map(parseRepository).flatMap((read) => ('problem' in read ? [] : [read]));
}

/** The repositories of environments and runs, each once. */
export function knownRepositories(environments: readonly CloudEnvironment[], runs: readonly RunItem[]): string[] {
  const ofRuns = runs.flatMap((run) => run.agent_config?.repositories ?? []);
  const ofEnvironments = environments.flatMap(({ config }) => [
    ...(config.github_repos ?? []).map(({ owner, repo }) => ({ url: `https://github.com/${owner}/${repo}.git` })),
    ...(config.repos ?? []),
  ]);
  return [...new Set([...ofRuns, ...ofEnvironments].map(repositoryText))];
}
