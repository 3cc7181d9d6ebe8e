import type { IsSealed } from "../domain/audit/seal.ts";
import { MAX_FREEZE_MS } from "../domain/policy/freeze.ts";
import { type Freeze, SINGLE } from "../engine/rows.ts";
import type { ReadSql } from "../postgres/connect.ts";
import { readClock } from "../postgres/database-time.ts";
import { instantOf, linkOf, saidBy, upToHead } from "./on-record.ts";

/** A freeze that holds now. */
export interface FreezeInForce {
  /** Milliseconds since 1970. */
  until: number;
  reason: string;
  /** Who froze it, as audit entries name actors. */
  by: string;
}

/** The freeze that the log states and the database's clock has not passed; null where there is none. */
export async function readFreeze(sql: ReadSql, isSealed: IsSealed): Promise<FreezeInForce | null> {
  const [freeze, now] = await Promise.all([lastFreeze(sql, isSealed), readClock(sql)]);
  return freeze !== null && freeze.until > now ? freeze : null;
}

/** For commands, which compare it with their own instant. */
export async function loadFreeze(sql: ReadSql, _: string[], isSealed: IsSealed): Promise<Map<string, Freeze>> {
  const freeze = await lastFreeze(sql, isSealed);
  return new Map([[SINGLE, { until: freeze?.until ?? null }]]);
}

/**
 * What the last entry about a freeze says; null where that one lifted it. One whose seal is broken counts as the longest
 * freeze: a forged entry must not open the way to an apply.
 */
async function lastFreeze(sql: ReadSql, isSealed: IsSealed): Promise<FreezeInForce | null> {
  const [row] = await sql`
    select latest.type, latest.actor, ${linkOf(sql)} as link
      from (values ('config.frozen'), ('config.unfrozen')) as kind (type)
     cross join lateral (
       select *
         from audit
        where audit.type = kind.type and audit.type <> 'trade.executed' and ${upToHead(sql)}
        order by seq desc
        limit 1
     ) latest
     order by latest.seq desc
     limit 1`;
  const said = saidBy(row?.link, isSealed);
  if (said === undefined) return null;
  const by = String(row?.actor);
  if (said === "broken") {
    const until = (await readClock(sql)) + MAX_FREEZE_MS;
    return { until, reason: "the entry of the freeze was tampered with", by };
  }
  const until = row?.type === "config.frozen" ? instantOf(said.payload.until) : null;
  return until === null ? null : { until, reason: String(said.payload.reason ?? ""), by };
}
