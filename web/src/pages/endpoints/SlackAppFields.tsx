import { PasswordInput, TagsInput, TextInput } from '@mantine/core';

/** What a person enters about a Slack app. An empty secret stays as it is. */
export interface SlackAppDraft {
  channel: string;
  token: string;
  signing: string;
  users: string[];
}

/** The fields of a request. A change leaves out what stays, because a change of who may answer needs another scope. */
export function slackAppRequestOf({ channel, token, signing, users }: SlackAppDraft, before?: SlackAppDraft) {
  const same = before && users.join(' ') === before.users.join(' ');
  return {
    channel: channel.trim(),
    ...(token.trim() ? { bot_token: token.trim() } : {}),
    ...(signing.trim() ? { signing_secret: signing.trim() } : {}),
    ...(same ? {} : { may_answer: users }),
  };
}

interface FieldsProps {
  draft: SlackAppDraft;
  set: (change: Partial<SlackAppDraft>) => void;
  /** Whether the session may let people answer. */
  steers: boolean;
  /** Whether the endpoint has the secrets, which the server does not show. */
  known?: boolean;
}

/** The fields of a Slack app. */
export function SlackAppFields({ draft, set, steers, known = false }: FieldsProps) {
  const kept = known ? 'Leave empty to keep the present one, which is not shown' : undefined;
  return (
    <>
      <TextInput
        label="Channel"
        description="Its id, which Slack shows at the end of its details"
        placeholder="C024BE91L"
        required
        maxLength={100}
        value={draft.channel}
        onChange={(event) => set({ channel: event.currentTarget.value })}
      />
      <PasswordInput
        label={known ? 'New bot token' : 'Bot token'}
        description={kept ?? 'Of the installed app, with the scope chat:write'}
        placeholder="xoxb-"
        required={!known}
        autoComplete="off"
        value={draft.token}
        onChange={(event) => set({ token: event.currentTarget.value })}
      />
      <PasswordInput
        label={known ? 'New signing secret' : 'Signing secret'}
        description={kept ?? 'It proves that an answer comes from Slack. Needed if somebody may answer'}
        autoComplete="off"
        value={draft.signing}
        onChange={(event) => set({ signing: event.currentTarget.value })}
      />
      <TagsInput
        label="May answer"
        description={
          steers
            ? 'Ids of the Slack users who may answer runs and cancel them'
            : 'To let people answer, your key needs the scope runs:write'
        }
        placeholder={draft.users.length === 0 ? 'Nobody' : ''}
        disabled={!steers}
        maxTags={100}
        value={draft.users}
        onChange={(users) => set({ users })}
      />
    </>
  );
}
