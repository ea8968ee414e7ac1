import type { FactoryFiles } from '@penstock/sdk';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { client } from '../../api.ts';
import { definitionQuery } from '../../queries.ts';
import { Dialog } from '../../ui/Dialog.tsx';
import { Failure } from '../../ui/Failure.tsx';
import PlanDialog from './PlanDialog.tsx';

/** Applies the files of an earlier revision, after its plan was shown. */
export default function RevertDialog({ uid, revision, close }: { uid: string; revision: number; close: () => void }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const both = useQuery({
    queryKey: ['factory', uid, 'revert', revision],
    gcTime: 0,
    queryFn: async (): Promise<{ now: FactoryFiles; then: FactoryFiles }> => {
      const [now, then] = await Promise.all([
        queries.fetchQuery({ ...definitionQuery(uid), staleTime: 0 }),
        client.factories.definition.revision(uid, String(revision)),
      ]);
      return { now, then };
    },
  });
  const title = `Revert to revision ${revision}`;
  if (!both.data) {
    return (
      <Dialog title={title} close={close}>
        <Failure error={both.error} retry={() => void both.refetch()} />
      </Dialog>
    );
  }
  return (
    <PlanDialog
      uid={uid}
      title={title}
      back="Close"
      base={both.data.now}
      files={both.data.then.files}
      close={close}
      applied={() => queries.invalidateQueries({ queryKey: ['factory', uid] })}
      update={async () => {
        await both.refetch();
        await queries.invalidateQueries({ queryKey: ['plan', uid] });
      }}
      go={() => void navigate({ to: '/factory/$uid/files', params: { uid } as never })}
    />
  );
}
