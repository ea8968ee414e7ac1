import { Button, Group, Stack, Text } from '@mantine/core';
import type { ArtifactItem } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { client } from '../../api.ts';
import { formatBytes, formatWord } from '../../format.ts';
import { Code } from '../../ui/Code.tsx';
import { Download, type Saved } from '../../ui/Download.tsx';
import { ExternalLink } from '../../ui/ExternalLink.tsx';
import { Failure } from '../../ui/Failure.tsx';
import { Markdown } from '../../ui/Markdown.tsx';
import { Time } from '../../ui/Time.tsx';
import classes from './ArtifactsTab.module.css';
import { type Artifact, artifactOf, type PreviewKind, previewOf } from './artifact.ts';

/** The artifacts of a run. */
export default function ArtifactsTab({ artifacts }: { artifacts: readonly ArtifactItem[] }) {
  if (artifacts.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        No artifacts.
      </Text>
    );
  }
  return (
    <Stack gap="sm">
      {artifacts.map((item, i) => {
        const artifact = artifactOf(item);
        return <One key={artifact.uid ?? `${i}`} artifact={artifact} />;
      })}
    </Stack>
  );
}

function One({ artifact }: { artifact: Artifact }) {
  const [open, setOpen] = useState(false);
  const { uid, type, name, url, size, mimeType, description, createdAt, source } = artifact;
  const preview = previewOf(artifact);
  return (
    <article className={classes.artifact}>
      <Group justify="space-between" gap="xs">
        <div className={classes.name}>
          <Text fw={500} className="plain">
            {url ? <ExternalLink href={url}>{name}</ExternalLink> : name}
          </Text>
          <Text size="sm" c="dimmed">
            {[formatWord(type), source, mimeType, size === undefined ? '' : formatBytes(size)].filter(Boolean).join(' · ')} ·{' '}
            <Time at={createdAt} />
          </Text>
          {description && (
            <Text size="sm" className="plain">
              {description}
            </Text>
          )}
        </div>
        <Group gap="xs">
          {preview && (
            <Button size="xs" variant="default" aria-expanded={open} onClick={() => setOpen(!open)}>
              {open ? 'Close' : 'Preview'}
            </Button>
          )}
          {uid && type !== 'PLAN' && <Download read={() => linkTo(uid)} />}
        </Group>
      </Group>
      {open && preview && uid && <Preview uid={uid} kind={preview} name={name} />}
    </article>
  );
}

async function linkTo(uid: string): Promise<Saved> {
  const { data } = (await client.artifacts.get(uid)) as { data: { download_url?: string } };
  if (!data.download_url) {
    throw new Error('This artifact has no file.');
  }
  return { url: data.download_url };
}

/** Reads an artifact. A plan contains its text, a file has a link to it. The content is never treated as HTML. */
function Preview({ uid, kind, name }: { uid: string; kind: PreviewKind; name: string }) {
  const content = useQuery({
    queryKey: ['artifact', uid, 'content'],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }): Promise<Blob> => {
      if (kind === 'plan') {
        const plan = (await client.artifacts.get(uid, { signal })) as { data?: { content?: string } };
        return new Blob([plan.data?.content ?? '']);
      }
      return (await client.artifacts.download(uid, { signal })).blob();
    },
  });
  if (content.error) {
    return <Failure error={content.error} />;
  }
  if (!content.data) {
    return (
      <Text size="sm" c="dimmed">
        Reading…
      </Text>
    );
  }
  return kind === 'image' ? (
    <ImageOf blob={content.data} name={name} />
  ) : (
    <TextOf blob={content.data} markdown={kind !== 'text'} name={name} />
  );
}

function ImageOf({ blob, name }: { blob: Blob; name: string }) {
  const [url, setURL] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(blob);
    setURL(made);
    return () => URL.revokeObjectURL(made);
  }, [blob]);
  return url ? <img src={url} alt={name} className={classes.image} /> : null;
}

function TextOf({ blob, markdown, name }: { blob: Blob; markdown: boolean; name: string }) {
  const [text, setText] = useState<string>();
  useEffect(() => {
    void blob.text().then(setText);
  }, [blob]);
  if (text === undefined) {
    return null;
  }
  return markdown ? (
    <div className={classes.text}>
      <Markdown>{text}</Markdown>
    </div>
  ) : (
    <Code label={name}>{text}</Code>
  );
}
