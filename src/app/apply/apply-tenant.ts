import { execa } from "execa";
import { ConfigError } from "../../config/config-error.ts";
import type { Api } from "../../contract/operations.ts";
import { keyFingerprint } from "../../domain/access/api-key.ts";
import { Fault } from "../../domain/fault.ts";
import { type Choices, decide, type Writes } from "../../plan/plan-decision.ts";
import type { Desired, Plan } from "../../plan/plan-types.ts";
import { SchemaBehind } from "../../postgres/migrate.ts";
import type { PutOnRecord } from "../../services/tenant/provision.ts";
import { olderServersAfter } from "../database/older-servers.ts";
import type { ConfigSession, LiveTenant } from "../tenant/config-session.ts";
import { applyInputOf } from "./live-config.ts";
import { fromFiles, planOn, type Source } from "./plan-tenant.ts";

/**
 * Answers the questions of a plan; throws to refuse it.
 * @param api of what is live; undefined for a tenant that was never applied
 */
export type Chooser = (plan: Plan, api: Api | undefined) => Choices | Promise<Choices>;

/** What an older version left, and an apply recorded in the audit log. */
export interface Recorded {
  keys: number;
  /** Keys that no audit entry created, so that they are not accepted. */
  refused: { name: string; fingerprint: string }[];
}

export interface Applied {
  /** Migrations that this run applied. */
  migrations: string[];
  changed: boolean;
  recorded?: Recorded | undefined;
  plan: Plan;
}

/**
 * Brings a tenant to what its files say: the database, the schema, then everything else in one commit. A second run
 * changes nothing. The plan is decided before anything is written, except after an older version: what that left cannot be
 * read before the schema is migrated.
 * @param choose asked once more when another apply came between the plan and its commit
 * @throws ConfigError naming the keys whose values are missing; Fault REFUSED, with nothing of the plan written, when the
 * plan has questions that were not answered, or is stale again
 */
export async function applyTenant(session: ConfigSession, choose: Chooser): Promise<Applied> {
  const asked = { choose, source: fromFiles(session, session.keys()) };
  await session.requireOwner();
  const before = await openUnlessOlder(session);
  const decided = before === "older" ? undefined : await decideOn(session, before, asked);
  const { migrations, recorded, ...live } = await session.prepare();
  let decision =
    decided ??
    (await decideOn(session, live, asked).catch((error: unknown) => {
      throw afterUpdate(error, migrations);
    }));
  try {
    const changed = await carryOut(session, live, decision).catch(async (refusal: unknown) => {
      const now = await afterAnotherApply(refusal, live, decision.plan);
      decision = await decideOn(session, now, asked);
      return carryOut(session, now, decision);
    });
    return { migrations, recorded: recorded && shownRecord(recorded), plan: decision.plan, changed };
  } catch (error) {
    throw atSearch(error, session);
  }
}

/**
 * What is live now, when another apply came between a plan and its commit: two servers of one rollout apply the same files.
 * The plan is made and decided anew then, once, so that whatever was changed still has to be allowed.
 * @throws the refusal itself, when it has another reason
 */
async function afterAnotherApply(refusal: unknown, live: LiveTenant, plan: Plan): Promise<LiveTenant> {
  if (!(refusal instanceof Fault) || refusal.code !== "REFUSED") throw refusal;
  const config = await live.api.getConfig({});
  if (config.version === plan.liveVersion) throw refusal;
  return { ...live, config };
}

function shownRecord({ keys, refused }: PutOnRecord): Recorded {
  return { keys, refused: refused.map(({ name, hash }) => ({ name, fingerprint: keyFingerprint(hash) })) };
}

/** What is live; `older` where this version can read it only after a migration. Changes nothing. */
async function openUnlessOlder(session: ConfigSession): Promise<LiveTenant | undefined | "older"> {
  try {
    const live = await session.open();
    return live?.isUnrecorded ? "older" : live;
  } catch (error) {
    if (error instanceof SchemaBehind) return "older";
    throw error;
  }
}

/** A refusal of the plan that also states the update which came before it. */
function afterUpdate(error: unknown, migrations: readonly string[]): unknown {
  if (!(error instanceof Fault) || error instanceof ConfigError) return error;
  const { code, message, detail } = error;
  const done = [
    "The database was brought up to date first, and what an older version left was put on record; no configuration was changed.",
    ...[olderServersAfter(migrations)?.notice ?? []].flat().map((notice) => `${notice}.`),
    "Of the plan:",
  ].join(" ");
  return new Fault(code, `${done}\n${message}`, { cause: error, detail });
}

/** Adds the place in the file to the database's refusal of a text search configuration. */
function atSearch(error: unknown, { config }: Pick<ConfigSession, "config">): unknown {
  if (!(error instanceof Fault) || error.code !== "CONFIG_INVALID" || error instanceof ConfigError) return error;
  return new ConfigError(config.source.problems([{ path: ["markets", "search"], message: error.message }]));
}

/**
 * Carries out the plan of a source in one commit.
 * @param rollbackTo the audit entry that the source is the document of
 */
export async function applyOn(
  session: Place,
  live: LiveTenant,
  { rollbackTo, ...asked }: Asked & { rollbackTo: number },
): Promise<Pick<Applied, "changed" | "plan"> & { desired: Desired }> {
  const decision = await decideOn(session, live, asked);
  const { plan, desired } = decision;
  return { changed: await carryOut(session, live, decision, rollbackTo), plan, desired };
}

type Place = Pick<ConfigSession, "directory" | "feeds">;

interface Asked {
  choose: Chooser;
  source: Source;
}

interface Decision {
  plan: Plan;
  desired: Desired;
  writes: Writes;
}

/** @param live undefined for a tenant that was never applied */
async function decideOn({ feeds }: Place, live: LiveTenant | undefined, { choose, source }: Asked): Promise<Decision> {
  const planned = await planOn(live, source, feeds);
  const { plan, desired } = planned;
  return { plan, desired, writes: decide(plan, desired, planned.live, await choose(plan, live?.api)) };
}

/** Whether anything changed. */
async function carryOut(
  { directory, feeds }: Place,
  { api }: LiveTenant,
  { plan, desired, writes }: Decision,
  rollbackTo?: number,
): Promise<boolean> {
  const facts = { gitCommit: await currentCommit(directory), rollbackTo, hashes: feeds.hashes };
  return (await api.applyConfig(applyInputOf(writes, { plan, desired }, facts))).changed;
}

/** The commit that the operator's directory stands at; undefined where there is no git or no commit. */
async function currentCommit(directory: string): Promise<string | undefined> {
  const { stdout, exitCode } = await execa("git", ["rev-parse", "--verify", "HEAD"], {
    cwd: directory,
    reject: false,
    stdin: "ignore",
    timeout: 5000,
  });
  return exitCode === 0 ? stdout.trim() : undefined;
}
