import { Alert, Button, Group, Stack, Text, Title } from '@mantine/core';
import { APIError, type Diagnostic, type FactoryFiles, type FileTree } from '@penstock/sdk';
import { useMutation, useQuery } from '@tanstack/react-query';
import { client } from '../../api.ts';
import { Dialog } from '../../ui/Dialog.tsx';
import { Failure } from '../../ui/Failure.tsx';
import { DiffView } from '../run/DiffView.tsx';
import { Changes } from './Changes.tsx';
import { Findings } from './Findings.tsx';
import { changedPaths } from './tree.ts';

export interface PlanDialogProps {
  uid: string;
  title?: string;
  /** The button that closes it. */
  back?: string;
  /** The files before the edits. */
  base: FactoryFiles;
  files: FileTree;
  close: () => void;
  /** Called after the files were applied. */
  applied: () => Promise<void>;
  /** Rebases the edits onto the newest revision. */
  update: () => Promise<void>;
  go: (diagnostic: Diagnostic) => void;
}

/** Shows the plan and applies it. */
export default function PlanDialog({
  uid,
  title = 'Plan',
  back = 'Back to the files',
  base,
  files,
  close,
  applied,
  update,
  go,
}: PlanDialogProps) {
  const request = { files, base_revision: base.revision };
  const plan = useQuery({
    queryKey: ['plan', uid],
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnMount: 'always',
    retry: false,
    queryFn: ({ signal }) => client.factories.definition.apply(uid, { ...request, dry_run: true }, { signal }),
  });
  const applying = useMutation({
    mutationFn: () => client.factories.definition.apply(uid, request),
    onSuccess: async () => {
      await applied();
      close();
    },
  });
  const updating = useMutation({ mutationFn: update });
  const error = applying.error ?? plan.error;
  const stale = error instanceof APIError && error.statusCode === 409;
  const findings = error instanceof APIError ? (error.problem?.diagnostics ?? []) : (plan.data?.diagnostics ?? []);
  return (
    <Dialog title={title} close={close} size="xl">
      <Stack gap="sm">
        {plan.isPending && (
          <Text size="sm" c="dimmed">
            Creating the plan…
          </Text>
        )}
        <Failure error={updating.error ?? (stale ? null : error)} />
        {stale && (
          <Alert variant="default" title="Somebody else has changed the factory">
            <Text size="sm" mb="xs">
              Update to the newest revision and keep your changes. Files that you did not edit get their newest version. Nothing is applied
              until you have seen the new plan.
            </Text>
            <Button size="xs" loading={updating.isPending} onClick={() => updating.mutate()}>
              Update and keep my changes
            </Button>
          </Alert>
        )}
        {findings.length > 0 && (
          <Findings
            diagnostics={findings}
            go={(one) => {
              close();
              go(one);
            }}
          />
        )}
        {plan.data && <Changes plan={plan.data} />}
        <Title order={3} size="h5">
          Files
        </Title>
        {changedPaths(base.files, files).map((path) => (
          <DiffView key={path} change={{ path, old_text: base.files[path], new_text: files[path] ?? '' }} />
        ))}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={close}>
            {back}
          </Button>
          <Button loading={applying.isPending} disabled={!plan.data || plan.isFetching || stale} onClick={() => applying.mutate()}>
            Apply
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
