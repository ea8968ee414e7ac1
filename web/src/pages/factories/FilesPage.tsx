import { Alert, Button, Group, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { sessionQuery } from '../../api.ts';
import { may } from '../../layout/nav.ts';
import { definitionQuery, factoryQuery } from '../../queries.ts';
import { Failure } from '../../ui/Failure.tsx';
import { FactoryFrame } from './FactoryFrame.tsx';
import { FilesEditor } from './FilesEditor.tsx';

/** The files of a factory. They are read-only if they come from a repository. */
export function FilesPage() {
  const { uid } = useParams({ from: '/app/factory/$uid/files' });
  const { data: session } = useQuery(sessionQuery);
  const factory = useQuery(factoryQuery(uid));
  // Read once: the files must not change while somebody edits them.
  const definition = useQuery({ ...definitionQuery(uid), staleTime: Number.POSITIVE_INFINITY, gcTime: 0 });
  const ours = factory.data?.source === 'service';
  return (
    <FactoryFrame uid={uid}>
      {factory.data && !ours && (
        <Alert variant="default" p="xs" title="These files are edited in their repository">
          <Group justify="space-between">
            <Text size="sm">This is the last commit that was applied.</Text>
            <Button size="xs" variant="default" onClick={() => void definition.refetch()}>
              Reload
            </Button>
          </Group>
        </Alert>
      )}
      <Failure error={definition.error} retry={() => void definition.refetch()} />
      {definition.data && factory.data && (
        <FilesEditor
          key={`${uid} ${ours ? '' : definition.data.revision}`}
          uid={uid}
          loaded={definition.data}
          readOnly={!ours || !may(session?.scopes, 'factories:manage')}
        />
      )}
    </FactoryFrame>
  );
}
