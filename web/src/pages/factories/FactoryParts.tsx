import { Anchor, Breadcrumbs } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { sessionQuery } from '../../api.ts';
import { may } from '../../layout/nav.ts';
import { factoryQuery } from '../../queries.ts';
import type { Params } from '../../search.ts';
import { Failure } from '../../ui/Failure.tsx';
import classes from './FactoryParts.module.css';

interface FactoryPart {
  label: string;
  to: string;
  search?: Params;
  manage?: boolean;
}

const partsOf = (uid: string): FactoryPart[] => [
  { label: 'Overview', to: `/factory/${uid}` },
  { label: 'Runs', to: '/runs', search: { factory_uid: uid } },
  { label: 'Automations', to: '/automations', search: { factory: uid } },
  { label: 'Webhooks', to: '/webhooks', search: { factory: uid }, manage: true },
  { label: 'Files', to: `/factory/${uid}/files` },
  { label: 'History', to: `/factory/${uid}/history` },
];

/** The way back to the factories, and the parts of one: above its own pages, above lists that show it alone, and
 * above the page of something in one of its parts. */
export function FactoryParts({ uid, part }: { uid: string; part?: 'Automations' | 'Webhooks' }) {
  const { data: session } = useQuery(sessionQuery);
  const { data: factory, error, refetch } = useQuery(factoryQuery(uid));
  if (error && !factory) {
    return <Failure error={error} retry={() => void refetch()} wanted={{ noun: 'factory', list: 'Factories', to: '/factories' }} />;
  }
  return (
    <div>
      <Breadcrumbs component="nav" aria-label="Breadcrumbs" mb={4} className={classes.crumbs ?? ''}>
        <Anchor component={Link} to="/factories" search={{} as never} size="sm">
          Factories
        </Anchor>
        <Anchor component={Link} to={`/factory/${uid}` as never} size="sm" activeProps={{ 'aria-current': undefined }}>
          {factory?.name ?? 'Factory'}
        </Anchor>
      </Breadcrumbs>
      <nav aria-label="Parts of the factory" className={classes.parts}>
        {partsOf(uid)
          .filter(({ manage }) => !manage || may(session?.scopes, 'factories:manage'))
          .map(({ label, to, search }) => (
            <Link
              key={label}
              to={to as never}
              search={(search ?? {}) as never}
              activeOptions={{ exact: true, includeSearch: search !== undefined }}
              className={classes.part}
              data-on={label === part || undefined}
            >
              {label}
            </Link>
          ))}
      </nav>
    </div>
  );
}
