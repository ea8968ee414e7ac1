import { Anchor } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

/** The address, when it is one that a page may lead to: http or https. */
export function safeHref(href: string | undefined): string | undefined {
  try {
    const url = new URL(href ?? '');
    return url.protocol === 'http:' || url.protocol === 'https:' ? url.href : undefined;
  } catch {
    return undefined;
  }
}

/** A link that somebody else wrote: within this site by the router, elsewhere in a tab that knows nothing of this one, and else only its text. */
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
