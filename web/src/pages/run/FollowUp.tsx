import { Alert } from '@mantine/core';
import type { RunItem, RunStatusMessage } from '@penstock/sdk';
import type { ReactNode } from 'react';
import { MessageForm, type MessageFormProps } from '../../ui/MessageForm.tsx';
import classes from './FollowUp.module.css';

const hints: Record<string, string> = {
  QUEUED: 'The agent gets it after its first turn.',
  CLAIMED: 'The agent gets it after its first turn.',
  PENDING: 'The agent gets it after its first turn.',
  INPROGRESS: 'The agent gets it at its next turn.',
  BLOCKED: 'The agent gets it when the run continues.',
};

interface FollowUpProps extends Pick<MessageFormProps, 'send' | 'message' | 'setMessage'> {
  run: Pick<RunItem, 'state'>;
}

/** Sends a message to a run: steers it, or resumes it. */
export function FollowUp({ run, ...props }: FollowUpProps) {
  return (
    <MessageForm
      label="Follow-up"
      placeholder="Message the agent"
      hint={hints[run.state] ?? 'Resumes this run with its full context.'}
      action="Send"
      {...props}
    />
  );
}

interface QuestionProps extends Pick<MessageFormProps, 'message' | 'setMessage'> {
  question: RunStatusMessage | undefined;
  /** undefined if the reader may not answer. */
  send: MessageFormProps['send'] | undefined;
  /** Names the run, on a page with several. */
  title?: ReactNode;
  lines?: number;
}

/** The question of a blocked run, with a field for the answer. */
export function Question({ question, send, message, setMessage, title = 'The agent needs your answer', lines = 2 }: QuestionProps) {
  return (
    <Alert variant="default" className={classes.question ?? ''} role="group" title={title}>
      <div className="plain" role="status">
        {question?.message}
      </div>
      {send && (
        <MessageForm
          label="Your answer"
          placeholder="Answer the agent"
          hint="Your answer lets the agent continue."
          action="Answer"
          send={send}
          message={message}
          setMessage={setMessage}
          lines={lines}
        />
      )}
    </Alert>
  );
}
