/** Line icons of 16 by 16. */
const shapes = {
  alert: 'M8 2 1.5 13.5h13zM8 6.5v3M8 11.5v.2',
  ban: 'M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8M3.7 3.7l8.6 8.6',
  bolt: 'M9 1.5 3.5 9H8l-1 5.5L12.5 7H8z',
  branch:
    'M4.5 1.8a1.7 1.7 0 1 0 0 3.4 1.7 1.7 0 0 0 0-3.4M4.5 10.8a1.7 1.7 0 1 0 0 3.4 1.7 1.7 0 0 0 0-3.4M11.5 2.8a1.7 1.7 0 1 0 0 3.4 1.7 1.7 0 0 0 0-3.4M4.5 5.2v5.6M11.5 6.2c0 3-4 2.5-6.4 4.8',
  check: 'M2.5 8.5 6 12l7.5-8',
  chevron: 'm6 3.5 4.5 4.5L6 12.5',
  clock: 'M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8M8 4.5V8l2.5 1.5',
  coin: 'M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8M10 5.6C9.6 4.9 8.9 4.6 8 4.6c-1.2 0-2 .6-2 1.6 0 2.3 4 1.3 4 3.6 0 1-.8 1.6-2 1.6-.9 0-1.7-.4-2.1-1.2M8 3.4v9.2',
  copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
  cross: 'm3.5 3.5 9 9M12.5 3.5l-9 9',
  external: 'M6.5 3.5h-4v10h10v-4M9 2.5h4.5V7M13.5 2.5 7.5 8.5',
  factory: 'M2 13.5v-7l4 2.5V6.5L10 9V2.5h3.5v11z',
  file: 'M4 1.8h5l3.5 3.5v8.9H4zM9 1.8v3.5h3.5',
  filter: 'M2 3h12L9.5 8.5V13l-3-1.5v-3z',
  gear: 'M8 5.8a2.2 2.2 0 1 0 0 4.4 2.2 2.2 0 0 0 0-4.4M8 1.5v2M8 12.5v2M1.5 8h2M12.5 8h2M3.4 3.4l1.4 1.4M11.2 11.2l1.4 1.4M3.4 12.6l1.4-1.4M11.2 4.8l1.4-1.4',
  home: 'M2 8 8 2.5 14 8M3.5 7v6.5h9V7',
  key: 'M5 7.5a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6M7 8.3l6-6M10.5 4.8l2 2',
  link: 'M6.5 9.5a2.5 2.5 0 0 0 3.5 0l3-3a2.5 2.5 0 0 0-3.5-3.5L8.5 4M9.5 6.5a2.5 2.5 0 0 0-3.5 0l-3 3A2.5 2.5 0 0 0 6.5 13l1-1',
  lock: 'M3.5 7h9v7h-9zM5.5 7V4.5a2.5 2.5 0 0 1 5 0V7',
  moon: 'M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7',
  pause: 'M5 3v10M11 3v10',
  play: 'M4.5 2.5v11l9-5.5z',
  plus: 'M8 2.5v11M2.5 8h11',
  runs: 'M2.5 4h11M2.5 8h11M2.5 12h7',
  search: 'M7 2.2a4.8 4.8 0 1 0 0 9.6 4.8 4.8 0 0 0 0-9.6M10.5 10.5l3.5 3.5',
  server: 'M2 3h12v4H2zM2 9h12v4H2zM4.5 5h.2M4.5 11h.2',
  sun: 'M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6M8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M3 13l1-1M12 4l1-1',
  terminal: 'M1.8 2.8h12.4v10.4H1.8zM4 6l2 2-2 2M8 10.5h3.5',
  user: 'M8 2.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6M2.5 14c.5-3 2.7-4.5 5.5-4.5s5 1.5 5.5 4.5',
  wait: 'M4 1.8h8M4 14.2h8M5 2v2.5L11 11.5V14M11 2v2.5L5 11.5V14',
} as const;

export type IconName = keyof typeof shapes;

/** A decorative icon. Screen readers skip it, because the text beside it says the same. */
export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.4"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={shapes[name]} />
    </svg>
  );
}
