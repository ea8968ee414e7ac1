import { Anchor } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Failure } from './Failure.tsx';

/** A download: a signed link, or content with a file name. */
export type Saved = { url: string } | { content: Blob; name: string };

/** Saves a file on click. A plain link cannot, because the API needs the session's secret in a header. */
export function Download({ read }: { read: () => Promise<Saved> }) {
  const saving = useMutation({ mutationFn: read, onSuccess: save });
  return (
    <>
      <Anchor component="button" type="button" size="sm" disabled={saving.isPending} onClick={() => saving.mutate()}>
        Download
      </Anchor>
      <Failure error={saving.error} />
    </>
  );
}

/** Saves a file. */
export function save(saved: Saved): void {
  const link = document.createElement('a');
  if ('url' in saved) {
    link.href = saved.url; // the response has Content-Disposition with the file name
  } else {
    link.href = URL.createObjectURL(saved.content);
    link.download = saved.name;
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // the browser has started the download long before
  }
  link.click();
}
