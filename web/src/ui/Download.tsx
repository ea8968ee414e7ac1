import { Anchor } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Failure } from './Failure.tsx';

/** Something to save: a signed link, or content with the name of its file. */
export type Saved = { url: string } | { content: Blob; name: string };

/** Saves a file on a click. A plain link could not: a request to the API needs the session's secret in a header. */
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

function save(saved: Saved): void {
  const link = document.createElement('a');
  if ('url' in saved) {
    link.href = saved.url; // the answer says that it is to be saved, and by which name
  } else {
    link.href = URL.createObjectURL(saved.content);
    link.download = saved.name;
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // the browser has taken hold of it long before
  }
  link.click();
}
