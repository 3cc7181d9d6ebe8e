import { existsSync } from "node:fs";
import { access, constants, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { settlingOf } from "../../client/inbox/waiting.ts";
import { isErrno } from "../../config/environment.ts";
import { TREASURY } from "../../domain/accounts.ts";
import { operatorText } from "../../domain/audit/chain-walk.ts";
import { type AuditKey, auditKey } from "../../domain/audit/seal.ts";
import { describeSetBack, type KnownAnchor, newestOf, type SetBack } from "../../domain/audit/set-back.ts";
import { Fault } from "../../domain/fault.ts";
import { decimalFromMicro, limitFromUsd } from "../../domain/money.ts";
import { counted, shellWord } from "../../domain/text.ts";
import { loadRows } from "../../ledger/load.ts";
import type { Sql } from "../../postgres/connect.ts";
import { type Reader, readerOf } from "../../postgres/pool.ts";
import { readLog } from "../../queries/evidence.ts";
import { reconcileStanding } from "../../queries/reconcile/reconcile.ts";
import { directoryAnchors } from "../../services/anchors/anchor-file.ts";
import { type AnchorSources, compareAnchors, knownAnchors } from "../../services/anchors/known-anchors.ts";
import { type TailVerification, verifyTail } from "../../services/audit/audit-verifier.ts";
import { anchorPlaces, auditSecretsOf, type OperatorTenant } from "../tenant/operator-tenant.ts";
import { type Finding, fail, ok, skipped, warn } from "./check.ts";
import { nameOf } from "./secrets.ts";

export interface RecordFacts {
  /** `Missing` says why the audit key is not available. */
  tail: TailVerification | Missing;
  /** The variable or file of the audit key. */
  keyName: string;
  anchors: AnchorFacts | Missing;
  /** Keys, users and fields that differ from the audit log. */
  offRecord: readonly { name: string; place: string }[];
}

interface Missing {
  missing: string;
}

interface AnchorFacts {
  newest: KnownAnchor | undefined;
  /** Lines and files that are ignored. */
  faults: readonly string[];
  /** Files that no anchor can be written to, with the reasons. */
  unwritable: readonly string[];
  setBack: SetBack | undefined;
}

/** `pmctl audit verify` checks the whole log. */
const TAIL_ENTRIES = 1000;
/** The most ignored lines and files that are named; the rest are counted. */
const FAULTS_NAMED = 5;

/** Reads a database whose schema is current. */
export async function collectRecord(sql: Sql, tenant: OperatorTenant): Promise<RecordFacts> {
  const keys = auditKeys(tenant);
  const reader = readerOf(sql);
  return {
    keyName: nameOf(tenant.config.audit.key),
    tail: "missing" in keys ? keys : await verifyTail(reader, keys, TAIL_ENTRIES),
    anchors:
      "missing" in keys ? keys : await collectAnchors(reader, { tenant: tenant.id, ...anchorPlaces(tenant), keys }),
    offRecord: await reconcileStanding(sql),
  };
}

/** The money in the treasury, and the amount that a market with the tenant's default liquidity takes from it. */
export async function collectTreasury(
  sql: Sql,
  { config }: OperatorTenant,
): Promise<{ treasuryMicro: bigint; liquidityMicro: bigint }> {
  const [treasury] = await loadRows(sql, [{ table: "account", key: TREASURY }]);
  return {
    treasuryMicro: treasury?.row && "balanceMicro" in treasury.row ? treasury.row.balanceMicro : 0n,
    liquidityMicro: limitFromUsd(config.markets.liquidityUsd),
  };
}

/** Resolved apart from the other secrets, so that the log can be verified while another secret is missing. */
function auditKeys(tenant: OperatorTenant): AuditKey[] | Missing {
  try {
    return auditSecretsOf(tenant).map(auditKey);
  } catch (error) {
    if (error instanceof Fault) return { missing: error.message };
    throw error;
  }
}

async function collectAnchors(reader: Reader, sources: AnchorSources): Promise<AnchorFacts> {
  const { anchors, faults } = await knownAnchors(sources);
  const log = await reader.read((sql) => readLog(sql, anchors));
  const { setBack, counting } = await compareAnchors(log, reader, sources.keys, anchors);
  const unwritable: string[] = [];
  for (const file of [directoryAnchors(sources.directory, sources.tenant), ...sources.files]) {
    const problem = await problemOfWriting(file);
    if (problem !== undefined) unwritable.push(`${file} cannot be written (${problem})`);
  }
  return { newest: newestOf(counting), faults, unwritable, setBack };
}

/** Why a line cannot be appended. Writes nothing; the first line will create a missing folder. */
async function problemOfWriting(file: string): Promise<string | undefined> {
  try {
    const state = await stat(file).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return undefined;
      throw error;
    });
    if (state?.isDirectory()) return "EISDIR";
    if (state) return await access(file, constants.W_OK).then(() => undefined);
    let folder = dirname(file);
    while (!existsSync(folder)) folder = dirname(folder);
    if (!(await stat(folder)).isDirectory()) return "ENOTDIR";
    await access(folder, constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    return isErrno(error) ? error.code : (error as Error).message;
  }
}

export function evaluateRecord(facts: RecordFacts, tenant: string): Finding[] {
  return [
    evaluateTail(facts, tenant),
    evaluateAnchors(facts.anchors, tenant),
    evaluateStanding(facts.offRecord, tenant),
  ];
}

function evaluateTail({ tail, keyName }: RecordFacts, tenant: string): Finding {
  if ("missing" in tail) return skipped("audit chain", `the audit key is missing: ${tail.missing}`);
  if (!tail.broken)
    return ok("audit chain", `the last ${counted(tail.checked, "entry verifies", "entries verify")} with the key`);
  if (tail.broken.sealedWith !== undefined)
    return fail(
      "audit key",
      `${keyName} is not the key of this log: ${operatorText(tail.broken)}`,
      `Put the value that sealed this log back into ${keyName}; if it was replaced, list the former value under audit.previous`,
    );
  return fail(
    "audit chain",
    `${tail.broken.kind}: ${operatorText(tail.broken)}`,
    "Keep every program away from the database, then verify the whole log",
    `pmctl audit verify -t ${tenant}`,
  );
}

function evaluateStanding(offRecord: RecordFacts["offRecord"], tenant: string): Finding {
  const [first] = offRecord;
  if (!first) return ok("on record", "keys, users' standing and configuration are as the audit log says");
  const more = offRecord.length > 1 ? `, and ${offRecord.length - 1} more` : "";
  const { repair, commands } = mendingOf(first);
  return fail(
    "on record",
    `the database says otherwise than the audit log about ${first.name}: ${first.place}${more}`,
    `Another program wrote to the database: see where. ${repair}`,
    `pmctl reconcile --explain -t ${tenant}`,
    ...commands.map((words) => `pmctl ${words} -t ${tenant}`),
  );
}

/** What writes the row again from the log, and its command lines without `pmctl` and tenant. */
function mendingOf({ name, place }: RecordFacts["offRecord"][number]): { repair: string; commands: string[] } {
  const word = shellWord(place);
  if (name === "keys") return { repair: "Then revoke the key, or rotate it", commands: [`key revoke ${word}`] };
  if (name === "policy")
    return { repair: "Then set the policy to the intended value by pmctl policy set", commands: ["policy show"] };
  if (name === "configuration")
    return { repair: "Any pmctl policy set repairs it, or an apply that changes something", commands: [] };
  return {
    repair: "Then restrict or release the user; the next result of an identity check repairs it too",
    commands: ["restrict", "release"].map((verb) => `user ${verb} ${word}`),
  };
}

function evaluateAnchors(facts: RecordFacts["anchors"], tenant: string): Finding {
  if ("missing" in facts) return skipped("anchors", `the audit key is missing: ${facts.missing}`);
  const { newest, faults, unwritable, setBack } = facts;
  if (setBack)
    return fail(
      "anchors",
      `${describeSetBack(setBack)} (${setBack.anchor.source})`,
      "Put the newer database back; if it is lost for good, accept the rollback",
      `pmctl audit accept-rollback -t ${tenant}`,
    );
  const warnings = [
    ...(unwritable.length === 0 ? [] : [unwritable.join("; ")]),
    ...(faults.length === 0 ? [] : [`${firstOf(faults)}: ignored`]),
  ];
  if (warnings.length > 0) {
    const remedies = [
      ...(unwritable.length === 0 ? [] : ["Let pmctl write there, or change audit.anchors"]),
      ...(faults.length === 0 ? [] : ["Find out who wrote there, and remove it"]),
    ];
    return warn("anchors", warnings.join("; "), remedies.join("; "));
  }
  if (!newest) return ok("anchors", "no anchor is written yet; the server writes them");
  return ok("anchors", `the log holds every known anchor, the newest for entry ${newest.seq}`);
}

/** The first few ignored lines and files, with the number of all. */
function firstOf(faults: readonly string[]): string {
  if (faults.length <= FAULTS_NAMED) return faults.join("; ");
  return `${counted(faults.length, "fault")}: ${faults.slice(0, FAULTS_NAMED).join("; ")}; and ${faults.length - FAULTS_NAMED} more`;
}

export function evaluateTreasury({
  treasuryMicro,
  liquidityMicro,
}: Awaited<ReturnType<typeof collectTreasury>>): Finding {
  const found = `the treasury holds ${decimalFromMicro(treasuryMicro)} USD, and a market takes ${decimalFromMicro(liquidityMicro)}`;
  if (treasuryMicro >= liquidityMicro) return ok("treasury", found);
  return fail("treasury", found, "Raise treasury.capitalUsd in the tenant file and apply it");
}

export function evaluateSettlements(
  { count, oldest }: { count: number; oldest: string | null },
  tenant: string,
): Finding {
  if (count === 0 || oldest === null) return ok("settlements", "no market past its closing time waits for one");
  const markets = counted(count, "market has", "markets have");
  return warn(
    "settlements",
    `${markets} closed and not been settled; ${oldest} waits longest`,
    "Decide it",
    ...settlingOf(oldest, tenant),
  );
}
