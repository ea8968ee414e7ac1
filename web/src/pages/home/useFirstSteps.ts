import { useLocalStorage } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { sessionQuery } from '../../api.ts';
import { may } from '../../layout/nav.ts';
import { live } from '../../live.ts';
import { allFactoriesQuery, modelsQuery, runsQuery } from '../../queries.ts';
import { type Step, stepsOf } from './steps.ts';

/** The first steps that are shown: none once all are done, or the user hid them. undefined while they load. */
export function useFirstSteps(): { steps: Step[] | undefined; hide: () => void } {
  const { data: session } = useQuery(sessionQuery);
  const [hidden, setHidden] = useLocalStorage({ key: 'penstock.steps-hidden', defaultValue: false, getInitialValueInEffect: false });
  // Only who can do all steps sees them.
  const enabled = !hidden && may(session?.scopes, 'factories:manage') && may(session?.scopes, 'runs:write');
  const models = useQuery({ ...modelsQuery, enabled });
  const runs = useQuery({ ...runsQuery({ limit: 1 }), ...live(60), enabled });
  const factories = useQuery({ ...allFactoriesQuery, ...live(60), enabled });
  const hide = (): void => setHidden(true);
  if (!enabled || models.error || runs.error || factories.error) {
    return { steps: [], hide };
  }
  if (!models.data || !runs.data || !factories.data) {
    return { steps: undefined, hide };
  }
  const steps = stepsOf(models.data.models, runs.data.items.length > 0, factories.data);
  return { steps: steps.every(({ done }) => done) ? [] : steps, hide };
}
