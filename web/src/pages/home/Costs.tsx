import { Anchor, Text, Title } from '@mantine/core';
import type { FactoryStats } from '@penstock/sdk';
import { Link } from '@tanstack/react-router';
import { formatCost, formatNumber } from '../../format.ts';
import classes from './Bars.module.css';
import own from './Costs.module.css';

/** The cost of runs by factory, as a table with bars. */
export function Costs({ factories }: { factories: FactoryStats[] }) {
  const highest = Math.max(...factories.map(({ cost_usd }) => cost_usd), 0);
  const total = factories.reduce((sum, { cost_usd }) => sum + cost_usd, 0);
  return (
    <section className={classes.chart} aria-label="Cost by factory">
      <Title order={2} size="h5">
        Cost by factory
      </Title>
      <Text size="sm" c="dimmed">
        {formatCost(total)} for models with known prices
      </Text>
      {factories.length === 0 ? (
        <Text mt="sm" size="sm">
          No runs yet.
        </Text>
      ) : (
        <table className={own.costs} aria-label="Cost by factory">
          <thead>
            <tr>
              <th scope="col">Factory</th>
              <th scope="col">Runs</th>
              <th scope="col">Cost</th>
            </tr>
          </thead>
          <tbody>
            {factories.map(({ factory_uid, factory_name, runs, cost_usd }) => (
              <tr key={factory_uid ?? ''}>
                <th scope="row">
                  {factory_uid ? (
                    <Anchor component={Link} to={`/factory/${factory_uid}` as never} inherit>
                      {factory_name || factory_uid}
                    </Anchor>
                  ) : (
                    'No factory'
                  )}
                  <span className={own.bar} style={{ width: `${highest > 0 ? (cost_usd / highest) * 100 : 0}%` }} aria-hidden="true" />
                </th>
                <td>{formatNumber(runs)}</td>
                <td>{formatCost(cost_usd)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
