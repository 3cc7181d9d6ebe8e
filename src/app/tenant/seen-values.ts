import type { Stats } from "node:fs";
import { readBounded, UnusableFile } from "../../config/bounded-file.ts";
import { areOwn, isOwn } from "../../config/selection/own-files.ts";
import { parseJson } from "../../domain/json/parse-json.ts";
import { wallClockMs } from "../../domain/time/clock.ts";
import { createStateFolder, stateDirectory, statePath, writeWhole } from "../../state/state-directory.ts";

/** The kinds of values that shells complete from the answers of this directory's commands. */
export const SEEN_KINDS = ["markets", "keys", "users"] as const;
export type SeenKind = (typeof SEEN_KINDS)[number];

/** How long a value is offered after an answer showed it. */
const LIFE_MS = 60_000;
/** The most values of each kind that are kept, the latest ones. */
const MOST_VALUES = 5000;
const MOST_KIB = 16 * 1024;

interface Seen {
  /** When all values were read last. */
  refreshedAt: number;
  /** When the last reading of all values began, even if it did not finish. */
  askedAt: number;
  /** Each value with the time at which an answer showed it. */
  values: Record<SeenKind, Record<string, number>>;
}

const nothing = (): Seen => ({ refreshedAt: 0, askedAt: 0, values: { markets: {}, keys: {}, users: {} } });

/**
 * A tenant's names and ids that commands of a directory have shown, in `.pmctl/completion`, for the shell's completion.
 * They only help typing: a file that cannot be written or read, or that another user wrote, is ignored.
 */
export class SeenValues {
  readonly #directory: string;
  readonly #file: string;

  constructor(directory: string, tenant: string) {
    this.#directory = directory;
    this.#file = statePath(directory, "completion", `${tenant}.json`);
  }

  /** The values of the last minute, only those in `prefix`. */
  list(kind: SeenKind, prefix: string): string[] {
    const since = wallClockMs() - LIFE_MS;
    const seen = Object.entries(this.#read().values[kind]);
    return seen.flatMap(([value, at]) => (at >= since && value.startsWith(prefix) && isWord(value) ? [value] : []));
  }

  /**
   * Whether to read all values again: some will expire soon, and no other process has begun to read them. Notes that
   * the caller begins.
   */
  beginRefresh(): boolean {
    const { refreshedAt, askedAt } = this.#read();
    const now = wallClockMs();
    if (refreshedAt > now - LIFE_MS / 2 || askedAt > now - LIFE_MS / 4) return false;
    return this.#write((seen) => ({ ...seen, askedAt: now }));
  }

  /** Notes the values of an answer. */
  note(shown: Partial<Record<SeenKind, readonly string[]>>, isAll = false): void {
    const now = wallClockMs();
    this.#write((seen) => ({
      ...seen,
      refreshedAt: isAll ? now : seen.refreshedAt,
      values: {
        markets: added(seen.values.markets, shown.markets, now),
        keys: added(seen.values.keys, shown.keys, now),
        users: added(seen.values.users, shown.users, now),
      },
    }));
  }

  #read(): Seen {
    try {
      const { bytes } = readBounded(this.#file, MOST_KIB, requireOwn);
      const seen = parseJson(bytes.toString());
      return isSeen(seen) ? seen : nothing();
    } catch {
      return nothing();
    }
  }

  #write(change: (seen: Seen) => Seen): boolean {
    try {
      const folder = createStateFolder(this.#directory, "completion");
      // In another user's folder a link could lead the writing elsewhere.
      if (!areOwn([stateDirectory(this.#directory), folder])) return false;
      writeWhole(this.#file, JSON.stringify(change(this.#read())));
      return true;
    } catch {
      return false;
    }
  }
}

function requireOwn(found: Stats): void {
  if (!isOwn(found)) throw new UnusableFile("belongs to another user");
}

/** Whether a shell takes a value for one word, and no command takes it for an option. */
function isWord(value: string): boolean {
  return /^[^-\p{C}\p{Z}][^\p{C}\p{Z}]{0,254}$/u.test(value);
}

/** The offered values, with the latest at the end. Leaves out texts that are not one word. */
function added(before: Record<string, number>, shown: readonly string[] = [], now: number): Record<string, number> {
  const values = new Map(Object.entries(before).filter(([, at]) => at >= now - LIFE_MS));
  for (const value of shown) {
    values.delete(value);
    if (isWord(value)) values.set(value, now);
  }
  return Object.fromEntries([...values].slice(-MOST_VALUES));
}

function isSeen(value: unknown): value is Seen {
  return (
    typeof value === "object" &&
    value !== null &&
    "values" in value &&
    typeof value.values === "object" &&
    value.values !== null &&
    SEEN_KINDS.every((kind) => typeof Object(value.values)[kind] === "object" && Object(value.values)[kind] !== null)
  );
}
