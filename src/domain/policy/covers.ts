/** Whether a code covers a jurisdiction: `US` covers `US-NY`, never the reverse. */
export function covers(code: string, jurisdiction: string): boolean {
  return jurisdiction === code || jurisdiction.startsWith(`${code}-`);
}

/** Whether a list covers everything that a code covers. */
export function isListed(code: string, list: readonly string[]): boolean {
  return list.some((each) => covers(each, code));
}
