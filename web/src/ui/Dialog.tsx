import { Modal } from '@mantine/core';
import { type ReactNode, useEffect, useState } from 'react';

export interface DialogProps {
  title: string;
  close: () => void;
  /** Mantine's size. Default: md. */
  size?: string;
  /** Escape does not close the dialog, because its content is shown only once. */
  stays?: boolean;
  children: ReactNode;
}

/** The number of open dialogs. One can replace another. */
let shown = 0;
/** The element that had the focus before the first dialog. */
let opener: Element | null = null;

/**
 * A dialog that is mounted only while it is open. A click outside does not close it, so that input is not lost. When it closes, the focus returns
 * to its previous element.
 */
export function Dialog({ title, close, size = 'md', stays = false, children }: DialogProps) {
  useState(() => {
    if (shown === 0) {
      opener = document.activeElement;
    }
  });
  useEffect(() => {
    shown++;
    return () => {
      shown--;
      if (shown === 0 && opener instanceof HTMLElement && opener.isConnected) {
        opener.focus({ preventScroll: true });
      }
    };
  }, []);
  return (
    <Modal
      opened
      onClose={close}
      title={title}
      size={size}
      closeOnClickOutside={false}
      closeOnEscape={!stays}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {children}
    </Modal>
  );
}
