import { decimalFromMicro, limitFromUsd } from "../../domain/money.ts";
import { TREASURY } from "../../engine/rows.ts";
import { auditKey } from "../../engine/seal.ts";
import { describeSetBack, type KnownAnchor, type SetBack } from "../../engine/set-back.ts";
import { type AnchorSources, knownAnchors, newestOf } from "../../services/anchors/known-anchors.ts";
import { findSetBack } from "../../services/anchors/set-back.ts";
import { type TailVerification, verifyTail } from "../../services/audit-verifier.ts";
import type { Sql } from "../../store/connect.ts";
import { loadRows } from "../../store/load.ts";
import { type Reader, readerOf } from "../../store/pool.ts";
import { countUnsettled } from "../../store/queries/closings.ts";
import { reconcileStanding } from "../../store/queries/reconcile.ts";
import { anchorPlaces } from "../anchor-sources.ts";
import { type Check, fail, ok, skipped, warn } from "./check.ts";
import type { Patient } from "./examine.ts";

export interface RecordFacts {
  /** Undefined without the audit key. */
  tail: TailVerification | undefined;
  /** Undefined without the audit key. */
  anchors: AnchorFacts | undefined;
  treasuryMicro: bigint;
  /** What one market with the tenant's default liquidity takes. */
  liquidityMicro: bigint;
  waiting: { count: number; oldest: string | null };
  /** Keys, users and fields that are not as the audit log says. */
  offRecord: readonly { name: string; place: string }[];
}

export interface AnchorFacts {
  newest: KnownAnchor | undefined;
  /** Lines and files that count for nothing. */
  faults: readonly string[];
  setBack: SetBack | undefined;
}

/** More than a doctor should wait for is `pmctl audit verify`'s. */
const TAIL_ENTRIES = 1000;

/** Reads a database whose schema is current. */
export async function gatherRecord(
  sql: Sql,
  { id: tenant, directory, config, secrets }: Pick<Patient, "id" | "directory" | "config" | "secrets">,
): Promise<RecordFacts> {
  const keys = secrets && [secrets.auditKey, ...secrets.previousAuditKeys].map(auditKey);
  const [treasury] = await loadRows(sql, [{ table: "account", key: TREASURY }]);
  const balance = treasury?.row && "balanceMicro" in treasury.row ? treasury.row.balanceMicro : 0n;
  return {
    tail: keys && (await verifyTail(readerOf(sql), keys, TAIL_ENTRIES)),
    anchors: keys && (await gatherAnchors(readerOf(sql), { tenant, ...anchorPlaces({ directory, config }), keys })),
    treasuryMicro: balance,
    liquidityMicro: limitFromUsd(config.markets.liquidityUsd),
    waiting: await countUnsettled(sql),
    offRecord: await reconcileStanding(sql),
  };
}

async function gatherAnchors(reader: Reader, sources: AnchorSources): Promise<AnchorFacts> {
  const { anchors, faults } = await knownAnchors(sources);
  return { newest: newestOf(anchors), faults, setBack: await findSetBack(reader, sources.keys, anchors) };
}

export function judgeRecord({
  tail,
  anchors,
  treasuryMicro,
  liquidityMicro,
  waiting,
  offRecord,
}: RecordFacts): Check[] {
  return [
    judgeTail(tail),
    judgeAnchors(anchors),
    judgeStanding(offRecord),
    judgeTreasury(treasuryMicro, liquidityMicro),
    judgeWaiting(waiting),
  ];
}

function judgeTail(tail: TailVerification | undefined): Check {
  if (!tail) return skipped("audit chain", "the audit key is not at hand");
  if (!tail.broken) return ok("audit chain", `the last ${tail.checked} entries verify with the key`);
  return fail(
    "audit chain",
    `${tail.broken.kind}: ${tail.broken.problem}`,
    "If the audit key was changed, put the old one back; else nobody may touch the database: pmctl audit verify",
  );
}

function judgeStanding(offRecord: RecordFacts["offRecord"]): Check {
  const [first] = offRecord;
  if (!first) return ok("on record", "keys, users' standing and configuration are as the audit log says");
  const more = offRecord.length > 1 ? `, and ${offRecord.length - 1} more` : "";
  return fail(
    "on record",
    `the audit log does not say what the database holds of ${first.name}: ${first.place}${more}`,
    `Another hand wrote to the database: pmctl reconcile --explain shows what. ${mendingOf(first)}`,
  );
}

/** What writes the row again, as the log says. */
function mendingOf({ name, place }: RecordFacts["offRecord"][number]): string {
  if (name === "keys") return `To mend it: pmctl key revoke ${place}, or rotate it`;
  if (name === "policy") return "To mend it: pmctl policy set, with the value that shall hold";
  if (name === "configuration")
    return "To mend it: pmctl policy set with any value, or an apply that changes something";
  return `To mend it: pmctl user restrict ${place} or release, or the next result of an identity check`;
}

function judgeAnchors(facts: AnchorFacts | undefined): Check {
  if (!facts) return skipped("anchors", "the audit key is not at hand");
  const { newest, faults, setBack } = facts;
  if (setBack)
    return fail(
      "anchors",
      describeSetBack(setBack),
      "Put the newer database back; if it is lost for good: pmctl audit accept-rollback --reason TEXT",
    );
  if (faults.length > 0)
    return warn("anchors", `${faults.join("; ")}: counts for nothing`, "Find out who wrote there, and take it out");
  if (!newest) return ok("anchors", "none is written yet; the server writes them");
  return ok("anchors", `the log holds every one that is known, the newest of entry ${newest.seq}`);
}

function judgeTreasury(treasuryMicro: bigint, liquidityMicro: bigint): Check {
  const found = `the treasury holds ${decimalFromMicro(treasuryMicro)} USD, and a market takes ${decimalFromMicro(liquidityMicro)}`;
  if (treasuryMicro >= liquidityMicro) return ok("treasury", found);
  return fail("treasury", found, "Raise treasury.capitalUsd in the tenant file and apply it");
}

function judgeWaiting({ count, oldest }: RecordFacts["waiting"]): Check {
  if (count === 0) return ok("settlements", "no market past its closing time waits for one");
  const markets = count === 1 ? "1 market has" : `${count} markets have`;
  return warn(
    "settlements",
    `${markets} closed and not been settled; ${oldest} waits longest`,
    `Decide it: pmctl market settle ${oldest} --outcome yes|no`,
  );
}
