/** The first words of commands as `pmctl --help` groups them, in the order of an operator's days. */
const GROUPS: readonly (readonly [heading: string, nouns: string])[] = [
  ["Begin:", "init demo doctor inbox"],
  [
    "Configuration:",
    "validate render schema test plan apply drift pull freeze history rollback fleet tenant key policy",
  ],
  ["Serving:", "serve up deploy health logs embed"],
  ["Markets:", "market trade position oracle"],
  ["People and money:", "user suitability funding"],
  ["Reports:", "report risk hedge"],
  ["The record:", "audit story why replay reconcile webhook db"],
  ["The command line:", "completion help version"],
];

/** The heading under which a first word stands; undefined for one that no group names. */
export function helpGroupOf(noun: string): string | undefined {
  return GROUPS.find(([, nouns]) => nouns.split(" ").includes(noun))?.[0];
}

export const HELP_GROUPS = GROUPS.map(([heading]) => heading);
