import type { Command } from "commander";
import type { Api, WireResult } from "../../contract/operations.ts";
import { Fault } from "../../domain/fault.ts";
import { type Host, type Io, withSession } from "../command.ts";
import { defineCommand } from "../define-command.ts";
import { EXIT, type ExitCode } from "../errors.ts";
import { DEFAULT_LIMIT, limitOption, readPages } from "../input/paging.ts";
import { time } from "../output/cells.ts";
import type { View } from "../output/output.ts";
import { registerAcceptRollback } from "./audit-accept.ts";
import { registerSecurity } from "./audit-security.ts";
import { registerExport, registerVerify } from "./audit-verify.ts";

type Page = WireResult<"listAudit">;
type Entry = Page["entries"][number];

export interface ListOptions {
  limit?: number | undefined;
  type?: string | undefined;
  actor?: string | undefined;
}

export function register(noun: Command, host: Host): void {
  host.add<ListOptions>(
    noun
      .command("list")
      .description("entries, newest first")
      .addOption(limitOption())
      .option("--type <type>", "only this type, such as market.settled")
      .option("--actor <actor>", "only this actor, such as admin:ops"),
    { operation: "listAudit", rows: "entries" },
    ({ options, io }) => withSession(options, io, (session) => runAuditList(options, session.api(), io)),
  );
  auditStatus.register(noun, host);
  registerSecurity(noun, host);
  registerVerify(noun, host);
  registerExport(noun, host);
  registerAcceptRollback(noun, host);
}

const listView: View<Page, Entry> = {
  kind: "list",
  rows: ({ entries }) => entries,
  columns: [
    { title: "SEQ", cell: ({ seq }) => String(seq), align: "right", whole: true },
    { title: "TIME", cell: ({ ts }) => time(ts, { seconds: true }), whole: true },
    { title: "TYPE", cell: ({ type }) => type, whole: true },
    { title: "ACTOR", cell: ({ actor }) => actor },
    { title: "ABOUT", cell: ({ payloadText }) => payloadText },
  ],
  empty: "No entry matches.",
};

/** Ends with 8, INTEGRITY, after printing, when the chain does not hold. */
export const auditStatus = defineCommand({
  name: "status",
  summary: "head, count, and whether the chain holds",
  operation: "getAuditStatus",
  input: () => ({}),
  view: {
    kind: "record",
    fields: ({ verified, head, count: entries, problem, anchor }) => [
      ["verified", verified ? "yes" : "NO"],
      ["entries", String(entries)],
      ["head", head],
      ...(problem ? ([[problem.kind, problem.text]] as const) : []),
      ["newest anchor", anchor ? `entry ${anchor.seq} of ${time(anchor.ts, { seconds: true })}` : "none"],
    ],
  },
  after: ({ verified, problem }) => {
    if (verified) return;
    const { kind, text } = problem ?? { kind: "broken", text: "pmctl audit verify shows where" };
    throw new Fault("INTEGRITY", `The audit log does not hold (${kind}): ${text}`);
  },
});

export async function runAuditList(options: ListOptions, api: Api, { output }: Io): Promise<ExitCode> {
  const { type, actor, limit = DEFAULT_LIMIT } = options;
  const { items: entries, nextCursor: cursor } = await readPages(limit, async (page) => {
    const { entries: items, cursor: nextCursor } = await api.listAudit({ type, actor, ...page });
    return { items, nextCursor };
  });
  await output.print({ entries, cursor }, listView);
  if (cursor !== null && output.format === "table") output.note("There are older entries: raise --limit.");
  return EXIT.ok;
}
