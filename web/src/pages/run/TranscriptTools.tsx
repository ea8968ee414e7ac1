import { Button, Checkbox, Group, Menu, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { client } from '../../api.ts';
import { formatCount } from '../../format.ts';
import { save } from '../../ui/Download.tsx';
import { Failure } from '../../ui/Failure.tsx';
import { markdownOf } from './rows.ts';
import classes from './TranscriptView.module.css';
import type { Item } from './transcript.ts';

interface TranscriptToolsProps {
  runId: string;
  title: string;
  items: readonly Item[];
  query: string;
  setQuery: (query: string) => void;
  errors: boolean;
  setErrors: (errors: boolean) => void;
  /** The number of lines that the transcript shows, if it does not show all. */
  shown: number | undefined;
}

/** Searches and saves a transcript. */
export function TranscriptTools({ runId, title, items, query, setQuery, errors, setErrors, shown }: TranscriptToolsProps) {
  const saving = useMutation({
    mutationFn: async (): Promise<void> => {
      const conversation = await client.runs.conversation(runId);
      save({ content: new Blob([JSON.stringify(conversation, undefined, 2)], { type: 'application/json' }), name: `${runId}.json` });
    },
  });
  const saveMarkdown = (): void =>
    save({ content: new Blob([markdownOf(title || runId, items)], { type: 'text/markdown' }), name: `${runId}.md` });
  return (
    <Group gap="sm" mb="xs" role="group" aria-label="Transcript tools">
      <TextInput
        data-search
        size="xs"
        className={classes.search ?? ''}
        aria-label="Search the transcript"
        placeholder="Search"
        value={query}
        onChange={(event) => setQuery(event.currentTarget.value)}
      />
      <Checkbox size="xs" label="Errors only" checked={errors} onChange={(event) => setErrors(event.currentTarget.checked)} />
      <span role="status" className={classes.found}>
        {shown !== undefined && formatCount(shown, 'line')}
      </span>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button size="xs" variant="default" ml="auto" loading={saving.isPending}>
            Download
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={saveMarkdown}>Markdown</Menu.Item>
          <Menu.Item onClick={() => saving.mutate()}>JSON</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <Failure error={saving.error} />
    </Group>
  );
}
