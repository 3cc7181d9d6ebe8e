import { ConfigError } from "../../config/config-error.ts";
import type { Api, WireInput, WireResult } from "../../contract/operations.ts";
import { fingerprintOfAsked } from "../../domain/access/idempotency.ts";
import { isOtherKeyFault } from "../../domain/audit/chain-walk.ts";
import { Fault } from "../../domain/fault.ts";
import { termsOf } from "../../domain/market/terms.ts";
import { type Choices, decide, type Writes, writesOf, written } from "../../plan/plan-decision.ts";
import { leftBy } from "../../plan/plan-desired.ts";
import { documentOf } from "../../plan/plan-document.ts";
import type { Desired, LiveConfig, Plan, PlanItem } from "../../plan/plan-types.ts";
import { SchemaBehind } from "../../postgres/migrate.ts";
import { noticeToServers } from "../database/owner-tasks.ts";
import { type ConfigSession, type LiveTenant, readLive } from "../tenant/config-session.ts";
import { keepLastMarket } from "../tenant/last-market.ts";
import { commitOfFiles } from "./commit-of-files.ts";
import { fromFiles, fromHistory, planOn, type Source } from "./plan-tenant.ts";

/**
 * Answers the questions of a plan, or throws to refuse it.
 * @param api reads what is live; undefined for a tenant that was never applied
 */
type Chooser = (plan: Plan, api: Api | undefined) => Choices | Promise<Choices>;

interface Applied extends CarriedOut {
  /** Migrations that this run applied. */
  migrations: string[];
}

/** The result of carrying out a plan. */
export interface CarriedOut {
  changed: boolean;
  /** The items that were written; empty when nothing changed. */
  items: PlanItem[];
  /** Commit of the files, with `-dirty` where a file differs from the commit; null without git. */
  gitCommit: string | null;
  plan: Plan;
  desired: Desired;
  /** The audit entry of the change. Under an idempotency key an earlier request may have made it. */
  entry?: Pick<WireResult<"getApply">, "seq" | "hash" | "fileSha256" | "changes"> | undefined;
}

/**
 * Brings a tenant to the state of its files: the database, the schema, then everything else in one commit. A second run
 * changes nothing. The plan is decided before anything is written, except on a schema of an older version, which has to
 * be migrated before it can be read.
 * @param choose is asked again when another apply came between the plan and its commit
 * @param targets the only fields to apply
 * @param repeatable what the line accepts, given with an idempotency key: a repeat with the same files, targets and
 *   answers gets the first result, whatever is live by then
 * @throws ConfigError naming the keys whose values are missing; Fault REFUSED, before anything of the plan is written,
 *   when the plan has unanswered questions, or is stale a second time
 */
export async function applyTenant(
  session: ConfigSession,
  choose: Chooser,
  { targets, repeatable }: { targets?: readonly string[] | undefined; repeatable?: Choices | undefined } = {},
): Promise<Applied> {
  const asked = { choose, source: fromFiles(session, session.keys(), targets), repeatable };
  await session.requireOwner();
  const before = await openUnlessOlder(session);
  const first = before && before !== "older" ? await firstResult(session, before, asked) : undefined;
  if (first) return { ...first, migrations: [] };
  const decided = before === "older" ? undefined : await decideOn(session, before, asked);
  const { migrations, ...live } = await session.prepare();
  let decision =
    decided ??
    (await decideOn(session, live, asked).catch((error: unknown) => {
      throw afterUpdate(error, migrations);
    }));
  try {
    const done = await carryOut(session, live, decision).catch(async (refusal: unknown) => {
      const now = await afterAnotherApply(refusal, live, decision.plan);
      decision = await decideOn(session, now, asked);
      return carryOut(session, now, decision);
    });
    if (done.changed) await rememberLast(session, live, decision.writes.markets.at(-1)?.key);
    return { ...done, migrations };
  } catch (error) {
    throw atSearch(error, session);
  }
}

/** Remembers the market that an apply created last, for `@last`. The apply stands even if this fails. */
async function rememberLast(session: ConfigSession, { api }: LiveTenant, key: string | undefined): Promise<void> {
  if (key === undefined) return;
  const { markets } = await api.getConfig({}).catch(() => ({ markets: [] }));
  const created = markets.find((market) => market.key === key);
  if (created) await keepLastMarket(session, created.id);
}

/**
 * Reads the live state again when another apply came between a plan and its commit: two servers of one rollout apply
 * the same files. The plan is then made and decided once more, so that every change still has to be allowed.
 * @throws the error itself, when it has another reason
 */
async function afterAnotherApply(refusal: unknown, live: LiveTenant, plan: Plan): Promise<LiveTenant> {
  if (!(refusal instanceof Fault) || refusal.code !== "REFUSED") throw refusal;
  const config = await readLive(live.api);
  if (config.version === plan.liveVersion) throw refusal;
  return { ...live, config };
}

/** Reads the live state; `older` where this version can read it only after a migration. Changes nothing. */
async function openUnlessOlder(session: ConfigSession): Promise<LiveTenant | undefined | "older"> {
  try {
    return await session.open();
  } catch (error) {
    if (error instanceof SchemaBehind) return "older";
    throw error;
  }
}

/** Adds to an error of the plan that the database was updated before it. */
function afterUpdate(error: unknown, migrations: readonly string[]): unknown {
  if (!(error instanceof Fault) || error instanceof ConfigError) return error;
  const { code, message, detail } = error;
  const done = [
    "The database was brought up to date first; no configuration was changed.",
    ...[noticeToServers(migrations) ?? []].flat().map((notice) => `${notice}.`),
    "Of the plan:",
  ].join(" ");
  return new Fault(code, `${done}\n${message}`, { cause: error, detail });
}

/** Adds the place in the file to the database's error about a text search configuration. */
function atSearch(error: unknown, { config }: Pick<ConfigSession, "config">): unknown {
  if (!(error instanceof Fault) || error.code !== "CONFIG_INVALID" || error instanceof ConfigError) return error;
  if (isOtherKeyFault(error)) return error;
  return new ConfigError(config.source.problems([{ path: ["markets", "search"], message: error.message }]));
}

/** The result of a rollback. */
export interface RolledBack extends CarriedOut {
  /** Fields that the rollback did not restore. */
  left: string[];
  /** The live state after the rollback. */
  after: LiveConfig;
}

/**
 * Goes back to the document of an earlier apply, in one commit.
 * @param to the audit entry of that apply
 * @param source returns the document, where some of its values are to be replaced
 */
export async function rollBack(
  session: PlannedSession,
  live: LiveTenant,
  { to, source = fromHistory(to), ...answers }: Omit<Asked, "source"> & { to: number; source?: Source },
): Promise<RolledBack> {
  const asked = { ...answers, source };
  const done =
    (await firstResult(session, live, asked)) ??
    (await carryOut(session, live, await decideOn(session, live, asked), to));
  const { document, stored = document } = done.desired;
  const after = await readLive(live.api);
  const left = leftBy(
    { ...document, keyring: stored.keyring },
    { before: live.config, live: after, file: documentOf(session.config, session.markets, []) },
  );
  return { ...done, left, after };
}

type PlannedSession = Pick<ConfigSession, "directory" | "feeds" | "config" | "markets">;

interface Asked {
  choose: Chooser;
  source: Source;
  /** What the line accepts; undefined without an idempotency key. */
  repeatable?: Choices | undefined;
}

interface Decision {
  plan: Plan;
  desired: Desired;
  /** The items to write. */
  items: PlanItem[];
  writes: Writes;
  /** Names the request under an idempotency key. */
  fingerprint: string | undefined;
}

/** @param live undefined for a tenant that was never applied */
async function decideOn(
  session: PlannedSession,
  live: LiveTenant | undefined,
  { choose, source, repeatable }: Asked,
): Promise<Decision> {
  const planned = await planOn(live, source, session);
  const { plan, desired } = planned;
  const choices = await choose(plan, live?.api);
  const writes = decide(plan, desired, planned.live, choices);
  return { plan, desired, items: written(plan, choices), writes, fingerprint: fingerprintOfLine(desired, repeatable) };
}

function fingerprintOfLine({ asked = null }: Desired, repeatable: Choices | undefined): string | undefined {
  if (repeatable === undefined) return undefined;
  const { acceptedRules = [], breakFreeze = false, ...choices } = repeatable;
  return fingerprintOfAsked({ asked, choices: { ...choices, acceptedRules: [...acceptedRules], breakFreeze } });
}

/** A version that no tenant has. */
const NO_VERSION = Number.MAX_SAFE_INTEGER;

/** The first result under the idempotency key. Asked first, since the live state may differ by now. */
async function firstResult(
  session: PlannedSession,
  live: LiveTenant,
  { source, repeatable }: Asked,
): Promise<CarriedOut | undefined> {
  if (repeatable === undefined) return undefined;
  const { plan, desired, live: config } = await planOn(live, source, session);
  // Writes nothing, and is refused as stale where the key has no answer.
  const nothing = writesOf({ ...plan, items: [] }, desired, config, { onDrift: "fail", acceptLoosening: false });
  const answer = await live.api
    .applyConfig({ ...nothing, ifVersion: NO_VERSION, feeds: {} }, fingerprintOfLine(desired, repeatable))
    .catch((error: unknown) => {
      if (error instanceof Fault && (error.code === "REFUSED" || error.code === "FROZEN")) return undefined;
      throw error;
    });
  if (!answer) return undefined;
  const entry = await entryOf(live.api, answer);
  return { changed: answer.changed, items: [], gitCommit: entry?.gitCommit ?? null, plan, desired, entry };
}

async function entryOf(api: Api, { seq }: WireResult<"applyConfig">) {
  return seq === null ? undefined : api.getApply({ seq });
}

async function carryOut(
  session: PlannedSession,
  { api }: LiveTenant,
  { plan, desired, items, writes, fingerprint }: Decision,
  rollbackTo?: number,
): Promise<CarriedOut> {
  const input = await inputOf(session, { desired, writes }, rollbackTo);
  const { gitCommit = null } = input;
  const answer = await api.applyConfig(input, fingerprint);
  const { changed } = answer;
  // The commit stands even if it cannot be read again.
  const read = entryOf(api, answer);
  const entry = await (fingerprint === undefined ? read.catch(() => undefined) : read);
  return { changed, items: changed ? items : [], gitCommit, plan, desired, entry };
}

/** What an apply sends, and what others approve. */
export async function inputOf(
  session: PlannedSession,
  { desired, writes }: Pick<Decision, "desired" | "writes">,
  rollbackTo?: number,
): Promise<WireInput<"applyConfig">> {
  // A document of an earlier apply belongs to that apply's commit, whatever the directory contains now.
  const { gitCommit = (await commitOfFiles(session)) ?? null } = desired;
  return { ...writes, gitCommit, rollbackTo: rollbackTo ?? null, feeds: feedsIn(writes, session.feeds) };
}

/**
 * Agrees to what an apply of the same files and choices would do.
 * @throws Fault REFUSED for a tenant that was never applied, or as {@link applyTenant} for the plan
 */
export async function approveTenant(
  session: ConfigSession,
  choose: Chooser,
  targets: readonly string[] | undefined,
): Promise<WireResult<"approvePlan">> {
  const live = await session.open();
  if (!live) throw new Fault("REFUSED", "The first apply of a tenant needs no approval");
  return agree(session, live, { choose, source: fromFiles(session, session.keys(), targets) });
}

/** Agrees to what a rollback to the apply `to` would do. */
export function approveRollback(
  session: PlannedSession,
  live: LiveTenant,
  { to, choose }: { to: number; choose: Chooser },
): Promise<WireResult<"approvePlan">> {
  return agree(session, live, { choose, source: fromHistory(to) }, to);
}

async function agree(session: PlannedSession, live: LiveTenant, asked: Asked, rollbackTo?: number) {
  return live.api.approvePlan(await inputOf(session, await decideOn(session, live, asked), rollbackTo));
}

/** Hashes of the feeds that new markets refer to, from the files: a running server may not know these feeds yet. */
function feedsIn({ markets }: Writes, { hashes }: ConfigSession["feeds"]): Record<string, string> {
  const feeds = markets.flatMap(({ resolutionRef, meta = {}, closeAt }) => {
    const outcome = termsOf({ resolutionRef, meta, closeAt: Date.parse(closeAt) }, hashes);
    return outcome.kind === "terms" ? [[outcome.terms.feed, outcome.terms.feedSha256] as const] : [];
  });
  return Object.fromEntries(feeds);
}
