const offKey = 'penstock.keys-off';

/** Whether single keys are shortcuts in this browser. Somebody who speaks to it must be able to turn them off. */
export function keysAreOn(): boolean {
  return localStorage.getItem(offKey) === null;
}

export function turnKeys(on: boolean): void {
  if (on) {
    localStorage.removeItem(offKey);
  } else {
    localStorage.setItem(offKey, '1');
  }
}

/** What opens each entry of the lists on a page. */
const entries = 'main td[data-main] a, main [data-entry] [data-name]';

/** Moves the focus to the next or previous entry of the lists on the page. Returns false if there is no such entry. */
export function step(by: 1 | -1): boolean {
  const all = [...document.querySelectorAll<HTMLElement>(entries)];
  const row = document.activeElement?.closest('tr, [data-entry]');
  const at = all.findIndex((entry) => entry === document.activeElement || (row?.contains(entry) ?? false));
  const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + by, 0), all.length - 1)];
  next?.focus();
  next?.scrollIntoView({ block: 'nearest' });
  return next !== undefined;
}
