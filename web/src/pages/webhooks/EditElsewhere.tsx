import { Alert } from '@mantine/core';
import type { Factory } from '@penstock/sdk';

/** Shows where to edit a file of a factory from a repository. Renders nothing for other factories. */
export function EditElsewhere({ factory, file }: { factory: Factory | undefined; file: string }) {
  if (factory?.source !== 'repository') {
    return null;
  }
  const { url, branch, path } = factory.repository ?? {};
  return (
    <Alert variant="default" p="xs" title={`${factory.name} is defined by a Git repository`}>
      <span className="plain">
        Edit <code>{path ? `${path}/${file}` : file}</code> in {url ?? 'its repository'}
        {branch ? `, branch ${branch}` : ''}. The server applies the change when it reads the next commit.
      </span>
    </Alert>
  );
}
