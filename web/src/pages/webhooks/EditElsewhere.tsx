import { Alert } from '@mantine/core';
import type { Factory } from '@penstock/sdk';

/** Says where to edit what belongs to a factory that comes from a repository; nothing of others. */
export function EditElsewhere({ factory, file }: { factory: Factory | undefined; file: string }) {
  if (factory?.source !== 'repository') {
    return null;
  }
  const { url, branch, path } = factory.repository ?? {};
  return (
    <Alert variant="default" p="xs" title={`${factory.name} is defined by a Git repository`}>
      <span className="plain">
        Edit <code>{path ? `${path}/${file}` : file}</code> in {url ?? 'its repository'}
        {branch ? `, branch ${branch}` : ''}; it takes effect with the next commit that is read.
      </span>
    </Alert>
  );
}
