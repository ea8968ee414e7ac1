import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useEffect, useState } from 'react';
import { sessionQuery } from '../api.ts';
import { may } from './nav.ts';
import { keysAreOn, step } from './shortcuts.ts';

const Palette = lazy(() => import('./Palette.tsx'));
const Shortcuts = lazy(() => import('./Shortcuts.tsx'));
const NewRun = lazy(() => import('../pages/runs/NewRun.tsx'));

type Shown = 'palette' | 'shortcuts' | 'run';

/** Opens the palette from elsewhere. */
export const openPalette = (): boolean => document.dispatchEvent(new CustomEvent('penstock:palette'));

/** Whether keys belong to the element, because it takes text or is in a dialog. */
function takesKeys(element: Element | null): boolean {
  return element !== null && element.closest('input:not([type=checkbox]), textarea, select, [contenteditable], [role=dialog]') !== null;
}

/** The shortcuts of every page: Ctrl+K, and single keys outside of fields. */
export function Keyboard() {
  const { data: session } = useQuery(sessionQuery);
  const mayWrite = may(session?.scopes, 'runs:write');
  const [shown, show] = useState<Shown>();
  useEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey) && !event.altKey) {
        event.preventDefault();
        show('palette');
        return;
      }
      const other = event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || event.isComposing;
      const busy = takesKeys(event.target as Element | null) || document.querySelector('[role=dialog]') !== null;
      if (!other && !busy && keysAreOn() && act(event.key)) {
        event.preventDefault();
      }
    };
    const act = (key: string): boolean => {
      switch (key) {
        case 'c':
          if (mayWrite) {
            show('run');
          }
          return mayWrite;
        case '?':
          show('shortcuts');
          return true;
        case '/':
          document.querySelector<HTMLElement>('main [data-search]')?.focus();
          return true;
        case 'j':
          return step(1);
        case 'k':
          return step(-1);
        default:
          return false;
      }
    };
    const asked = (): void => show('palette');
    document.addEventListener('keydown', pressed);
    document.addEventListener('penstock:palette', asked);
    return () => {
      document.removeEventListener('keydown', pressed);
      document.removeEventListener('penstock:palette', asked);
    };
  }, [mayWrite]);
  const close = (): void => show(undefined);
  return (
    <Suspense>
      {shown === 'palette' && <Palette close={close} compose={mayWrite ? () => show('run') : undefined} />}
      {shown === 'shortcuts' && <Shortcuts close={close} />}
      {shown === 'run' && <NewRun close={close} />}
    </Suspense>
  );
}
