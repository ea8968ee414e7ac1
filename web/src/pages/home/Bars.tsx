import { Anchor, Group, Text, Title } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import classes from './Bars.module.css';
import { barOf, type Period, type Range, type Series, type Target, ticksOf, totalOf } from './chart.ts';

export interface BarsProps {
  title: string;
  /** A sentence that summarizes the chart for screen readers. */
  summary: string;
  range: Range;
  /** The start of each bar. */
  starts: string[];
  series: Series[];
  /** Formats a value. */
  format: (value: number) => string;
  /** Formats a value of the axis, if it differs. */
  tick?: (value: number) => string;
  /** Whether the values can be summed. */
  sums?: boolean;
  /** Whether the values are counts. */
  whole?: boolean;
  /** Shown beside the title. */
  choice?: ReactNode;
}

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const weekday = new Intl.DateTimeFormat('en-GB', { weekday: 'short' });
const date = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });
const [width, height, gap] = [10, 100, 1.5];

/** The label of a bar. */
function labelOf(range: Range, start: string): string {
  const at = new Date(start);
  if (range === '24h') {
    return clock.format(at);
  }
  return range === '7d' ? `${weekday.format(at)} ${clock.format(at)}` : date.format(at);
}

/** The label below a bar, for some of them. */
function markOf(range: Range, start: string, bar: number): string {
  const at = new Date(start);
  if (range === '7d') {
    return at.getHours() === 0 ? weekday.format(at) : '';
  }
  return bar % (range === '24h' ? 4 : 5) === 0 ? labelOf(range, start) : '';
}

/** A bar chart of time, with the same data as a table. Bars and the legend are links. */
export function Bars({ title, summary, range, starts, series, format, tick = format, sums, whole, choice }: BarsProps) {
  const ticks = ticksOf(series, starts.length, whole);
  const top = ticks.at(-1) ?? 1;
  const [hovered, hover] = useState<number>();
  const y = (value: number): number => height - (value / top) * height;
  return (
    <section className={classes.chart} aria-label={title}>
      <Group justify="space-between" gap="xs">
        <Title order={3} size="h5">
          {title}
        </Title>
        {choice}
      </Group>
      <Text size="sm" c="dimmed">
        {summary}
      </Text>
      <div className={classes.plot}>
        <div className={classes.ticks} aria-hidden="true">
          {ticks.map((value) => (
            <span key={value}>{tick(value)}</span>
          ))}
        </div>
        {/* The table has the same values and links. */}
        <svg
          viewBox={`0 0 ${width * Math.max(starts.length, 1)} ${height}`}
          preserveAspectRatio="none"
          aria-hidden="true"
          onMouseLeave={() => hover(undefined)}
        >
          {ticks.map((value) => (
            <line key={value} x2={width * starts.length} y1={y(value)} y2={y(value)} className={classes.line} />
          ))}
          {starts.map((start, i) => (
            // biome-ignore lint/a11y/noStaticElementInteractions: only shows the values that the table has
            <g key={start} onMouseEnter={() => hover(i)}>
              <rect x={i * width} width={width} height={height} className={classes.hour} />
              {barOf(series, i).map(({ name, color, target, from, to }) => {
                const segment = (
                  <rect
                    key={name}
                    x={i * width + gap / 2}
                    width={width - gap}
                    y={y(to)}
                    height={((to - from) / top) * height}
                    style={{ fill: color }}
                  />
                );
                return target ? (
                  <Link key={name} {...linkTo(target(periodOf(starts, i)))} preload={false} tabIndex={-1}>
                    {segment}
                  </Link>
                ) : (
                  segment
                );
              })}
            </g>
          ))}
        </svg>
        {hovered !== undefined && <Values range={range} starts={starts} series={series} bar={hovered} format={format} />}
        <div className={classes.hours} aria-hidden="true">
          {starts.map((start, i) => (
            <span key={start}>{markOf(range, start, i)}</span>
          ))}
        </div>
      </div>
      <Legend starts={starts} series={series} format={format} sums={sums ?? false} />
      <details className={classes.numbers}>
        <summary>As a table</summary>
        <Numbers title={title} range={range} starts={starts} series={series} format={format} />
      </details>
    </section>
  );
}

/** The time of count bars from one on. */
function periodOf(starts: readonly string[], from: number, count = 1): Period {
  return { start: starts[from] ?? '', end: starts[from + count] };
}

/** The properties of a link. */
const linkTo = ({ to, search }: Target) => ({ to, search: search as never });

type Part = Pick<BarsProps, 'starts' | 'series' | 'format'>;

function Legend({ starts, series, format, sums }: Part & { sums: boolean }) {
  return (
    <ul className={classes.legend}>
      {series.map((one) => (
        <li key={one.name}>
          <span className={classes.key} style={{ background: one.color }} aria-hidden="true" />
          {one.target ? (
            <Anchor component={Link} {...linkTo(one.target(periodOf(starts, 0, starts.length)))} inherit>
              {one.name}
            </Anchor>
          ) : (
            one.name
          )}
          {sums && ` ${format(totalOf(one))}`}
        </li>
      ))}
    </ul>
  );
}

/** The values of the bar under the pointer. The table has them for others. */
function Values({ range, starts, series, bar, format }: Part & { range: Range; bar: number }) {
  const of = starts.length;
  const side = bar < of / 2 ? { left: `${((bar + 1) / of) * 100}%` } : { right: `${(1 - bar / of) * 100}%` };
  return (
    <div className={classes.over} aria-hidden="true">
      <div className={classes.values} style={side}>
        <strong>{labelOf(range, starts[bar] ?? '')}</strong>
        {series.map(({ name, color, values }) => (
          <div key={name}>
            <span className={classes.key} style={{ background: color }} />
            {name}: {format(values[bar] ?? 0)}
          </div>
        ))}
      </div>
    </div>
  );
}

function Numbers({ title, range, starts, series, format }: Part & { title: string; range: Range }) {
  return (
    <table aria-label={title}>
      <thead>
        <tr>
          <th scope="col">From</th>
          {series.map(({ name }) => (
            <th scope="col" key={name}>
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {starts.map((start, i) => (
          <tr key={start}>
            <th scope="row">
              <time dateTime={start}>{labelOf(range, start)}</time>
            </th>
            {series.map(({ name, values, target }) => {
              const text = format(values[i] ?? 0);
              return <td key={name}>{target && values[i] ? <Link {...linkTo(target(periodOf(starts, i)))}>{text}</Link> : text}</td>;
            })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
