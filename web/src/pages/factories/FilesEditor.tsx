import { Alert, Stack, Text } from '@mantine/core';
import type { Diagnostic, FactoryFiles, FileTree } from '@penstock/sdk';
import { useQueryClient } from '@tanstack/react-query';
import { useBlocker } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { definitionQuery } from '../../queries.ts';
import { Confirm } from '../../ui/Confirm.tsx';
import { DeleteDialog } from '../../ui/DeleteDialog.tsx';
import { FileList } from './FileList.tsx';
import classes from './FilesEditor.module.css';
import { type FilesDialog, FilesToolbar } from './FilesToolbar.tsx';
import { Findings } from './Findings.tsx';
import { NewFileDialog } from './NewFileDialog.tsx';
import { changedPaths, rebase, templateOf } from './tree.ts';
import { useDiagnostics } from './useDiagnostics.ts';

const Editor = lazy(() => import('./Editor.tsx'));
const PlanDialog = lazy(() => import('./PlanDialog.tsx'));

/** Edits a factory's files until they are applied. Edits are compared with the loaded files. */
export function FilesEditor({ uid, loaded, readOnly }: { uid: string; loaded: FactoryFiles; readOnly: boolean }) {
  const queries = useQueryClient();
  const [base, setBase] = useState(loaded);
  const [edited, setEdited] = useState({ files: loaded.files, version: 0 });
  const [epoch, setEpoch] = useState(0); // counts changes to files outside the editor
  const [selected, select] = useState('factory.yaml');
  const [goTo, setGoTo] = useState<{ line: number }>();
  const [open, setOpen] = useState<FilesDialog>();
  const [conflicts, setConflicts] = useState<string[]>();
  const { files, version } = edited;
  const changed = new Set(changedPaths(base.files, files));
  const { diagnostics, error, settled } = useDiagnostics(uid, files, version, !readOnly);
  const edit = (next: FileTree): void => setEdited((before) => ({ files: next, version: before.version + 1 }));
  const replace = (next: FileTree): void => {
    edit(next);
    setEpoch(epoch + 1);
  };
  const go = ({ path, line }: Diagnostic): void => {
    if (files[path] !== undefined) {
      select(path);
      setGoTo({ line });
    }
  };
  const update = async (): Promise<void> => {
    const theirs = await queries.fetchQuery({ ...definitionQuery(uid), staleTime: 0 });
    const { files: merged, conflicts: both } = rebase(base.files, files, theirs.files);
    setBase(theirs);
    replace(merged);
    setConflicts(both);
    setOpen(undefined);
  };
  const applied = async (): Promise<void> => {
    const now = await queries.fetchQuery({ ...definitionQuery(uid), staleTime: 0 });
    setBase(now);
    setEdited((before) => ({ files: now.files, version: before.version + 1 }));
    setConflicts(undefined);
    await queries.invalidateQueries({ queryKey: ['factory', uid], predicate: ({ queryKey }) => queryKey[2] !== 'definition' });
  };
  const text = files[selected];
  return (
    <Stack gap="sm">
      {!readOnly && (
        <FilesToolbar
          revision={base.revision}
          changed={changed.size}
          deletable={text !== undefined && selected !== 'factory.yaml'}
          open={setOpen}
        />
      )}
      <Merged conflicts={conflicts} close={() => setConflicts(undefined)} />
      <div className={classes.columns}>
        <FileList paths={Object.keys(files)} selected={selected} select={select} changed={changed} diagnostics={diagnostics} />
        <div className={classes.text}>
          {text === undefined ? (
            <Text p="md" c="dimmed">
              Select a file.
            </Text>
          ) : (
            <Suspense>
              <Editor
                key={`${selected} ${epoch}`}
                path={selected}
                text={text}
                readOnly={readOnly}
                diagnostics={diagnostics.filter(({ path }) => path === selected)}
                goTo={goTo}
                change={(next) => edit({ ...files, [selected]: next })}
              />
            </Suspense>
          )}
        </div>
      </div>
      <Found diagnostics={diagnostics} error={error} settled={settled} go={go} readOnly={readOnly} />
      {open === 'plan' && (
        <Suspense>
          <PlanDialog uid={uid} base={base} files={files} close={() => setOpen(undefined)} applied={applied} update={update} go={go} />
        </Suspense>
      )}
      {open === 'new' && (
        <NewFileDialog
          files={files}
          close={() => setOpen(undefined)}
          create={(path) => {
            edit({ ...files, [path]: templateOf(path) });
            select(path);
          }}
        />
      )}
      {open === 'delete' && (
        <DeleteDialog
          noun="file"
          name={selected}
          undoable
          remove={async () => {
            const { [selected]: _, ...rest } = files;
            edit(rest);
            select('factory.yaml');
          }}
          close={() => setOpen(undefined)}
        >
          Nothing happens until you apply the changes. Applying them deletes everything that this file defines. If it defines a webhook, the
          webhook’s URL will return 404.
        </DeleteDialog>
      )}
      {open === 'discard' && (
        <Confirm
          title="Discard the changes?"
          action="Discard changes"
          act={async () => replace(base.files)}
          close={() => setOpen(undefined)}
        >
          <Text>The files return to revision {base.revision}.</Text>
        </Confirm>
      )}
      <Leave dirty={changed.size > 0} />
    </Stack>
  );
}

function Merged({ conflicts, close }: { conflicts: string[] | undefined; close: () => void }) {
  if (!conflicts) {
    return null;
  }
  return (
    <Alert
      variant="default"
      role="status"
      title="Your changes are now based on the newest revision"
      withCloseButton
      onClose={close}
      closeButtonLabel="Close"
    >
      {conflicts.length === 0
        ? 'Nobody else changed the same files.'
        : `Somebody else changed these files, too. If you apply, your version replaces theirs. Compare them in the plan: ${conflicts.join(', ')}`}
    </Alert>
  );
}

interface FoundProps {
  diagnostics: Diagnostic[];
  error: unknown;
  settled: boolean;
  go: (diagnostic: Diagnostic) => void;
  readOnly: boolean;
}

function Found({ diagnostics, error, settled, go, readOnly }: FoundProps) {
  if (readOnly) {
    return null;
  }
  if (error) {
    return (
      <Alert variant="default" title="The files could not be checked">
        {error instanceof Error ? error.message : ''}
      </Alert>
    );
  }
  return (
    <section aria-label="Problems" aria-live="polite">
      {diagnostics.length > 0 ? (
        <Findings diagnostics={diagnostics} go={go} />
      ) : (
        <Text size="sm" c="dimmed">
          {settled ? 'No problems found.' : 'Checking…'}
        </Text>
      )}
    </section>
  );
}

/** Asks before edits are lost. */
function Leave({ dirty }: { dirty: boolean }) {
  const blocker = useBlocker({ shouldBlockFn: () => dirty, enableBeforeUnload: () => dirty, withResolver: true });
  return (
    blocker.status === 'blocked' && (
      <Confirm title="Leave without applying?" action="Leave" act={async () => blocker.proceed()} close={blocker.reset}>
        <Text>Your changes to the files will be lost.</Text>
      </Confirm>
    )
  );
}
