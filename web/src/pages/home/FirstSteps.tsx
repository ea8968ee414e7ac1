import { Anchor, Button, Group, Text, Title, VisuallyHidden } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { sessionQuery } from '../../api.ts';
import { may } from '../../layout/nav.ts';
import { Icon } from '../../ui/Icon.tsx';
import bars from './Bars.module.css';
import classes from './Home.module.css';
import type { Step, StepName } from './steps.ts';

const FactoryDialog = lazy(() => import('../factories/FactoryDialog.tsx'));

const words: Record<StepName, { title: string; detail: ReactNode }> = {
  model: {
    title: 'Connect a model',
    detail: (
      <>
        Start the server with <code>ANTHROPIC_API_KEY</code>, <code>OPENAI_API_KEY</code> or <code>GEMINI_API_KEY</code>. Without one, runs
        use <code>demo/offline</code>.{' '}
        <Anchor component={Link} to="/settings" inherit>
          Models of this server
        </Anchor>
      </>
    ),
  },
  run: { title: 'Start a run', detail: 'Write what the agent should do into the field below.' },
  factory: {
    title: 'Create a factory',
    detail: (
      <>
        A factory is a team of agents with its webhooks and automations. <FromExample />{' '}
        <Anchor component={Link} to="/factories" inherit>
          Factories
        </Anchor>
      </>
    ),
  },
  webhook: {
    title: 'Create a webhook',
    detail: (
      <>
        It receives events from GitHub, your CI or any other sender.{' '}
        <Anchor component={Link} to="/webhooks" inherit>
          Webhooks
        </Anchor>
      </>
    ),
  },
  automation: {
    title: 'Create an automation',
    detail: (
      <>
        It starts a run when an event matches, or on a schedule.{' '}
        <Anchor component={Link} to="/automations" inherit>
          Automations
        </Anchor>
      </>
    ),
  },
};

/** Opens the examples. Their secrets are created, too. */
function FromExample() {
  const { data: session } = useQuery(sessionQuery);
  const [asking, ask] = useState(false);
  return !may(session?.scopes, 'secrets:manage') ? null : (
    <>
      <Anchor component="button" type="button" inherit onClick={() => ask(true)}>
        Start with an example
      </Anchor>
      {asking && (
        <Suspense>
          <FactoryDialog factory={undefined} byExample close={() => ask(false)} />
        </Suspense>
      )}
    </>
  );
}

/** What a new team does first. */
export function FirstSteps({ steps, hide }: { steps: Step[]; hide: () => void }) {
  return (
    <section className={bars.chart} aria-label="First steps">
      <Group justify="space-between">
        <Title order={2} size="h5">
          First steps
        </Title>
        <Button size="compact-sm" variant="subtle" onClick={hide}>
          Hide
        </Button>
      </Group>
      <ol className={classes.steps}>
        {steps.map(({ name, done }) => (
          <li key={name} className={classes.item} data-done={done || undefined}>
            <span className={classes.mark}>{done && <Icon name="check" size={12} />}</span>
            <div>
              <span className={classes.step}>
                {words[name].title}
                {done && <VisuallyHidden> (done)</VisuallyHidden>}
              </span>
              {!done && (
                <Text size="sm" c="dimmed" component="div">
                  {words[name].detail}
                </Text>
              )}
            </div>
          </li>
        ))}
      </ol>
    </section>
  );
}
