import { Switch } from '@mantine/core';
import { useState } from 'react';
import { mayNotify, useNotify } from '../../layout/notify.ts';

/** Turns notifications of this browser on and off. Turning them on asks the browser for permission. */
export function NotificationSwitch() {
  const [on, setOn] = useNotify();
  const [denied, setDenied] = useState(false);
  const change = async (wanted: boolean): Promise<void> => {
    if (wanted && !mayNotify() && (await Notification.requestPermission()) !== 'granted') {
      setDenied(true);
      return;
    }
    setDenied(false);
    setOn(wanted);
  };
  const supported = 'Notification' in window;
  const refused = denied || (supported && Notification.permission === 'denied');
  const description = !supported
    ? 'This browser cannot show notifications for this address. Most browsers need HTTPS for it.'
    : refused
      ? 'The browser does not allow notifications from this site. Its settings for the site can change that.'
      : 'While a tab with Penstock is open.';
  return (
    <Switch
      label="Notify me when a run that I started blocks or fails"
      description={description}
      disabled={!supported}
      checked={on && mayNotify()}
      onChange={(event) => void change(event.currentTarget.checked)}
    />
  );
}
