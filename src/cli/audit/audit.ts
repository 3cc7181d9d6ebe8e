import { Option } from "commander";
import type { WireInput, WireResult } from "../../contract/operations.ts";
import { credentialFaultSentence, isCredentialFault } from "../../domain/access/credential-faults.ts";
import { SECURITY_EVENTS } from "../../domain/access/security.ts";
import { Fault } from "../../domain/fault.ts";
import { counted } from "../../domain/text.ts";
import type { CommandContext, CommandModule, Globals, Io } from "../command.ts";
import { defineCommand, verbs } from "../define-command.ts";
import { NOT_CONFIRMED, USES_DATABASE } from "../errors.ts";
import { limitOption } from "../input/paging.ts";
import { count, timeAgo } from "../input/parsers.ts";
import { askReason, mustAsk } from "../input/prompts.ts";
import { orDash, time } from "../output/cells.ts";
import { sanitizeLine } from "../output/text-width.ts";
import { auditList, auditShow, noteOlder, readLog } from "./audit-list.ts";
import { auditRefusals } from "./audit-refusals.ts";
import { auditExport, auditVerify, brokenLog } from "./audit-verify.ts";

/** Ends with 8 (INTEGRITY), after printing, when the chain does not hold, and with 6 for another audit key. */
export const auditStatus = defineCommand({
  name: "status",
  summary: "show the head, the number of entries, and whether the chain holds",
  operation: "getAuditStatus",
  fields: ({ verified, head, count: entries, problem, anchor }) => [
    ["verified", verified ? "yes" : "NO"],
    ["entries", String(entries)],
    ["head", head],
    [problem?.kind ?? "", problem?.text],
    ["newest anchor", anchor ? `entry ${anchor.seq} of ${time(anchor.ts, { seconds: true })}` : "none"],
  ],
  after: ({ verified, problem }) => {
    if (verified) return;
    const { text, ...known } = problem ?? { kind: "broken", text: "pmctl audit verify shows where" };
    throw brokenLog({ ...known, problem: text });
  },
});

export const auditAnchors = defineCommand({
  name: "anchors",
  summary: "list the known anchors, newest entry first, and whether the log still has the entry of each",
  operation: "listAnchors",
  prints: { operation: "listAnchors", rows: "anchors" },
  rows: ({ anchors }) => anchors,
  columns: [
    { title: "ENTRY", cell: ({ seq }) => String(seq), align: "right", whole: true },
    { title: "TIME", cell: ({ ts }) => (ts === null ? "-" : time(ts, { seconds: true })), whole: true },
    { title: "IN THE LOG", cell: ({ standing }) => (standing === "missing" ? "MISSING" : standing), whole: true },
    { title: "PLACES", cell: ({ places }) => places.join(", ") },
    { title: "HASH", cell: ({ hash }) => hash, optional: true },
  ],
  empty: "No anchor is known: a server writes them.",
  after: ({ ignored }, { output }) => {
    for (const fault of ignored) output.note(`Ignored: ${fault}`);
  },
});

interface SecurityOptions {
  since?: string;
  event?: WireInput<"listSecurityEvents">["event"];
  limit?: number;
}

export const auditSecurity = defineCommand({
  name: "security",
  summary: "list refused and noticed access, newest first: wrong keys, tokens and signatures, uses of admin keys",
  takes: (command) =>
    command
      .option("--since <when>", "only from this time on: 24h for the last day, or a time with its zone", timeAgo)
      .addOption(
        new Option("--event <event>", "only this event; key.used stands once per key, address and hour").choices(
          SECURITY_EVENTS,
        ),
      )
      .addOption(limitOption()),
  operation: "listSecurityEvents",
  prints: { operation: "listSecurityEvents", rows: "entries" },
  input: ({ options: { since, event, limit } }: CommandContext<SecurityOptions>) => ({ since, event, limit }),
  call: async ({ limit, ...filter }, api) => {
    const { entries, cursor } = await readLog(limit as number | undefined, (range) =>
      api.listSecurityEvents({ ...filter, ...range }),
    );
    return { entries, cursor };
  },
  rows: ({ entries }) => entries,
  columns: [
    { title: "TIME", cell: ({ ts }) => time(ts, { seconds: true }), whole: true },
    { title: "EVENT", cell: ({ event }) => event, whole: true },
    { title: "REASON", cell: ({ reason, detail }) => (detail === null ? reason : `${reason}: ${detail}`), whole: true },
    { title: "COUNT", cell: ({ count }) => String(count), align: "right", whole: true },
    { title: "ADDRESS", cell: ({ address }) => orDash(address), whole: true },
    {
      title: "KEY",
      cell: ({ keyName, fingerprint }) => orDash(keyName ?? fingerprint),
      optional: true,
      identifies: true,
    },
    { title: "ROUTE", cell: ({ route }) => orDash(route), optional: true },
  ],
  empty: "Nothing was noticed.",
  after: (page, io) => {
    noteOlder(page, io);
    noteFaults(page, io);
  },
});

/** Explains refused tokens and signatures and what their issuer can do, once for each fault. */
function noteFaults({ entries }: WireResult<"listSecurityEvents">, { output }: Io): void {
  if (output.format !== "table") return;
  for (const fault of new Set(entries.map(({ detail }) => detail)))
    if (isCredentialFault(fault)) output.note(`${fault}: ${credentialFaultSentence(fault)}`);
}

const acceptRollback: CommandModule = {
  register: (noun, host) =>
    host.add(
      noun
        .command("accept-rollback")
        .description("accept a log that was set back: its lost entries are given up, on record; needs --reason"),
      {
        names: "anchor head lost seq",
        ends: { ...USES_DATABASE, 3: NOT_CONFIRMED, 8: "the log is broken in another way" },
      },
      async ({ options, io }) => {
        const reason = await reasonAtDatabase(options, io, "Giving up lost entries");
        const asks = mustAsk(options, io.prompts);
        const { acceptSetBack } = await import("../../app/audit/accept.ts");
        const accepted = await acceptSetBack({ tenant: options.tenant, reason }, async ({ lost, anchor }, tenant) => {
          if (!asks) return;
          io.output.note(
            `At least ${counted(lost, "entry is", "entries are")} gone for good: ${anchor.source}, entry ${anchor.seq}.`,
          );
          await io.prompts.type("To go on without them, type the tenant's name", tenant);
        });
        await io.output.print(accepted, {
          kind: "record",
          fields: ({ anchor, head, lost, seq }) => [
            ["given up", anchor ? `entry ${anchor.seq} ${anchor.hash}` : "nothing"],
            ["head", `entry ${head.seq} ${head.hash}`],
            ["entries lost", String(lost)],
            ["on record as", seq === null ? "nothing" : `entry ${seq}`],
          ],
        });
        if (accepted.seq === null) io.output.note("The log was not set back: nothing was changed.");
      },
    ),
};

const acceptFinding: CommandModule = {
  register: (noun, host) =>
    host.add(
      noun
        .command("accept-finding")
        .argument("<seq>", "the entry's number, as reconcile --explain shows it under record", count)
        .description("accept an entry that the engine would have decided otherwise, on record; needs --reason"),
      {
        names: "entry findings seq",
        ends: { ...USES_DATABASE, 3: NOT_CONFIRMED, 8: "the log is broken in another way" },
      },
      async ({ options, args: [seq], io }) => {
        const reason = await reasonAtDatabase(options, io, "Leaving the entry as it is");
        const asks = mustAsk(options, io.prompts);
        const app = await import("../../app/audit/accept.ts");
        const asked = { tenant: options.tenant, reason, entry: Number(seq) };
        const accepted = await app.acceptFinding(asked, async (findings, tenant) => {
          if (!asks) return;
          for (const finding of findings) io.output.note(sanitizeLine(finding));
          await io.prompts.type("To leave the entry as it is, type the tenant's name", tenant);
        });
        await io.output.print(accepted, {
          kind: "record",
          fields: ({ entry, findings, seq: recorded }) => [
            ["accepted", `entry ${entry}`],
            ...findings.map((text) => ["found in it", text] as const),
            ["on record as", `entry ${recorded}`],
          ],
        });
      },
    ),
};

/**
 * Only the database accepts: an admin key of a server is not enough.
 * @throws Fault USAGE for HTTP, or without a reason
 */
async function reasonAtDatabase(options: Globals, { prompts }: Pick<Io, "prompts">, what: string): Promise<string> {
  if (options.via === "http" || options.url !== undefined)
    throw new Fault("USAGE", "This command works at the database: leave out --url and --via http");
  const { checkReason } = await import("../../app/tenant/actor.ts");
  const reason = await askReason(options, prompts, what);
  checkReason(reason);
  return reason;
}

export const register = verbs(
  auditList,
  auditShow,
  auditStatus,
  auditAnchors,
  auditSecurity,
  auditRefusals,
  auditVerify,
  auditExport,
  acceptRollback,
  acceptFinding,
);
