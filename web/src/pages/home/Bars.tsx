import { Text, Title } from '@mantine/core';
import classes from './Bars.module.css';
import { barOf, type Series, ticksOf, totalOf } from './chart.ts';

export interface BarsProps {
  title: string;
  /** A sentence that summarizes the chart for screen readers. */
  summary: string;
  /** The start of each hour. */
  starts: string[];
  series: Series[];
  /** Formats a value. */
  format: (value: number) => string;
  /** Whether the values are counts that can be summed. */
  sums?: boolean;
}

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const [width, height, gap] = [10, 100, 1.5];

/** A bar chart by hour, with the same data as a table. */
export function Bars({ title, summary, starts, series, format, sums }: BarsProps) {
  const ticks = ticksOf(series, starts.length, sums);
  const top = ticks.at(-1) ?? 1;
  return (
    <section className={classes.chart} aria-label={title}>
      <Title order={2} size="h5">
        {title}
      </Title>
      <Text size="sm" c="dimmed">
        {summary}
      </Text>
      <div className={classes.plot}>
        <div className={classes.ticks} aria-hidden="true">
          {ticks.map((tick) => (
            <span key={tick}>{format(tick)}</span>
          ))}
        </div>
        <svg
          viewBox={`0 0 ${width * Math.max(starts.length, 1)} ${height}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${title}: ${summary}`}
        >
          {ticks.map((tick) => (
            <line
              key={tick}
              x2={width * starts.length}
              y1={height - (tick / top) * height}
              y2={height - (tick / top) * height}
              className={classes.line}
            />
          ))}
          {starts.map((start, hour) =>
            barOf(series, hour).map(({ name, colour, from, to }) => (
              <rect
                key={`${start} ${name}`}
                x={hour * width + gap / 2}
                width={width - gap}
                y={height - (to / top) * height}
                height={((to - from) / top) * height}
                style={{ fill: colour }}
              >
                <title>{`${clock.format(new Date(start))} ${name}: ${format(to - from)}`}</title>
              </rect>
            )),
          )}
        </svg>
        <div className={classes.hours} aria-hidden="true">
          {starts.map((start, hour) => (
            <span key={start}>{hour % 4 === 0 ? clock.format(new Date(start)) : ''}</span>
          ))}
        </div>
      </div>
      <ul className={classes.legend}>
        {series.map((one) => (
          <li key={one.name}>
            <span className={classes.key} style={{ background: one.colour }} aria-hidden="true" />
            {one.name}
            {sums && ` ${format(totalOf(one))}`}
          </li>
        ))}
      </ul>
      <details className={classes.numbers}>
        <summary>As a table</summary>
        <Numbers title={title} starts={starts} series={series} format={format} />
      </details>
    </section>
  );
}

function Numbers({ title, starts, series, format }: Pick<BarsProps, 'title' | 'starts' | 'series' | 'format'>) {
  return (
    <table aria-label={title}>
      <thead>
        <tr>
          <th scope="col">Hour</th>
          {series.map(({ name }) => (
            <th scope="col" key={name}>
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {starts.map((start, hour) => (
          <tr key={start}>
            <th scope="row">
              <time dateTime={start}>{clock.format(new Date(start))}</time>
            </th>
            {series.map(({ name, values }) => (
              <td key={name}>{format(values[hour] ?? 0)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
