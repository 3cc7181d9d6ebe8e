import type { Api } from "../../contract/operations.ts";
import type { ConfigDocument } from "../../contract/resources/config-document.ts";
import { isSame, type Json } from "../../domain/audit/audit-link.ts";
import { POLICY_FIELDS } from "../../domain/policy/fields.ts";
import { policyPatchOf } from "../../domain/policy/policy.ts";
import { policyValue } from "../../domain/policy/values.ts";
import { policyFieldOf } from "../../plan/plan-compare.ts";
import { type Choices, written } from "../../plan/plan-decision.ts";
import { documentOf } from "../../plan/plan-document.ts";
import { leftBy } from "../../plan/plan-left.ts";
import type { LiveConfig, Plan } from "../../plan/plan-types.ts";
import { applyOn, applyTenant } from "../apply/apply-tenant.ts";
import { liveConfigOf } from "../apply/live-config.ts";
import { fromHistory, type Source } from "../apply/plan-tenant.ts";
import type { ConfigSession } from "../tenant/config-session.ts";
import type { Outcome, Standing } from "./fleet-run.ts";

/** Managed fields beside the policy whose earlier value can be written again. */
const RESTORABLE = ["kyc.required", "markets.liquidityUsd"];

/**
 * Applies a tenant's files as part of a run.
 * @param stands is given where the tenant stands, before anything is written, and gives where it stood before the run
 * @throws as `applyTenant`
 */
export async function applyInRun(
  session: ConfigSession,
  choices: Choices,
  stands: (standing: Standing) => Standing,
): Promise<Outcome> {
  let api: Api | undefined;
  let stood: Standing | undefined;
  const { changed } = await applyTenant(session, async (plan, live) => {
    api = live;
    stood = stands({ seq: await lastApply(api), live: valuesToWrite(plan, choices) });
    return choices;
  });
  api ??= (await session.open())?.api;
  const seq = await lastApply(api);
  // A process that was killed may have applied it before this one.
  const wrote = changed || seq !== stood?.seq;
  return { state: wrote ? "applied" : "unchanged", seq, problem: null, wrote };
}

/**
 * Takes a tenant back to where it stood: the document of its apply before the run, and the live values that the run wrote
 * over. What was changed live since is kept. One commit; a second call changes nothing.
 */
export async function rollBackInRun(session: ConfigSession, { seq: to, live }: Standing): Promise<Outcome> {
  const before = await session.open();
  const last = await lastApply(before?.api);
  if (last === to) return { state: "rolledBack", seq: last, problem: null };
  if (to === null || !before) {
    const problem = "was never applied before this run: there is nothing to go back to";
    return { state: "applied", seq: last, problem };
  }
  const { desired } = await applyOn(session, before, {
    // Going back to where the tenant stood a moment ago is what `onFailure: rollback` was reviewed for.
    choose: () => ({ onDrift: "adopt", acceptLoosening: true }),
    source: fromStanding(to, live),
    rollbackTo: to,
  });
  const after = liveConfigOf(await before.api.getConfig({}));
  const left = leftBy(desired.stored ?? desired.document, {
    before: liveConfigOf(before.config),
    live: after,
    file: documentOf(session.config, session.markets, []),
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

/** The live values of the fields that an apply would write and a rollback can bring back. */
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

/** The document of an earlier apply, with other values of some of its fields; the document itself is stored as it was. */
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
