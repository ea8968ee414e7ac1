import { TextInput } from '@mantine/core';
import type { FileTree } from '@penstock/sdk';
import { useState } from 'react';
import { FormDialog } from '../../ui/FormDialog.tsx';

/** Asks for the path of a new file. */
export function NewFileDialog({ files, close, create }: { files: FileTree; close: () => void; create: (path: string) => void }) {
  const [path, setPath] = useState('agents/NAME/agent.md');
  const taken = files[path.trim()] !== undefined;
  return (
    <FormDialog
      title="New file"
      close={close}
      action="Add"
      submit={async () => create(path.trim())}
      incomplete={path.trim() === '' || taken}
    >
      <TextInput
        label="Path"
        description="For example agents/NAME/agent.md, automations/NAME/automation.md, webhooks/NAME.yaml, skills/NAME/SKILL.md or runners/NAME.yaml"
        data-autofocus
        spellCheck={false}
        classNames={{ input: 'mono' }}
        error={taken ? 'A file with this path exists.' : undefined}
        value={path}
        onChange={(event) => setPath(event.currentTarget.value)}
      />
    </FormDialog>
  );
}
