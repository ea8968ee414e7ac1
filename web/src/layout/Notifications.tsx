import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { sessionQuery } from '../api.ts';
import { runsQuery } from '../queries.ts';
import { wordOfState } from '../states.ts';
import { newsOf } from './notify.ts';

/** Shows a notification when a run that the user started blocks or fails, also while the page is hidden. */
export default function Notifications() {
  const { data: session } = useQuery(sessionQuery);
  const navigate = useNavigate();
  const known = useRef<Set<string>>(undefined);
  const { data, isPlaceholderData } = useQuery({
    ...runsQuery({
      state: ['BLOCKED', 'FAILED', 'ERROR'],
      ...(session ? { creator: session.actor.uid } : {}),
      sort_by: 'updated_at',
      limit: 20,
    }),
    enabled: !!session,
    refetchInterval: 10_000,
    refetchIntervalInBackground: true,
  });
  useEffect(() => {
    if (!data || isPlaceholderData) {
      return;
    }
    const first = known.current === undefined;
    known.current ??= new Set();
    const news = newsOf(data.items, known.current);
    for (const run of first ? [] : news) {
      const to = `/runs/${run.run_id}`;
      if (location.pathname === to && document.hasFocus()) {
        continue;
      }
      const shown = new Notification(`${wordOfState(run.state).word}: ${run.title}`, {
        body: run.status_message?.message ?? '',
        tag: run.run_id, // several tabs show it once
      });
      shown.onclick = () => {
        window.focus();
        void navigate({ to: to as never });
        shown.close();
      };
    }
  }, [data, isPlaceholderData, navigate]);
  return null;
}
