/**
 * Migrations whose columns a server of an older version cannot keep, so that the database refuses its changes. All others only
 * add, and older servers go on.
 */
const REFUSING = ["0017_running_sums.sql"];
const FIRST = "0001_ledger.sql";

/**
 * What becomes of servers that still run an older version once these migrations are applied.
 * @returns undefined where there is no such server: nothing was applied, or the database is new
 */
export function olderServersAfter(migrations: readonly string[]): { go: "on" | "refused"; notice: string } | undefined {
  if (migrations.length === 0 || migrations.includes(FIRST)) return undefined;
  const refusing = migrations.filter((name) => REFUSING.includes(name));
  if (refusing.length === 0)
    return { go: "on", notice: "Servers of the older version go on: restart them one after the other" };
  const notice = `From ${refusing.join(", ")} on changes of servers of the older version are refused: restart each of them now`;
  return { go: "refused", notice };
}
