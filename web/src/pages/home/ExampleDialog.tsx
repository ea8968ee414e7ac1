import { Anchor, Radio, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { client } from '../../api.ts';
import { FormDialog } from '../../ui/FormDialog.tsx';
import { examples } from './examples.ts';

/** Creates a factory from an example, and goes to its page. */
export default function ExampleDialog({ close }: { close: () => void }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [folder, choose] = useState(examples[0]?.folder ?? '');
  const { files = {}, secrets = [] } = examples.find((one) => one.folder === folder) ?? {};
  const submit = async (): Promise<void> => {
    const known = new Set((await client.secrets.list()).secrets.map(({ name }) => name));
    for (const name of secrets.filter((one) => !known.has(one))) {
      await client.secrets.create({ name });
    }
    const { uid } = await client.factories.create({ files });
    await Promise.all([queries.invalidateQueries({ queryKey: ['factories'] }), queries.invalidateQueries({ queryKey: ['secrets'] })]);
    await navigate({ to: '/factory/$uid', params: { uid } });
  };
  return (
    <FormDialog title="New factory from an example" close={close} action="Create" submit={submit} size="lg">
      <Radio.Group label="Example" value={folder} onChange={choose}>
        <Stack gap="sm" mt="xs">
          {examples.map(({ folder: value, name, description }) => (
            <Radio key={value} value={value} label={name} description={description} />
          ))}
        </Stack>
      </Radio.Group>
      <Text size="sm">
        It needs {secrets.map((name, i) => [i > 0 && ', ', <code key={name}>{name}</code>])}. Those that do not exist are created without a
        value. Set their values on the page{' '}
        <Anchor component={Link} to="/secrets" inherit>
          Secrets
        </Anchor>
        .
      </Text>
    </FormDialog>
  );
}
