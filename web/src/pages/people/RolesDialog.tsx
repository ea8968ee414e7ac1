import { Checkbox, Stack, Text } from '@mantine/core';
import type { GrantSubjectType, Known, Member } from '@penstock/sdk';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { client } from '../../api.ts';
import { grantsQuery } from '../../queries.ts';
import { FormDialog } from '../../ui/FormDialog.tsx';
import { roles } from './roles.ts';

/** Grants roles to a member, and removes others. Roles of groups are only shown. */
export default function RolesDialog({ member, close }: { member: Member; close: () => void }) {
  const queries = useQueryClient();
  const grants = useQuery(grantsQuery);
  const own = (grants.data?.grants ?? []).filter(({ subject_type, subject }) => subject_type === member.type && subject === member.uid);
  const [changed, setChanged] = useState<string[]>();
  const chosen = changed ?? own.map(({ role }) => role as string);
  const submit = async (): Promise<void> => {
    // What is given comes first, so that the last admin can change places.
    for (const { role } of roles) {
      if (chosen.includes(role) && !own.some((grant) => grant.role === role)) {
        await client.grants.create({ subject_type: member.type as Known<GrantSubjectType>, subject: member.uid, role });
      }
    }
    for (const grant of own) {
      if (!chosen.includes(grant.role)) {
        await client.grants.delete(grant.uid);
      }
    }
    await queries.invalidateQueries({ queryKey: ['members'] });
  };
  const byGroup = member.roles.filter((role) => !own.some((grant) => grant.role === role));
  return (
    <FormDialog
      title={`Roles of ${member.display_name}`}
      close={close}
      action="Save"
      submit={submit}
      incomplete={changed === undefined}
      error={grants.error}
    >
      <Checkbox.Group label="Roles" description="They add up, and count from the next request on" value={chosen} onChange={setChanged}>
        <Stack gap={6} mt={6}>
          {roles.map(({ role, label, what }) => (
            <Checkbox key={role} value={role} label={label} description={what} disabled={!grants.data} />
          ))}
        </Stack>
      </Checkbox.Group>
      {grants.data && byGroup.length > 0 && <Text size="sm">By groups: {byGroup.join(', ')}</Text>}
    </FormDialog>
  );
}
