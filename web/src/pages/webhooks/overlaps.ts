/** How long a secret that was replaced stays valid, in seconds. */
export const overlaps = [
  { value: '0', label: 'Stops at once' },
  { value: '900', label: 'Stays valid for 15 minutes' },
  { value: '3600', label: 'Stays valid for 1 hour' },
  { value: '86400', label: 'Stays valid for 1 day' },
  { value: '604800', label: 'Stays valid for 7 days' },
];
