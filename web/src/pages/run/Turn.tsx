import { Button, NumberInput, Text, Textarea } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useCallback, useMemo, useState } from 'react';
import { client } from '../../api.ts';
import { checkpointsQuery } from '../../queries.ts';
import { FormDialog } from '../../ui/FormDialog.tsx';

/** What to do with a turn. */
type Choice = { turn: number; what: 'fork' | 'rewind' };

/**
 * Fork and rewind, for the turns of a run whose files are kept: what to show beside the message of a turn, and the dialog that it opens.
 */
export function useTurns(
  runId: string,
  mayWrite: boolean,
): { turnActions: ((messageId: string) => ReactNode) | undefined; dialog: ReactNode } {
  const { data } = useQuery({ ...checkpointsQuery(runId), enabled: mayWrite });
  const [choice, setChoice] = useState<Choice>();
  const turns = useMemo(
    () => new Map((data?.checkpoints ?? []).filter((one) => !one.superseded).map((one) => [one.message_id, one.turn])),
    [data],
  );
  const turnActions = useCallback(
    (messageId: string): ReactNode => {
      const turn = turns.get(messageId);
      return (
        turn !== undefined &&
        turn > 0 && (
          <>
            <Button size="compact-xs" variant="subtle" flex="none" onClick={() => setChoice({ turn, what: 'fork' })}>
              Fork from here
            </Button>
            <Button size="compact-xs" variant="subtle" flex="none" onClick={() => setChoice({ turn, what: 'rewind' })}>
              Back to here
            </Button>
          </>
        )
      );
    },
    [turns],
  );
  const close = (): void => setChoice(undefined);
  return {
    turnActions: mayWrite ? turnActions : undefined,
    dialog:
      choice?.what === 'fork' ? (
        <Fork runId={runId} turn={choice.turn} close={close} />
      ) : choice ? (
        <Rewind runId={runId} turn={choice.turn} close={close} />
      ) : null,
  };
}

interface TurnProps {
  runId: string;
  turn: number;
  close: () => void;
}

function Fork({ runId, turn, close }: TurnProps) {
  const [prompt, setPrompt] = useState('');
  const [count, setCount] = useState<string | number>(1);
  const navigate = useNavigate();
  const queries = useQueryClient();
  const submit = async (): Promise<void> => {
    const { fork_group, runs } = await client.runs.fork(runId, { turn, prompt, count: Number(count) });
    void queries.invalidateQueries({ queryKey: ['runs'] });
    const [only] = runs;
    if (runs.length === 1 && only) {
      void navigate({ to: '/runs/$runId', params: { runId: only.run_id } });
    } else {
      void navigate({ to: '/forks/$forkGroup', params: { forkGroup: fork_group } });
    }
  };
  return (
    <FormDialog title={`Fork turn ${turn}`} action="Fork" close={close} submit={submit} incomplete={prompt.trim() === ''}>
      <Text size="sm">A fork is a new run with the files and the conversation as they were after this turn. This run does not change.</Text>
      <Textarea label="Prompt" required autosize minRows={3} value={prompt} onChange={(event) => setPrompt(event.currentTarget.value)} />
      <NumberInput
        label="Runs"
        description="Several runs with the same prompt, to compare."
        min={1}
        max={10}
        value={count}
        onChange={setCount}
      />
    </FormDialog>
  );
}

function Rewind({ runId, turn, close }: TurnProps) {
  const [prompt, setPrompt] = useState('');
  const queries = useQueryClient();
  const submit = async (): Promise<void> => {
    await client.runs.rewind(runId, { turn, ...(prompt.trim() ? { prompt } : {}) });
    await queries.invalidateQueries({ queryKey: ['run', runId] });
  };
  return (
    <FormDialog title={`Back to turn ${turn}`} action="Go back" close={close} submit={submit}>
      <Text size="sm">
        The next turn has the files and the conversation as they were after this turn. Later messages stay in the transcript, but the agent
        does not know them. What the run has pushed or sent is not undone.
      </Text>
      <Textarea
        label="Next message"
        description="Without one, the run waits for a follow-up."
        autosize
        minRows={3}
        value={prompt}
        onChange={(event) => setPrompt(event.currentTarget.value)}
      />
    </FormDialog>
  );
}
