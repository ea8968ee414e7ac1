import { Kbd, Stack, Switch, Table } from '@mantine/core';
import { useState } from 'react';
import { Dialog } from '../ui/Dialog.tsx';
import { keysAreOn, turnKeys } from './shortcuts.ts';

const shortcuts: [string[], string][] = [
  [['Ctrl', 'K'], 'Go to a page, run, factory, webhook or automation'],
  [['Ctrl', 'Enter'], 'Send the message, or start the run'],
  [['c'], 'New run'],
  [['j'], 'Next entry of the list'],
  [['k'], 'Previous entry of the list'],
  [['Enter'], 'Open the entry'],
  [['/'], 'Search on this page'],
  [['?'], 'Show this help'],
];

/** Lists the shortcuts, and turns single-key shortcuts off. */
export default function Shortcuts({ close }: { close: () => void }) {
  const [on, setOn] = useState(keysAreOn);
  return (
    <Dialog title="Keyboard shortcuts" close={close}>
      <Stack gap="sm">
        <Table aria-label="Keyboard shortcuts">
          <Table.Thead>
            <Table.Tr>
              <Table.Th w={140}>Keys</Table.Th>
              <Table.Th>Action</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {shortcuts.map(([keys, what]) => (
              <Table.Tr key={what}>
                <Table.Td>
                  {keys.map((key, i) => (
                    <span key={key}>
                      {i > 0 && ' + '}
                      <Kbd>{key}</Kbd>
                    </span>
                  ))}
                </Table.Td>
                <Table.Td>{what}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
        <Switch
          label="Single keys are shortcuts"
          checked={on}
          onChange={({ currentTarget: { checked } }) => {
            turnKeys(checked);
            setOn(checked);
          }}
        />
      </Stack>
    </Dialog>
  );
}
