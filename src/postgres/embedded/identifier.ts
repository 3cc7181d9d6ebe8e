/** A name as it stands in a statement. Quoted by hand: the driver's identifier helper splits a name at its dots. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
