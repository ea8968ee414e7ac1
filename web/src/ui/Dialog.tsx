import { Modal } from '@mantine/core';
import { type ReactNode, useEffect, useState } from 'react';

export interface DialogProps {
  title: string;
  close: () => void;
  /** As Mantine has it; md when it is left out. */
  size?: string;
  /** What is shown is shown this once: Escape does not close it. */
  stays?: boolean;
  children: ReactNode;
}

/** How many dialogs there are; one may take the place of another. */
let shown = 0;
/** What had the focus before the first of them. */
let opener: Element | null = null;

/**
 * A dialog that is there while it is open. A click beside it does not close it: what was filled in would be lost. When it is gone, the
 * focus is where it was before, so that the keyboard goes on from there.
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
