import { useSyncExternalStore } from 'react';

/**
 * Options of a live query. It refetches while the page is visible, as soon as the page becomes visible again, and also after an error, so that a
 * restart of the server needs no reload. Each tab uses the key's rate limit: every 3 s is 20 requests a minute.
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

/** Whether the page is visible. */
export function useVisible(): boolean {
  return useSyncExternalStore(subscribeVisibility, () => document.visibilityState === 'visible');
}

const listeners = new Set<() => void>();
let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;

function subscribeNow(changed: () => void): () => void {
  listeners.add(changed);
  if (timer === undefined) {
    now = Date.now(); // it stopped while the page was hidden
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

/** The current time, from one clock for the whole page. A component renders again only when the step changes. */
export function useNow(stepSeconds = 1): number {
  const step = stepSeconds * 1000;
  return useSyncExternalStore(subscribeNow, () => Math.floor(now / step) * step);
}
