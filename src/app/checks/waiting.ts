import type { Api, WireResult } from "../../contract/operations.ts";
import { canonicalJson } from "../../domain/audit/audit-link.ts";
import { counted } from "../../domain/text.ts";
import { DAY_MS } from "../../domain/time/units.ts";
import { kycVerdict } from "../../domain/trader.ts";
import type { PlanItem } from "../../plan/plan-types.ts";
import type { Waiting } from "./inbox-item.ts";

/** Less than this before its end, what expires stops something soon. */
const URGENT_MS = 2 * DAY_MS;
/** A backup that is older loses more than a week of what no log replays. */
const OLD_BACKUP_MS = 7 * DAY_MS;

const NOTHING = { amountUsd: null, since: null, dueAt: null };

type WaitingMarket = WireResult<"listMarkets">["items"][number];
type Risk = WireResult<"listRisk">[number];
type Hold = WireResult<"listHeldMarkets">[number];

/** Markets that a person has to settle. */
export function waitingMarkets(
  tenant: string,
  markets: readonly WaitingMarket[],
  risks: readonly Risk[],
  holds: readonly Hold[],
): Waiting[] {
  const riskOf = new Map(risks.map((risk) => [risk.marketId, risk]));
  const holdOf = new Map(holds.map((hold) => [hold.marketId, hold]));
  return markets.map(({ id, question, closeAt }): Waiting => {
    const [risk, hold] = [riskOf.get(id), holdOf.get(id)];
    return {
      kind: hold ? "market.held" : "market.closed",
      severity: "warn",
      id,
      title: hold ? `${question}: held, ${hold.reason}` : `${question}: closed, and no oracle settles it`,
      amountUsd: risk ? Math.max(risk.yesPayout, risk.noPayout) : 0,
      since: hold ? hold.heldAt : closeAt,
      dueAt: null,
      commands: [
        ...["yes", "no"].map((outcome) => `pmctl market settle ${id} --outcome ${outcome} -t ${tenant}`),
        `pmctl market show ${id} -t ${tenant}`,
      ],
    };
  });
}

export function waitingWithdrawals(tenant: string, withdrawals: WireResult<"listWithdrawals">["items"]): Waiting[] {
  return withdrawals.map(({ withdrawalId, userId, amount, createdAt }) => ({
    kind: "withdrawal",
    severity: "warn",
    id: withdrawalId,
    title: `${userId} withdraws $${amount}`,
    amountUsd: amount,
    since: createdAt,
    dueAt: null,
    // Without the reason that they need: only a person has one.
    commands: ["approve", "reject"].map((verb) => `pmctl funding ${verb} ${withdrawalId} -t ${tenant}`),
  }));
}

/** Further back a status that nobody understood is history. */
const CHECKS_MS = 30 * DAY_MS;

/** Users whose last identity check is neither passed nor failed, or was passed shortly before a failure; no later check and no person has decided. */
export async function undecidedChecks(tenant: string, api: Api, now: number): Promise<Waiting[]> {
  const since = new Date(now - CHECKS_MS).toISOString();
  const { entries } = await api.listAudit({ type: "kyc.unrecognised", since, limit: 200 });
  const latest = new Map(entries.toReversed().map((entry) => [String(entry.payload.userId), entry]));
  const undecided: Waiting[] = [];
  for (const [userId, { seq, ts, payload }] of latest) {
    const { entries: decisions } = await api.listAudit({ type: "kyc.updated", userId, limit: 2 });
    // The review itself follows its cause in the log.
    if (decisions.some((decision) => decision.seq > seq && decision.payload.status !== "review")) continue;
    undecided.push({
      ...NOTHING,
      kind: "kyc",
      severity: "warn",
      id: userId,
      title: `${userId}: ${payload.provider} says ${JSON.stringify(payload.status)}, ${
        kycVerdict(String(payload.status)) === "passed"
          ? "before a failure that stands"
          : "which is neither passed nor failed"
      }`,
      since: ts,
      commands: [
        `pmctl user show ${userId} -t ${tenant}`,
        `pmctl webhook send kyc.passed --set userId=${userId} --set provider=NAME --as-provider --reason TEXT -t ${tenant}`,
      ],
    });
  }
  return undecided;
}

/** Managed values that were changed live since the last apply. */
export function waitingDrift(tenant: string, items: readonly PlanItem[]): Waiting[] {
  const drifted = items.filter(({ kind }) => kind === "drift" || kind === "conflict");
  return drifted.map(({ field, kind, live, desired, by }) => ({
    ...NOTHING,
    kind: "drift",
    severity: "warn",
    id: field,
    title: `${field} is ${canonicalJson(live)} live and ${canonicalJson(desired)} in the file${by ? `, by ${by.actor}` : ""}${kind === "conflict" ? "; both were changed" : ""}`,
    since: by?.ts ?? null,
    commands: [`pmctl drift ${tenant}`, `pmctl drift ${tenant} --write`, `pmctl plan ${tenant} --on-drift overwrite`],
  }));
}

/** Temporary values of the policy that end before `until`. */
export function endingOverrides(
  tenant: string,
  overrides: WireResult<"getConfig">["overrides"],
  until: number,
): Waiting[] {
  return overrides
    .filter((each) => Date.parse(each.until) <= until)
    .map(({ field, value, until: dueAt }) => ({
      ...NOTHING,
      kind: "override",
      severity: "info",
      id: field,
      title: `policy.${field} is ${canonicalJson(value)} for a while, and then as before`,
      dueAt,
      commands: [`pmctl policy show -t ${tenant}`],
    }));
}

/** A freeze in force, however long it lasts: what is waiting behind it is seen nowhere else. */
export function standingFreeze(tenant: string, freeze: WireResult<"getConfig">["freeze"] | undefined): Waiting[] {
  const { frozenUntil = null, reason, by } = freeze ?? {};
  if (frozenUntil === null) return [];
  return [
    {
      ...NOTHING,
      kind: "freeze",
      severity: "info",
      id: tenant,
      title: `No apply is taken: frozen by ${by}, "${reason}"`,
      dueAt: frozenUntil,
      commands: [`pmctl freeze ${tenant}`, `pmctl freeze ${tenant} --off`],
    },
  ];
}

/** API keys that expire before `until`, without those of whose name a value lasts longer: they were rotated. */
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
      {
        ...NOTHING,
        kind: "key",
        severity: Date.parse(expiresAt) - now < URGENT_MS ? "critical" : "warn",
        id: name,
        title: `The ${type} key ${name} expires`,
        dueAt: expiresAt,
        commands: [`pmctl key list -t ${tenant}`, `pmctl key rotate ${name} -t ${tenant}`],
      },
    ];
  });
}

/** The certificate of the tenant file, where it expires before `until`. @param expires milliseconds since 1970 */
export function expiringCertificate(
  tenant: string,
  expires: number,
  { now, until }: { now: number; until: number },
): Waiting[] {
  if (expires > until) return [];
  return [
    {
      ...NOTHING,
      kind: "certificate",
      severity: expires - now < URGENT_MS ? "critical" : "warn",
      id: "server.tls",
      title: "The certificate expires; a renewed file is taken up by itself",
      dueAt: new Date(expires).toISOString(),
      commands: [`pmctl doctor ${tenant}`],
    },
  ];
}

/** Receivers of webhooks that get nothing any more, or did not get all. */
export function failingReceivers(tenant: string, receivers: WireResult<"listWebhookReceivers">): Waiting[] {
  return receivers.flatMap(({ name, enabled, disabledAt, dead, pending }): Waiting[] => {
    if (enabled && dead === 0) return [];
    const lost = dead === 0 ? [] : [`${counted(dead, "event")} given up`];
    const state = enabled ? lost : ["answered 410 and gets nothing any more", ...lost];
    return [
      {
        ...NOTHING,
        kind: "receiver",
        severity: "warn",
        id: name,
        title: `The receiver ${name}: ${state.join(", ")}, ${pending} on their way`,
        since: disabledAt,
        commands: [`pmctl webhook deliveries --receiver ${name} --status dead -t ${tenant}`],
      },
    ];
  });
}

export function brokenChain(tenant: string, { verified, problem }: WireResult<"getAuditStatus">): Waiting[] {
  if (verified && problem === null) return [];
  return [
    {
      ...NOTHING,
      kind: "chain",
      severity: "critical",
      id: problem === null ? "audit" : String(problem.seq),
      title: `The audit log does not hold${problem === null ? "" : ` at entry ${problem.seq}: ${problem.text}`}`,
      commands: [`pmctl audit verify -t ${tenant}`, `pmctl audit status -t ${tenant}`],
    },
  ];
}

export function unbalancedLedger(tenant: string, checks: WireResult<"explainLedger">): Waiting[] {
  const off = checks.filter(({ ok }) => !ok);
  if (off.length === 0) return [];
  const discrepancy = off.reduce((sum, check) => (check.unit === "usd" ? sum + check.discrepancy : sum), 0);
  return [
    {
      ...NOTHING,
      kind: "ledger",
      severity: "critical",
      id: "ledger",
      title: `The ledger does not add up: ${off.map(({ name }) => name).join(", ")}`,
      amountUsd: discrepancy,
      commands: [`pmctl reconcile --explain -t ${tenant}`],
    },
  ];
}

/** @param lastAt ISO 8601; null where this directory wrote none */
export function missingBackup(tenant: string, lastAt: string | null, now: number): Waiting[] {
  if (lastAt !== null && now - Date.parse(lastAt) < OLD_BACKUP_MS) return [];
  return [
    {
      ...NOTHING,
      kind: "backup",
      severity: lastAt === null ? "info" : "warn",
      id: tenant,
      title: lastAt === null ? "No backup was written from this directory" : "The last backup is more than a week old",
      since: lastAt,
      commands: [`pmctl db backup -t ${tenant}`],
    },
  ];
}

/** A tenant, or a part of it, that could not be looked at. */
export function unreachable(tenant: string, problem: string, command = `pmctl doctor ${tenant}`): Waiting {
  return { ...NOTHING, kind: "unreachable", severity: "critical", id: tenant, title: problem, commands: [command] };
}
