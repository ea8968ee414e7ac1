/** The command that creates a key. It must run in the data folder of the server at origin. */
export function keyCommand(origin: string): string {
  return `penstock key create me --scope runs:read --scope runs:write --server ${origin} --key-file admin.key`;
}
