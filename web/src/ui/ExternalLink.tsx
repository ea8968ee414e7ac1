import { Anchor } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

/** The URL, if it is safe to link to: http or https. */
export function safeHref(href: string | undefined): string | undefined {
  try {
    const url = new URL(href ?? '');
    return url.protocol === 'http:' || url.protocol === 'https:' ? url.href : undefined;
  } catch {
    return undefined;
  }
}

/** An untrusted link. The router opens links within this site, a new isolated tab opens others. Unsafe links are shown as text. */
export function ExternalLink({ href, children }: { href: string | undefined; children: ReactNode }) {
  const safe = safeHref(href);
  if (!safe) {
    return <span>{children}</span>;
  }
  const url = new URL(safe);
  if (url.origin === location.origin && !url.pathname.startsWith('/api/') && !url.pathname.startsWith('/docs')) {
    return (
      <Anchor component={Link} to={(url.pathname + url.search) as never} inherit>
        {children}
      </Anchor>
    );
  }
  return (
    <Anchor href={safe} target="_blank" rel="noopener noreferrer nofollow" inherit>
      {children}
    </Anchor>
  );
}
