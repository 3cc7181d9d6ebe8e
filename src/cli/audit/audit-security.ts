import { type Command, Option } from "commander";
import type { Api, WireInput, WireResult } from "../../contract/operations.ts";
import { SECURITY_EVENTS } from "../../domain/access/security.ts";
import { type Host, type Io, withSession } from "../command.ts";
import { EXIT, type ExitCode } from "../errors.ts";
import { DEFAULT_LIMIT, limitOption, readPages } from "../input/paging.ts";
import { past } from "../input/parsers.ts";
import { orDash, time } from "../output/cells.ts";
import type { View } from "../output/output.ts";

type Page = WireResult<"listSecurityEvents">;
type Entry = Page["entries"][number];

export interface SecurityOptions {
  since?: string | undefined;
  event?: WireInput<"listSecurityEvents">["event"];
  limit?: number | undefined;
}

export function registerSecurity(noun: Command, host: Host): void {
  host.add<SecurityOptions>(
    noun
      .command("security")
      .description(
        "what the server refused and noticed: wrong keys, tokens and signatures, uses of admin keys; newest first",
      )
      .option("--since <when>", "only from this time on: 24h for the last day, or a date", past)
      .addOption(new Option("--event <event>", "only this event").choices(SECURITY_EVENTS))
      .addOption(limitOption()),
    { operation: "listSecurityEvents", rows: "entries" },
    ({ options, io }) => withSession(options, io, (session) => runAuditSecurity(options, session.api(), io)),
  );
}

const securityView: View<Page, Entry> = {
  kind: "list",
  rows: ({ entries }) => entries,
  columns: [
    { title: "TIME", cell: ({ ts }) => time(ts, { seconds: true }), whole: true },
    { title: "EVENT", cell: ({ event }) => event, whole: true },
    { title: "REASON", cell: ({ reason }) => reason, whole: true },
    { title: "COUNT", cell: ({ count }) => String(count), align: "right", whole: true },
    { title: "ADDRESS", cell: ({ address }) => orDash(address), whole: true },
    { title: "KEY", cell: ({ keyName, fingerprint }) => orDash(keyName ?? fingerprint) },
    { title: "ROUTE", cell: ({ route }) => orDash(route) },
  ],
  empty: "Nothing was noticed.",
};

export async function runAuditSecurity(options: SecurityOptions, api: Api, { output }: Io): Promise<ExitCode> {
  const { since, event, limit = DEFAULT_LIMIT } = options;
  const { items: entries, nextCursor: cursor } = await readPages(limit, async (page) => {
    const { entries: items, cursor: nextCursor } = await api.listSecurityEvents({ since, event, ...page });
    return { items, nextCursor };
  });
  await output.print({ entries, cursor }, securityView);
  if (cursor !== null && output.format === "table") output.note("There are older entries: raise --limit.");
  return EXIT.ok;
}
