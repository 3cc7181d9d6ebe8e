import type { Api, WireResult } from "../../contract/operations.ts";
import { canonicalJson } from "../../domain/audit/audit-link.ts";
import { kycVerdict } from "../../domain/policy/kyc-verdict.ts";
import { counted, isolated, shellWord } from "../../domain/text.ts";
import { DAY_MS } from "../../domain/time/units.ts";
import { pmctlAbout } from "../terminal-line.ts";
import type { Scope, Waiting } from "./item.ts";
import { proposedUsd, proposedWork, type Subjects } from "./proposed.ts";

/** An expiry within this time is urgent. */
const URGENT_MS = 2 * DAY_MS;

/** An older backup would lose more than a week of rows that no log can replay. */
const OLD_BACKUP_MS = 7 * DAY_MS;

/** @param more further facts; null where one is not stated */
export function item(
  kind: Waiting["kind"],
  severity: Waiting["severity"],
  [id, title]: readonly [id: string, title: string],
  { amountUsd = null, since = null, dueAt = null, commands }: Partial<Waiting> & Pick<Waiting, "commands">,
): Waiting {
  return { kind, severity, id, title, amountUsd, since, dueAt, commands };
}

/** The command lines that settle a market by hand, one for each outcome. */
export function settlingOf(market: string, tenant: string): string[] {
  return ["yes", "no"].map((outcome) => `pmctl market settle ${market} --outcome ${outcome} -t ${tenant}`);
}

type Risk = WireResult<"listRisk">[number];
type Hold = WireResult<"listHeldMarkets">[number];

/** Markets that a person has to settle, from one answer about all of them. */
export function waitingMarkets(tenant: string, risks: readonly Risk[], holds: readonly Hold[]): Waiting[] {
  const holdOf = new Map(holds.map((hold) => [hold.marketId, hold]));
  return risks.map(({ marketId: id, question, closeAt = null, yesPayout, noPayout }) => {
    const hold = holdOf.get(id);
    const why = hold ? `held, ${hold.reason}` : "closed, and no oracle settles it";
    return item(hold ? "market.held" : "market.closed", "warn", [id, `${isolated(question)}: ${why}`], {
      amountUsd: Math.max(yesPayout, noPayout),
      since: hold ? hold.heldAt : closeAt,
      commands: [...settlingOf(id, tenant), `pmctl market show ${id} -t ${tenant}`],
    });
  });
}

export function waitingWithdrawals(tenant: string, withdrawals: WireResult<"listWithdrawals">["items"]): Waiting[] {
  return withdrawals.map(({ withdrawalId, userId, amount, createdAt }) =>
    item("withdrawal", "warn", [withdrawalId, `${isolated(userId)} withdraws $${amount}`], {
      amountUsd: amount,
      since: createdAt,
      // Without the required reason, which only a person knows: the command asks for it.
      commands: ["approve", "reject"].map((verb) => `pmctl funding ${verb} ${withdrawalId} -t ${tenant}`),
    }),
  );
}

type Proposal = WireResult<"listProposals">["items"][number];

/** A server executes a due proposal within seconds; after this time it was refused, or no server runs. */
const EXECUTED_WITHIN_MS = 10_000;

/** What a pending proposal waits for. One that is overdue could not be executed when its time came. */
export function proposalWaitsFor(
  { kind, approvals, approvalsNeeded, objections, finalAt }: Proposal,
  now: number,
): "approval" | "hand" | "overdue" | "time" {
  if (approvals.length < approvalsNeeded) return "approval";
  if (objections > 0 || kind === "key") return "hand";
  const dueAt = Math.max(Date.parse(finalAt), ...approvals.map(({ at }) => Date.parse(at)));
  return now >= dueAt + EXECUTED_WITHIN_MS ? "overdue" : "time";
}

/** Proposals that wait for an approval, for a person to execute them, or for their time. Those that wait for their time alone are only information. */
export function waitingProposals(
  tenant: string,
  proposals: readonly Proposal[],
  now: number,
  subjects?: Subjects,
): Waiting[] {
  return proposals.map((proposal) => {
    const { proposalId, marketId, approvals, approvalsNeeded, objections, finalAt, proposedBy } = proposal;
    const waitsFor = proposalWaitsFor(proposal, now);
    const standing = [
      `${approvals.length} of ${counted(approvalsNeeded, "approval")}`,
      ...(objections > 0 ? [counted(objections, "objection")] : []),
      ...(waitsFor === "overdue" ? ["its time has come, but it could not be executed"] : []),
    ].join(", ");
    const verbs = [
      ...(waitsFor === "approval" ? ["approve"] : waitsFor === "time" ? [] : ["execute"]),
      "reject",
      "show",
    ];
    return item(
      marketId === null ? "proposal" : "market.proposed",
      waitsFor === "time" ? "info" : "warn",
      [proposalId, `${isolated(proposedBy)} proposes to ${proposedWork(proposal, subjects)}: ${standing}`],
      {
        amountUsd: proposedUsd(proposal, subjects),
        since: proposal.proposedAt,
        dueAt: Date.parse(finalAt) > now ? finalAt : null,
        commands: verbs.map((verb) => `pmctl proposal ${verb} ${proposalId} -t ${tenant}`),
      },
    );
  });
}

/** An older check with an unknown status is history. */
const CHECKS_MS = 30 * DAY_MS;

/** Users whose last check neither passed nor failed, or failed soon after one that passed, without a decision. */
export async function undecidedChecks(tenant: string, api: Api, now: number): Promise<Waiting[]> {
  const since = new Date(now - CHECKS_MS).toISOString();
  const { entries } = await api.listAudit({ type: "kyc.unrecognised", since, limit: 200 });
  const latest = new Map(entries.toReversed().map((entry) => [String(entry.payload.userId), entry]));
  const undecided: Waiting[] = [];
  for (const [userId, { seq, ts, payload }] of latest) {
    const { entries: decisions } = await api.listAudit({ type: "kyc.updated", userId, limit: 2 });
    // The review itself follows its cause in the log.
    if (decisions.some((decision) => decision.seq > seq && decision.payload.status !== "review")) continue;
    const isPassed = kycVerdict(String(payload.status)) === "passed";
    const why = isPassed ? "before a failure that stands" : "which is neither passed nor failed";
    const [provider, status] = [String(payload.provider), isolated(String(payload.status))];
    const said = `${isolated(provider)} says ${JSON.stringify(status)}, ${why}`;
    const sets = [`userId=${userId}`, `provider=${provider}`].map((each) => `--set ${shellWord(each)}`);
    undecided.push(
      item("kyc", "warn", [userId, `${isolated(userId)}: ${said}`], {
        since: ts,
        commands: [
          pmctlAbout(tenant, userId, "user", "show"),
          `pmctl webhook send kyc.passed ${sets.join(" ")} --as-provider -t ${tenant}`,
        ],
      }),
    );
  }
  return undecided;
}

/** Temporary values of the policy that end before `until`. */
export function endingOverrides(
  tenant: string,
  overrides: WireResult<"getConfig">["overrides"],
  until: number,
): Waiting[] {
  return overrides
    .filter((each) => Date.parse(each.until) <= until)
    .map(({ field, value, until: dueAt }) =>
      item("override", "info", [field, `policy.${field} is ${canonicalJson(value)} for a while, and then as before`], {
        dueAt,
        commands: [`pmctl policy show -t ${tenant}`],
      }),
    );
}

/** A freeze in force, whatever its end: no other view shows that changes wait behind it. */
export function standingFreeze(tenant: string, freeze: WireResult<"getConfig">["freeze"] | undefined): Waiting[] {
  const { frozenUntil = null, reason, by } = freeze ?? {};
  if (frozenUntil === null) return [];
  const commands = [`pmctl freeze ${tenant}`, `pmctl freeze ${tenant} --off`];
  return [
    item(
      "freeze",
      "info",
      [tenant, `Applies are blocked: frozen by ${isolated(String(by))}, "${isolated(String(reason))}"`],
      {
        dueAt: frozenUntil,
        commands,
      },
    ),
  ];
}

/** API keys that expire before `until`, except those that were rotated: a later value has the same name. */
export function expiringKeys(
  tenant: string,
  keys: WireResult<"getConfig">["keys"],
  { now, until }: { now: number; until: number },
): Waiting[] {
  const endOf = (expiresAt: string | null) => (expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt));
  const lasts = Map.groupBy(keys, ({ type, name }) => `${type}:${name}`);
  return keys.flatMap(({ name, type, expiresAt }): Waiting[] => {
    if (expiresAt === null || Date.parse(expiresAt) > until) return [];
    const values = lasts.get(`${type}:${name}`) ?? [];
    if (values.some((value) => endOf(value.expiresAt) > Date.parse(expiresAt))) return [];
    return [
      item(
        "key",
        Date.parse(expiresAt) - now < URGENT_MS ? "critical" : "warn",
        [name, `The ${type} key ${name} expires`],
        {
          dueAt: expiresAt,
          commands: [`pmctl key list -t ${tenant}`, `pmctl key rotate ${name} -t ${tenant}`],
        },
      ),
    ];
  });
}

/**
 * A certificate of the tenant file, if it expires before `until`.
 * @param section such as `server.tls`
 * @param expires in milliseconds since 1970
 */
export function expiringCertificate(section: string, expires: number, { tenant, now, until }: Scope): Waiting[] {
  if (expires > until) return [];
  const title = "The certificate expires; the server loads a renewed file by itself";
  return [
    item("certificate", expires - now < URGENT_MS ? "critical" : "warn", [section, title], {
      dueAt: new Date(expires).toISOString(),
      commands: [`pmctl doctor ${tenant}`],
    }),
  ];
}

/** @param lastAt in ISO 8601; null where this directory wrote no backup */
export function missingBackup(tenant: string, lastAt: string | null, now: number): Waiting[] {
  if (lastAt !== null && now - Date.parse(lastAt) < OLD_BACKUP_MS) return [];
  const title =
    lastAt === null ? "No backup was written from this directory" : "The last backup is more than a week old";
  const commands = [`pmctl db backup -t ${tenant}`];
  return [item("backup", lastAt === null ? "info" : "warn", [tenant, title], { since: lastAt, commands })];
}

type Receiver = WireResult<"listWebhookReceivers">[number];

/** Fewer failures in a row may be a blip. */
const FAILING_AFTER = 3;

/** Whether a receiver that gets events fails to take them now. */
export function isFailing({ enabled, failures }: Receiver): boolean {
  return enabled && failures >= FAILING_AFTER;
}

/** Receivers of webhooks that are disabled, fail now, or missed events. */
export function failingReceivers(tenant: string, receivers: readonly Receiver[]): Waiting[] {
  return receivers.flatMap((receiver): Waiting[] => {
    const { name, enabled, disabledAt, dead, pending, failures } = receiver;
    const state = [
      ...(enabled ? [] : ["is disabled since it answered 410"]),
      ...(isFailing(receiver) ? [`its last ${failures} attempts failed`] : []),
      ...(dead === 0 ? [] : [`${counted(dead, "event")} given up`]),
    ];
    if (state.length === 0) return [];
    return [
      item("receiver", "warn", [name, `The receiver ${name}: ${state.join(", ")}, ${pending} on their way`], {
        since: disabledAt,
        commands: [
          `pmctl webhook deliveries --receiver ${name} --status ${dead > 0 ? "dead" : "pending"} -t ${tenant}`,
        ],
      }),
    ];
  });
}

export function brokenChain(tenant: string, { verified, problem }: WireResult<"getAuditStatus">): Waiting[] {
  if (verified && problem === null) return [];
  const where = problem === null ? "" : ` at entry ${problem.seq}: ${problem.text}`;
  const commands = [`pmctl audit verify -t ${tenant}`, `pmctl audit status -t ${tenant}`];
  const id = problem === null ? "audit" : String(problem.seq);
  return [item("chain", "critical", [id, `The audit log does not hold${where}`], { commands })];
}

export function unbalancedLedger(tenant: string, checks: WireResult<"explainLedger">): Waiting[] {
  const off = checks.filter(({ ok }) => !ok);
  if (off.length === 0) return [];
  const amountUsd = off.reduce((sum, check) => (check.unit === "usd" ? sum + check.discrepancy : sum), 0);
  const title = `The ledger does not add up: ${off.map(({ name }) => name).join(", ")}`;
  const commands = [`pmctl reconcile --explain -t ${tenant}`];
  return [item("ledger", "critical", ["ledger", title], { amountUsd, commands })];
}

/** A tenant that cannot be examined, or a part of it. */
export function unreachable(tenant: string, problem: string, command = `pmctl doctor ${tenant}`): Waiting {
  return item("unreachable", "critical", [tenant, problem], { commands: [command] });
}
