import { useLocalStorage } from '@mantine/hooks';
import type { RunItem } from '@penstock/sdk';

/** Whether this browser shows notifications, as far as the user chose it here. */
export function useNotify() {
  return useLocalStorage({ key: 'penstock.notify', defaultValue: false, getInitialValueInEffect: false });
}

/** Whether the browser can show notifications, and the user allowed it. */
export function mayNotify(): boolean {
  return 'Notification' in window && Notification.permission === 'granted';
}

/** The runs that need attention for another reason than before. It adds them to the known ones. */
export function newsOf(runs: readonly RunItem[], known: Set<string>): RunItem[] {
  return runs.filter(({ run_id, state, execution_id, status_message }) => {
    const key = `${run_id} ${state} ${execution_id} ${status_message?.message ?? ''}`;
    if (known.has(key)) {
      return false;
    }
    known.add(key);
    return true;
  });
}
