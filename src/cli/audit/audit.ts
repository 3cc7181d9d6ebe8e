import { type Command, Option } from "commander";
import type { AcceptedFinding, AcceptedSetBack } from "../../app/audit/accept.ts";
import type { Api, WireInput, WireResult } from "../../contract/operations.ts";
import { SECURITY_EVENTS } from "../../domain/access/security.ts";
import { Fault } from "../../domain/fault.ts";
import { type Globals, type Host, type Io, withSession } from "../command.ts";
import { defineCommand } from "../define-command.ts";
import { DEFAULT_LIMIT, limitOption, readPages } from "../input/paging.ts";
import { count, timeAgo } from "../input/parsers.ts";
import { mustAsk } from "../input/prompts.ts";
import { orDash, time } from "../output/cells.ts";
import type { View } from "../output/output.ts";
import { sanitizeLine } from "../output/text-width.ts";
import { auditShow, registerList } from "./audit-list.ts";
import { brokenLog, registerExport, registerVerify } from "./audit-verify.ts";

type SecurityPage = WireResult<"listSecurityEvents">;
type SecurityEntry = SecurityPage["entries"][number];

export function register(noun: Command, host: Host): void {
  registerList(noun, host);
  auditShow.register(noun, host);
  auditStatus.register(noun, host);
  registerSecurity(noun, host);
  registerVerify(noun, host);
  registerExport(noun, host);
  registerAcceptances(noun, host);
}

/** Ends with 8, INTEGRITY, after printing, when the chain does not hold, and with 6 when the audit key is another one. */
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
    const { text, ...known } = problem ?? { kind: "broken", text: "pmctl audit verify shows where" };
    throw brokenLog({ ...known, problem: text });
  },
});

interface SecurityOptions {
  since?: string | undefined;
  event?: WireInput<"listSecurityEvents">["event"];
  limit?: number | undefined;
}

function registerSecurity(noun: Command, host: Host): void {
  host.add<SecurityOptions>(
    noun
      .command("security")
      .description(
        "what the server refused and noticed: wrong keys, tokens and signatures, uses of admin keys; newest first",
      )
      .option("--since <when>", "only from this time on: 24h for the last day, or a time with its zone", timeAgo)
      .addOption(new Option("--event <event>", "only this event").choices(SECURITY_EVENTS))
      .addOption(limitOption()),
    { operation: "listSecurityEvents", rows: "entries" },
    ({ options, io }) => withSession(options, io, (session) => runAuditSecurity(options, session.api(), io)),
  );
}

const securityView: View<SecurityPage, SecurityEntry> = {
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

async function runAuditSecurity(options: SecurityOptions, api: Api, { output }: Io): Promise<void> {
  const { since, event, limit = DEFAULT_LIMIT } = options;
  const { items: entries, nextCursor: cursor } = await readPages(limit, async (page) => {
    const { entries: items, cursor: nextCursor } = await api.listSecurityEvents({ since, event, ...page });
    return { items, nextCursor };
  });
  await output.print({ entries, cursor }, securityView);
  if (cursor !== null && output.format === "table") output.note("There are older entries: raise --limit.");
}

const setBackView: View<AcceptedSetBack, AcceptedSetBack> = {
  kind: "record",
  fields: ({ anchor, head, lost, seq }) => [
    ["given up", anchor ? `entry ${anchor.seq} ${anchor.hash}` : "nothing"],
    ["head", `entry ${head.seq} ${head.hash}`],
    ["entries lost", String(lost)],
    ["on record as", seq === null ? "nothing" : `entry ${seq}`],
  ],
};

const findingView: View<AcceptedFinding, AcceptedFinding> = {
  kind: "record",
  fields: ({ entry, findings, seq }) => [
    ["accepted", `entry ${entry}`],
    ...findings.map((text): [string, string] => ["found in it", text]),
    ["on record as", `entry ${seq}`],
  ],
};

function registerAcceptances(noun: Command, host: Host): void {
  host.add(
    noun
      .command("accept-rollback")
      .description("go on with a log that was set back: its lost entries are given up, on record; needs --reason"),
    { names: "anchor head lost seq" },
    ({ options, io }) => runAcceptRollback(options, io),
  );
  host.add(
    noun
      .command("accept-finding")
      .argument("<seq>", "the entry's number, as reconcile --explain shows it under record", count)
      .description("go on with an entry that the engine would have decided otherwise, on record; needs --reason"),
    { names: "entry findings seq" },
    ({ options, args: [seq], io }) => runAcceptFinding(Number(seq), options, io),
  );
}

/** @throws Fault INTEGRITY when the chain itself does not hold; USAGE as {@link reasonAtDatabase} */
async function runAcceptRollback(options: Globals, io: Io): Promise<void> {
  const reason = await reasonAtDatabase(options, "the lost entries are given up");
  const asks = mustAsk(options, io.prompts);
  const { acceptSetBack } = await import("../../app/audit/accept.ts");
  const accepted = await acceptSetBack({ tenant: options.tenant, reason }, async ({ lost, anchor }, tenant) => {
    if (!asks) return;
    io.output.note(`At least ${lost} entries are gone for good: ${anchor.source}, entry ${anchor.seq}.`);
    await io.prompts.type("To go on without them, type the tenant's name", tenant);
  });
  await io.output.print(accepted, setBackView);
  if (accepted.seq === null) io.output.note("The log was not set back: nothing was changed.");
}

/** @throws Fault NOT_FOUND where nothing is found in the entry; otherwise as {@link runAcceptRollback} */
async function runAcceptFinding(entry: number, options: Globals, io: Io): Promise<void> {
  const reason = await reasonAtDatabase(options, "the entry stays as it is");
  const asks = mustAsk(options, io.prompts);
  const { acceptFinding } = await import("../../app/audit/accept.ts");
  const accepted = await acceptFinding({ tenant: options.tenant, reason, entry }, async (findings, tenant) => {
    if (!asks) return;
    for (const finding of findings) io.output.note(sanitizeLine(finding));
    await io.prompts.type("To leave the entry as it is, type the tenant's name", tenant);
  });
  await io.output.print(accepted, findingView);
}

/**
 * What is accepted is accepted at the database: an admin key of a server is not enough for it.
 * @throws Fault USAGE for another way, or without a reason
 */
async function reasonAtDatabase(options: Globals, what: string): Promise<string> {
  if (options.via === "http" || options.url !== undefined)
    throw new Fault("USAGE", "This is accepted at the database: leave out --url and --via http");
  const { checkReason } = await import("../../app/tenant/actor.ts");
  const reason = checkReason(options.reason);
  if (reason === undefined) throw new Fault("USAGE", `Say why ${what}: add --reason TEXT`);
  return reason;
}
