import type { Command } from "commander";
import type { ApiKey } from "../../engine/rows.ts";
import { orDash, time } from "../cells.ts";
import { isoTime, wallClock } from "../clock.ts";
import { type ExitCode, type Host, type Io, withSession } from "../command.ts";
import { EXIT } from "../errors.ts";
import type { View } from "../output.ts";
import type { Session } from "../session.ts";

/** What may be told of a key. Its value is nowhere. */
interface KeyItem {
  name: string;
  type: "admin" | "public";
  active: boolean;
  createdAt: string;
  expiresAt: string | null;
}

export interface KeyListOptions {
  readKeys: () => Promise<readonly ApiKey[]>;
  /** Milliseconds since the epoch. */
  now: number;
}

export function register(noun: Command, host: Host): void {
  noun
    .command("list")
    .description("names and types, never values; straight from the database")
    .action(
      host.action(({ options, io }) =>
        withSession({ ...options, via: "db" }, io, (session) =>
          runKeyList({ readKeys: () => keysOf(session), now: wallClock() }, io),
        ),
      ),
    );
}

const listView: View<readonly KeyItem[], KeyItem> = {
  kind: "list",
  rows: (keys) => keys,
  columns: [
    { title: "NAME", cell: ({ name }) => name, whole: true },
    { title: "TYPE", cell: ({ type }) => type },
    { title: "ACTIVE", cell: ({ active }) => (active ? "yes" : "no") },
    { title: "CREATED", cell: ({ createdAt }) => time(createdAt), whole: true },
    { title: "EXPIRES", cell: ({ expiresAt }) => orDash(expiresAt && time(expiresAt)), whole: true },
  ],
  empty: "The tenant has no keys yet: pmctl apply puts those of its file in.",
};

export async function runKeyList({ readKeys, now }: KeyListOptions, { output }: Io): Promise<ExitCode> {
  const keys = (await readKeys()).map(
    ({ name, type, createdAt, expiresAt }): KeyItem => ({
      name,
      type,
      active: expiresAt === null || expiresAt > now,
      createdAt: isoTime(createdAt),
      expiresAt: expiresAt === null ? null : isoTime(expiresAt),
    }),
  );
  await output.print(
    keys.toSorted((a, b) => a.name.localeCompare(b.name) || a.createdAt.localeCompare(b.createdAt)),
    listView,
  );
  return EXIT.ok;
}

async function keysOf({ services }: Session): Promise<readonly ApiKey[]> {
  const { listApiKeys } = await import("../../store/load.ts");
  return services ? listApiKeys(services.read) : [];
}
