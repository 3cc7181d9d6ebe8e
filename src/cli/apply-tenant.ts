import { execa } from "execa";
import { ConfigError } from "../config/config-error.ts";
import { type Choices, decide } from "../config/plan-decision.ts";
import type { Desired, Plan } from "../config/plan-types.ts";
import { Fault } from "../domain/fault.ts";
import type { PutOnRecord } from "../services/provision.ts";
import type { ConfigSession, LiveTenant } from "./config-session.ts";
import { applyInputOf } from "./live-config.ts";
import { fromFiles, planOn, type Source } from "./plan-tenant.ts";

/** Answers the questions of a plan; a refusal is thrown. */
export type Chooser = (plan: Plan) => Choices | Promise<Choices>;

export interface Applied {
  /** Migrations that this run applied. */
  migrations: string[];
  /** Whether anything of the tenant changed. */
  changed: boolean;
  /** What of older versions was put on record before. */
  recorded?: PutOnRecord | undefined;
  plan: Plan;
}

/**
 * Brings a tenant to what its files say: the database, the schema, then everything else in one commit. A second run
 * changes nothing.
 * @throws ConfigError naming the keys whose values are missing; Fault REFUSED when the plan asks what was not decided, or turned stale; then nothing of the tenant was written
 */
export async function applyTenant(session: ConfigSession, choose: Chooser): Promise<Applied> {
  const source = fromFiles(session, session.keys());
  const { migrations, recorded, ...live } = await session.prepare();
  try {
    const { changed, plan } = await applyOn(session, live, { choose, source });
    return { migrations, recorded, changed, plan };
  } catch (error) {
    throw atSearch(error, session);
  }
}

/** Only the database knows its text search configurations, and only the file where one was named. */
function atSearch(error: unknown, { config }: Pick<ConfigSession, "config">): unknown {
  if (!(error instanceof Fault) || error.code !== "CONFIG_INVALID" || error instanceof ConfigError) return error;
  return new ConfigError(config.source.problems([{ path: ["markets", "search"], message: error.message }]));
}

/**
 * Carries out the plan of a source in one commit.
 * @param rollbackTo the audit entry that the source is the document of
 */
export async function applyOn(
  { directory, feeds }: Pick<ConfigSession, "directory" | "feeds">,
  live: LiveTenant,
  { choose, source, rollbackTo }: { choose: Chooser; source: Source; rollbackTo?: number },
): Promise<Omit<Applied, "migrations" | "recorded"> & { desired: Desired }> {
  const planned = await planOn(live, source, feeds);
  const { plan, desired } = planned;
  const writes = decide(plan, desired, planned.live, await choose(plan));
  const facts = { gitCommit: await currentCommit(directory), rollbackTo, hashes: feeds.hashes };
  const { changed } = await live.api.applyConfig(applyInputOf(writes, { plan, desired }, facts));
  return { changed, plan, desired };
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
