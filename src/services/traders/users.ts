import type { Input, Result } from "../../contract/operations.ts";
import { NO_ORIGIN } from "../../domain/access/security.ts";
import type { IsSealed } from "../../domain/audit/seal.ts";
import { Fault } from "../../domain/fault.ts";
import { microFromUsd } from "../../domain/money.ts";
import type { Policy } from "../../domain/policy/policy.ts";
import { capMinor, traderStateOf } from "../../domain/trader.ts";
import type { Trader } from "../../engine/rows.ts";
import { loadRevocations, loadTraders } from "../../ledger/standing.ts";
import type { ReadSql } from "../../postgres/connect.ts";
import { listTraderIds, readMoneyOf } from "../../queries/traders/list-traders.ts";
import { readTrader, readWallet } from "../../queries/traders/traders.ts";
import { readPolicy } from "../configuration/policy.ts";
import { requireUser, type ServiceContext, submit } from "../context.ts";
import type { Caller, Handlers } from "../invoke.ts";

/** A user's state, restrictions, sessions and suitability. */
export function userHandlers(context: ServiceContext) {
  return {
    listUsers: (input) => listUsers(context, input),
    getUser: ({ id }) => getUser(context, id),
    restrictUser: ({ id }, caller) => restrict(context, "restrictUser", id, caller),
    releaseUser: ({ id }, caller) => restrict(context, "releaseUser", id, caller),
    revokeUser: ({ id, revokeBefore }, caller) => revoke(context, id, revokeBefore, caller),
    submitSuitability: ({ answers }, caller) =>
      submit(
        context,
        "submitSuitability",
        { type: "submitSuitability", id: context.newId("sui"), traderId: requireUser(caller).id, answers },
        caller,
        (result) => result,
      ),
    getSuitability: (_, caller) => getSuitability(context, requireUser(caller).id),
  } satisfies Handlers;
}

/** Users are filtered by their rows; each user's details come from the log, as for a single user. */
async function listUsers(
  { pool, cursors, isSealed }: ServiceContext,
  input: Input<"listUsers">,
): Promise<Result<"listUsers">> {
  const { limit, cursor: _, minExposureUsd, minOwedUsd, ...filter } = input;
  const minExposureMicro = leastMicro("minExposureUsd", minExposureUsd);
  const minOwedMicro = leastMicro("minOwedUsd", minOwedUsd);
  const list = cursors.list("listUsers", input);
  const [after] = list.reached(["string"]) ?? [];
  return pool.snapshot(async (sql) => {
    const query = { ...filter, minExposureMicro, minOwedMicro, after, limit: limit + 1 };
    const { ids, reached } = await listTraderIds(sql, query);
    const { page, nextCursor } = list.page(ids, limit, (last) => [last]);
    const [traders, money] = await Promise.all([loadTraders(sql, page, isSealed), readMoneyOf(sql, page)]);
    const items = page.flatMap((userId) => {
      const [trader, has] = [traders.get(userId), money.get(userId)];
      if (!trader || !has) return [];
      const { jurisdiction, suitabilityScore, createdAt } = trader;
      const standing = { userId, state: traderStateOf(trader), jurisdiction, suitabilityScore };
      const { balanceMicro: balanceUsd, exposureMicro: exposureUsd, owedMicro: owedUsd } = has;
      return [{ ...standing, balanceUsd, exposureUsd, owedUsd, createdAt }];
    });
    return { items, nextCursor: nextCursor ?? (reached === undefined ? null : list.cursorAt([reached])) };
  });
}

/** @throws Fault BAD_REQUEST naming the field */
function leastMicro(field: string, dollars: number | undefined): bigint | undefined {
  if (dollars === undefined) return undefined;
  const micro = microFromUsd(dollars);
  if (micro === undefined) throw new Fault("BAD_REQUEST", `${field}: must have at most 6 decimals`);
  return micro;
}

/** @throws Fault NOT_FOUND for a user whom the tenant has never seen, as every read of operators does */
export async function requireTrader(sql: ReadSql, id: string, isSealed: IsSealed): Promise<Trader> {
  const trader = await readTrader(sql, id, isSealed);
  if (!trader) throw new Fault("NOT_FOUND", "User not found");
  return trader;
}

async function getUser({ pool, isSealed }: ServiceContext, id: string): Promise<Result<"getUser">> {
  const [trader, wallet, revocations] = await pool.snapshot((sql) =>
    Promise.all([requireTrader(sql, id, isSealed), readWallet(sql, id), loadRevocations(sql, [id], isSealed)]),
  );
  const { kyc, jurisdiction, suitabilityScore, createdAt } = trader;
  const revokeBefore = revocations.get(id)?.before ?? null;
  const standing = { state: traderStateOf(trader), kyc, jurisdiction, suitabilityScore };
  return { userId: id, ...standing, ...wallet, createdAt, revokeBefore };
}

function restrict(context: ServiceContext, operation: "restrictUser" | "releaseUser", id: string, caller: Caller) {
  const restricted = operation === "restrictUser";
  return submit(
    context,
    operation,
    { type: "restrictUser", traderId: id, restricted, isExplained: caller.reason !== undefined },
    caller,
    ({ state }) => ({
      userId: id,
      state,
    }),
  );
}

async function revoke(context: ServiceContext, id: string, before: number | undefined, caller: Caller) {
  const command = { type: "revokeUser", traderId: id, before } as const;
  let ended = false;
  const toResult = (result: { before: number; moved: boolean }) => {
    ended = result.moved;
    return { userId: id, revokeBefore: result.before };
  };
  const answered = await submit(context, "revokeUser", command, caller, toResult);
  if (ended) context.security.note("session.revoked", "operator", caller.origin ?? NO_ORIGIN);
  return answered;
}

function getSuitability({ pool, isSealed }: ServiceContext, traderId: string): Promise<Result<"getSuitability">> {
  return pool.snapshot(async (sql) => {
    const [trader, { value: policy }] = await Promise.all([readTrader(sql, traderId, isSealed), readPolicy(sql)]);
    return suitabilityOf(trader, policy);
  });
}

/** The cap follows the current thresholds, which apply to the next trade. */
export function suitabilityOf(
  trader: Trader | undefined,
  { suitabilityThresholds }: Pick<Policy, "suitabilityThresholds">,
): Result<"getSuitability"> {
  if (!trader || trader.suitabilityScore === null || trader.suitabilityAt === null) return { completed: false };
  const score = trader.suitabilityScore;
  return {
    completed: true,
    score,
    exposureCapMinor: capMinor(score, suitabilityThresholds),
    updatedAt: trader.suitabilityAt,
  };
}
