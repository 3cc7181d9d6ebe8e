/** Whether a code names a jurisdiction: `US` covers `US-NY`, never the other way round. */
export function covers(code: string, jurisdiction: string): boolean {
  return jurisdiction === code || jurisdiction.startsWith(`${code}-`);
}

/** Whether a list covers all that a code covers. */
export function isListed(code: string, list: readonly string[]): boolean {
  return list.some((each) => covers(each, code));
}
