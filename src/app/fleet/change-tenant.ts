import type { Api, WireResult } from "../../contract/operations.ts";
import type { ConfigDocument } from "../../contract/resources/config-document.ts";
import { isSame, type Json } from "../../domain/audit/audit-link.ts";
import { POLICY_FIELDS } from "../../domain/policy/fields.ts";
import { policyPatchOf } from "../../domain/policy/policy.ts";
import { policyValue } from "../../domain/policy/values.ts";
import { policyFieldOf } from "../../plan/plan-compare.ts";
import { type Choices, written } from "../../plan/plan-decision.ts";
import type { LiveConfig, Plan } from "../../plan/plan-types.ts";
import { applyTenant, rollBack } from "../apply/apply-tenant.ts";
import { fromHistory, type Source } from "../apply/plan-tenant.ts";
import type { ConfigSession } from "../tenant/config-session.ts";
import type { Outcome, Standing, Stands } from "./fleet-run.ts";

/** Managed fields outside the policy that a rollback can write again. */
const RESTORABLE = ["kyc.required", "markets.liquidityUsd"];

/** A change of a run. Its entries' reason begins with `mark`, which identifies them. */
interface InRun {
  mark: string;
}

/**
 * Applies a tenant's files as part of a run.
 * @param run.earlier the tenant's state before an earlier attempt of the run
 * @param run.stands receives the tenant's state before anything is written, and again when another apply came between
 * @throws as `applyTenant`
 */
export async function applyInRun(
  session: ConfigSession,
  choices: Choices,
  { mark, earlier, stands }: InRun & { earlier: Standing | undefined; stands: Stands },
): Promise<Outcome> {
  let api: Api | undefined;
  let stood = earlier;
  const { changed } = await applyTenant(session, async (plan, live) => {
    api = live;
    // A killed process may have applied the files before this one.
    const isIn = stood !== undefined && (await appliesSince(api, stood)).some(isOf(mark));
    if (stood === undefined || !isIn) stood = { seq: await lastApply(api), live: valuesToWrite(plan, choices) };
    stands(stood, isIn);
    return choices;
  });
  api ??= (await session.open())?.api;
  const own = stood && (await appliesSince(api, stood)).find(isOf(mark));
  const wrote = changed || own !== undefined;
  return { state: wrote ? "applied" : "unchanged", seq: own?.seq ?? (await lastApply(api)), problem: null, wrote };
}

/**
 * Takes a tenant back to its state before the run: the document of its earlier apply, and the live values that the run
 * overwrote. Later live changes and another apply's changes are kept. Writes one commit; a second call changes nothing.
 */
export async function rollBackInRun(
  session: ConfigSession,
  standing: Standing,
  { mark, breakFreeze }: InRun & Pick<Choices, "breakFreeze">,
): Promise<Outcome> {
  const { seq: to, live } = standing;
  const before = await session.open();
  const since = await appliesSince(before?.api, standing);
  const [last] = since;
  const own = since.find(isOf(mark));
  if (own === undefined || own.rollbackTo !== null)
    return { state: "rolledBack", seq: own?.seq ?? last?.seq ?? to, problem: null };
  if (to === null || !before) {
    const problem = "was never applied before this run: there is nothing to go back to";
    return { state: "applied", seq: own.seq, problem };
  }
  if (last !== own) {
    const problem = `left as it is: audit entry ${last?.seq}, an apply by ${last?.actor}, came after this run's`;
    return { state: "applied", seq: own.seq, problem };
  }
  const { left, after } = await rollBack(session, before, {
    to,
    // Reviewing `onFailure: rollback` approved the return to the previous state, including any loosening.
    choose: () => ({ onDrift: "adopt", acceptLoosening: true, breakFreeze }),
    source: fromStanding(to, live),
  });
  const missed = Object.keys(live).filter((field) => !isSame(live[field] ?? null, liveValue(after, field)));
  const notBack = [...new Set([...left.filter((field) => !Object.hasOwn(live, field)), ...missed])];
  return {
    state: "rolledBack",
    seq: await lastApply(before.api),
    problem: notBack.length === 0 ? null : `not as before: ${notBack.join(", ")}`,
  };
}

async function lastApply(api: Api | undefined): Promise<number | null> {
  const page = await api?.listApplies({ limit: 1 });
  return page?.items[0]?.seq ?? null;
}

type AppliedItem = WireResult<"listApplies">["items"][number];

/** Newest first. */
async function appliesSince(api: Api | undefined, { seq }: Standing): Promise<AppliedItem[]> {
  const after = seq ?? 0;
  const applies: AppliedItem[] = [];
  for (let cursor: string | null | undefined; api && cursor !== null; ) {
    const page = await api.listApplies({ limit: 20, cursor });
    const newer = page.items.filter((each) => each.seq > after);
    applies.push(...newer);
    cursor = newer.length < page.items.length ? null : page.nextCursor;
  }
  return applies;
}

const isOf =
  (mark: string) =>
  ({ reason }: AppliedItem): boolean =>
    reason?.startsWith(mark) ?? false;

/** The live values of the fields that an apply would write and a rollback can restore. */
function valuesToWrite(plan: Plan, choices: Choices): Record<string, Json> {
  const items = written(plan, choices).filter((item) => policyFieldOf(item) || RESTORABLE.includes(item.field));
  return Object.fromEntries(items.map(({ field, live }) => [field, live]));
}

function liveValue(config: LiveConfig, field: string): Json {
  if (field === "kyc.required") return config.kycRequired;
  if (field === "markets.liquidityUsd") return config.liquidityUsd;
  const name = POLICY_FIELDS.find((each) => `policy.${each}` === field);
  return name === undefined ? null : (policyValue(config.policy, name) as Json);
}

/** The document of an earlier apply with other values for some fields; the stored document itself stays unchanged. */
function fromStanding(seq: number, live: Readonly<Record<string, Json>>): Source {
  const earlier = fromHistory(seq);
  return async (now, api) => {
    const desired = await earlier(now, api);
    return { ...desired, document: withValues(desired.document, live) };
  };
}

function withValues(document: ConfigDocument, live: Readonly<Record<string, Json>>): ConfigDocument {
  const { policy, kyc, markets } = document;
  const fields = POLICY_FIELDS.flatMap((field) => {
    const name = `policy.${field}`;
    const value = Object.hasOwn(live, name) ? live[name] : (policyValue(policy, field) as Json | undefined);
    return value === undefined ? [] : [[field, value] as const];
  });
  const { "kyc.required": required, "markets.liquidityUsd": liquidityUsd } = live;
  return {
    ...document,
    policy: policyPatchOf(fields),
    kyc: typeof required === "boolean" ? { ...kyc, required } : kyc,
    markets: typeof liquidityUsd === "number" ? { ...markets, liquidityUsd } : markets,
  };
}
