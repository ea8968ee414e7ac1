import { useSyncExternalStore } from 'react';

/**
 * Options of a query whose answer is shown live: asked again while the page can be seen, at once when it is shown again, and on after an
 * error, so that a server's restart needs no reload. Every tab counts against the key's rate: 3 s are 20 requests a minute.
 */
export function live(seconds = 3) {
  return {
    refetchInterval: seconds * 1000,
    refetchIntervalInBackground: false,
    refetchOnWindowFocus: true,
    staleTime: 1000,
  } as const;
}

function subscribeVisibility(changed: () => void): () => void {
  document.addEventListener('visibilitychange', changed);
  return () => document.removeEventListener('visibilitychange', changed);
}

/** Whether the page can be seen. */
export function useVisible(): boolean {
  return useSyncExternalStore(subscribeVisibility, () => document.visibilityState === 'visible');
}

const listeners = new Set<() => void>();
let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;

function subscribeNow(changed: () => void): () => void {
  listeners.add(changed);
  if (timer === undefined) {
    now = Date.now(); // it has stood still while nobody looked
  }
  timer ??= setInterval(() => {
    now = Date.now();
    for (const listener of listeners) {
      listener();
    }
  }, 1000);
  return () => {
    listeners.delete(changed);
    if (listeners.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  };
}

/** The time by one clock for the whole page, in steps: a component renders again only when the step changes. */
export function useNow(stepSeconds = 1): number {
  const step = stepSeconds * 1000;
  return useSyncExternalStore(subscribeNow, () => Math.floor(now / step) * step);
}
