import { TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type KeyboardEvent, useId, useState } from 'react';
import { sessionQuery } from '../api.ts';
import { useEach } from '../pages/webhooks/useEach.ts';
import { automationsQuery, runsQuery, webhooksQuery } from '../queries.ts';
import { wordOfState } from '../states.ts';
import { Dialog } from '../ui/Dialog.tsx';
import { Icon, type IconName } from '../ui/Icon.tsx';
import { may, moreLists, places } from './nav.ts';
import classes from './Palette.module.css';

interface Target {
  key: string;
  icon: IconName;
  label: string;
  /** The kind of target, or where it is. */
  hint: string;
  act: () => void;
}

/** The number of targets of each kind. */
const most = 6;

interface PaletteProps {
  close: () => void;
  /** Opens the form of a new run; undefined if the reader may not start one. */
  compose: (() => void) | undefined;
}

/** Finds pages, runs, factories, webhooks and automations by their names, and goes there. */
export default function Palette({ close, compose }: PaletteProps) {
  const [text, setText] = useState('');
  const [chosen, choose] = useState(0);
  const list = useId();
  const { targets, pending } = useTargets(text.trim(), close, compose);
  const at = Math.min(chosen, Math.max(targets.length - 1, 0));
  const pressed = (event: KeyboardEvent): void => {
    const by = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (by !== 0 && targets.length > 0) {
      event.preventDefault();
      const next = (at + by + targets.length) % targets.length;
      choose(next);
      document.getElementById(`${list}-${next}`)?.scrollIntoView({ block: 'nearest' });
    } else if (event.key === 'Enter') {
      event.preventDefault();
      targets[at]?.act();
    }
  };
  return (
    <Dialog title="Go to" close={close} size="lg">
      <TextInput
        data-autofocus
        role="combobox"
        aria-label="Go to"
        aria-expanded={true}
        aria-controls={list}
        aria-activedescendant={targets.length > 0 ? `${list}-${at}` : undefined}
        placeholder="Page, run, factory, webhook or automation"
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value);
          choose(0);
        }}
        onKeyDown={pressed}
      />
      <div role="listbox" id={list} aria-label="Results" aria-busy={pending} className={classes.list}>
        {targets.map(({ key, icon, label, hint, act }, i) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the focus and the keys
          // biome-ignore lint/a11y/useFocusableInteractive: the field has the focus and the keys
          <div key={key} id={`${list}-${i}`} role="option" aria-selected={i === at} className={classes.option} onClick={act}>
            <Icon name={icon} />
            <span className="clip">{label}</span>
            <span className={classes.hint}>{hint}</span>
          </div>
        ))}
      </div>
      {targets.length === 0 && !pending && <p className={classes.none}>No matches.</p>}
    </Dialog>
  );
}

/** The targets whose names have the text: pages first. */
function useTargets(text: string, close: () => void, compose: (() => void) | undefined): { targets: Target[]; pending: boolean } {
  const navigate = useNavigate();
  const { data: session } = useQuery(sessionQuery);
  const [q] = useDebouncedValue(text, 150);
  const reads = may(session?.scopes, 'factories:read');
  const runs = useQuery({ ...runsQuery({ ...(q ? { q } : {}), limit: most }), enabled: may(session?.scopes, 'runs:read') });
  const automations = useEach(undefined, (one) => one.automations_count, automationsQuery, { live: false, enabled: reads });
  const webhooks = useEach(undefined, (one) => one.webhooks_count, webhooksQuery, {
    live: false,
    enabled: may(session?.scopes, 'factories:manage'),
  });
  const has = (name: string): boolean => name.toLowerCase().includes(text.toLowerCase());
  const go = (to: string) => (): void => {
    close();
    void navigate({ to: to as never });
  };
  const named = <T extends { uid: string; name: string }>(
    all: readonly T[] | undefined,
    icon: IconName,
    hint: (one: T) => string,
    to: (one: T) => string,
  ) =>
    text === ''
      ? []
      : (all ?? [])
          .filter(({ name }) => has(name))
          .slice(0, most)
          .map((one): Target => ({ key: one.uid, icon, label: one.name, hint: hint(one), act: go(to(one)) }));
  return {
    pending: runs.isFetching || q !== text,
    targets: [
      ...(compose && has('New run') ? [{ key: 'new', icon: 'plus' as const, label: 'New run', hint: 'c', act: compose }] : []),
      ...[...places, ...moreLists]
        .filter(({ label, scope }) => may(session?.scopes, scope) && has(label))
        .map(({ label, to, icon }): Target => ({ key: to, icon, label, hint: 'Page', act: go(to) })),
      ...named(
        automations.factories,
        'factory',
        () => 'Factory',
        ({ uid }) => `/factory/${uid}`,
      ),
      ...named(
        automations.rows,
        'bolt',
        ({ factory }) => `Automation in ${factory.name}`,
        ({ uid, factory }) => `/factory/${factory.uid}/automations/${uid}`,
      ),
      ...named(
        webhooks.rows,
        'link',
        ({ factory }) => `Webhook in ${factory.name}`,
        ({ uid, factory }) => `/factory/${factory.uid}/webhooks/${uid}`,
      ),
      ...(runs.data?.items ?? []).map(
        ({ run_id, title, state }): Target => ({
          key: run_id,
          icon: 'runs',
          label: title || run_id,
          hint: wordOfState(state).word,
          act: go(`/runs/${run_id}`),
        }),
      ),
    ],
  };
}
