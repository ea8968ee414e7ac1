import { Anchor, Title } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { client } from '../../api.ts';
import { MessageForm } from '../../ui/MessageForm.tsx';
import classes from './Bars.module.css';

const NewRun = lazy(() => import('../runs/NewRun.tsx'));

/** Starts a run from its prompt alone, and goes to its page. */
export function QuickRun() {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [prompt, setPrompt] = useState('');
  const [composing, compose] = useState(false);
  const start = async (text: string): Promise<void> => {
    try {
      const { run_id } = await client.runs.create({ prompt: text });
      void queries.invalidateQueries({ queryKey: ['runs'] });
      await navigate({ to: '/runs/$runId', params: { runId: run_id } });
    } catch (error) {
      setPrompt((now) => now || text);
      throw error;
    }
  };
  const more = (
    <>
      Ctrl+Enter starts it.{' '}
      <Anchor component="button" type="button" size="sm" onClick={() => compose(true)}>
        More options
      </Anchor>
    </>
  );
  return (
    <section className={classes.chart} aria-label="New run">
      <Title order={2} size="h5">
        New run
      </Title>
      <MessageForm
        label="Prompt"
        placeholder="What should the agent do?"
        hint={more}
        action="Start"
        send={start}
        message={prompt}
        setMessage={setPrompt}
      />
      {composing && (
        <Suspense>
          <NewRun prompt={prompt} close={() => compose(false)} />
        </Suspense>
      )}
    </section>
  );
}
