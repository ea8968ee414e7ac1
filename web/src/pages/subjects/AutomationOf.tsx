import { Anchor } from '@mantine/core';
import type { Subject } from '@penstock/sdk';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { sessionQuery } from '../../api.ts';
import { may } from '../../layout/nav.ts';
import { automationQuery } from '../../queries.ts';

/** A link to the automation of a subject, by its name if the session may read it. */
export function AutomationOf({ subject: { factory_uid: uid = '', automation_uid: auid = '' } }: { subject: Subject }) {
  const { data: session } = useQuery(sessionQuery);
  const enabled = uid !== '' && auid !== '' && may(session?.scopes, 'factories:read');
  const { data } = useQuery({ ...automationQuery(uid, auid), staleTime: 60_000, enabled });
  return data ? (
    <Anchor component={Link} to="/factory/$uid/automations/$auid" params={{ uid, auid } as never} inherit>
      {data.name}
    </Anchor>
  ) : (
    <span className="clip" title={auid}>
      {auid}
    </span>
  );
}
