import type { Path } from "../../config/config-error.ts";
import type { Case, Step } from "../../config/schema/case-schema.ts";
import type { TenantConfig } from "../../config/tenant-config.ts";
import type { PlacedMarket } from "../../config/tenant-files/market-files.ts";
import type { Input } from "../../contract/operations.ts";
import type { OutgoingRules } from "../../domain/access/networks.ts";
import { Fault } from "../../domain/fault.ts";
import { isMapping } from "../../domain/json/mapping.ts";
import { microFromUsd } from "../../domain/money.ts";
import { overlay } from "../../domain/overlay.ts";
import { DEFAULT_POLICY, mergePolicy } from "../../domain/policy/policy.ts";
import { parseDuration, parseTime } from "../../domain/time/time-grammar.ts";
import { DAY_MS } from "../../domain/time/units.ts";
import { encodeResult } from "../../services/answers.ts";
import { checkOracleAddress } from "../../services/configuration/policy.ts";
import { decodeInput } from "../../services/invoke.ts";
import { marketCommand, settlementCommand, settlementView } from "../../services/markets/markets.ts";
import { tradeCommand, tradeView } from "../../services/markets/trading.ts";
import type { PlacedCase } from "./case-files.ts";
import { CaseTenant, type TenantFeeds } from "./case-tenant.ts";

/** A tenant's configuration as cases begin with it. */
export interface TenantOfCases {
  config: TenantConfig;
  feeds: TenantFeeds;
}

/** What a service would have refused of what a case begins with. */
const refusedAt = (path: Path, { code, message }: Fault): Difference => ({
  path,
  expected: null,
  actual: `${code}: ${message}`,
});

/**
 * The tenant as a case is given it: applied, with its users and markets, made by the commands that a service makes them by.
 * @returns with what was refused; then the rest is there all the same
 */
export function setUp({ config, feeds }: TenantOfCases, { spec, marketFiles }: PlacedCase) {
  const { given, now } = spec;
  const tenant = new CaseTenant(feeds, now);
  tenant.run({
    type: "applyConfig",
    policy: mergePolicy(mergePolicy(DEFAULT_POLICY, config.policy), given.policy),
    kycRequired: config.kyc.required,
    liquidityMicro: micro(config.markets.liquidityUsd),
    capitalMicro: micro(given.treasuryUsd ?? config.treasury.capitalUsd),
    keys: [],
    document: "{}",
    documentSha256: "",
    gitCommit: undefined,
  });
  const refusals: Difference[] = [];
  const attempt = (path: Path, work: () => void) => {
    try {
      work();
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      refusals.push(refusedAt(path, error));
    }
  };
  for (const [id, user] of Object.entries(given.users))
    attempt(["given", "users", id], () => addUser(tenant, id, user));
  for (const name of Object.keys(given.markets))
    attempt(["given", "markets", name], () => {
      const file = marketFiles.get(name);
      tenant.run(marketCommand(name, termsOf(spec, name, file), feeds.hashes));
      if (file?.state === "suspended") tenant.run({ type: "suspendMarket", marketId: name });
    });
  return { tenant, refusals };
}

/** Amounts of files have six decimals at most. */
export function micro(usd: number): bigint {
  return microFromUsd(usd) ?? 0n;
}

function addUser(tenant: CaseTenant, traderId: string, user: Case["given"]["users"][string]): void {
  const { balanceUsd, kyc, jurisdiction, suitability, restricted } = user;
  if (kyc === "passed" || kyc === "failed")
    tenant.run({ type: "recordKyc", traderId, status: kyc, provider: "case", verifiedAt: tenant.now, jurisdiction });
  if (balanceUsd > 0)
    tenant.run({
      type: "recordDeposit",
      ...{ provider: "case", traderId, amountMicro: micro(balanceUsd), reference: `dep_${traderId}` },
    });
  if (suitability !== undefined)
    tenant.run({ type: "submitSuitability", id: `asm_${traderId}`, traderId, answers: { score: suitability } });
  if (restricted) tenant.run({ type: "restrictUser", traderId, restricted });
}

/** The market of a case that describes none; it closes a day after the case begins. */
const someMarket = (name: string, now: number): Input<"createMarket"> => ({
  question: name,
  category: "case",
  kind: "lmsr",
  p0: 0.5,
  closeAt: now + DAY_MS,
  resolutionRef: "case",
  meta: {},
});

const termsOfFile = ({ state: _, source: __, ...terms }: PlacedMarket): Input<"createMarket"> => terms;

/** A market's terms: the case's own over those of its file. */
function termsOf({ given, now }: Case, name: string, file: PlacedMarket | undefined): Input<"createMarket"> {
  const { closeAt, file: _, ...stated } = given.markets[name] ?? {};
  const terms = overlay(file ? termsOfFile(file) : someMarket(name, now), stated);
  return closeAt === undefined ? terms : { ...terms, closeAt: parseTime(closeAt, now, "ahead") };
}

/** What a step needs besides the tenant. */
interface StepContext {
  /** Part of the ids that it gives. */
  index: number;
  /** Where the policy's oracle may be. */
  network: OutgoingRules;
  /** What a user's token says of the jurisdiction. */
  claimedBy: (userId: string) => string | undefined;
}

/**
 * Does a step as the service would on a request: validated by the same schema, decided by the engine.
 * @returns the answer in wire form
 * @throws Fault when it is refused
 */
export function perform(tenant: CaseTenant, step: Step, context: StepContext): unknown {
  const { trade, wait, suspend, resume, policy, sweep, price, settle } = step;
  if (trade) return place(tenant, trade, context);
  if (suspend !== undefined)
    return encodeResult("suspendMarket", tenant.run({ type: "suspendMarket", marketId: suspend }));
  if (resume !== undefined) return encodeResult("resumeMarket", tenant.run({ type: "resumeMarket", marketId: resume }));
  if (policy) {
    checkOracleAddress(policy.resolution_url, context.network);
    const { policy: now, updatedAt } = tenant.run({ type: "updatePolicy", patch: policy });
    return encodeResult("updatePolicy", { ...now, updatedAt });
  }
  if (sweep) return encodeResult("sweepOracle", tenant.sweep());
  if (settle) {
    const { market: marketId, ...terms } = settle;
    const result = tenant.run(settlementCommand(decodeInput("settleMarket", { marketId, ...terms })));
    return encodeResult("settleMarket", settlementView(result));
  }
  if (price) tenant.statePrice(price.feed, price.value);
  if (wait !== undefined) tenant.wait(parseDuration(wait) ?? 0);
  return {};
}

function place(tenant: CaseTenant, trade: NonNullable<Step["trade"]>, { index, claimedBy }: StepContext): unknown {
  const { user: id, market: marketId, side, action, amountUsd: amount, ...terms } = trade;
  const input = decodeInput("placeTrade", { marketId, selection: { side, action }, amount, ...terms });
  const user = { id, jurisdiction: claimedBy(id) };
  return encodeResult("placeTrade", tradeView(tenant.run(tradeCommand(`trd_${index}`, input, side, user))));
}

/** What a case expected at a place and did not find. */
export interface Difference {
  path: Path;
  expected: unknown;
  /** Null where there is nothing. */
  actual: unknown;
}

/** Numbers that are nearer to each other are the same: a micro-dollar, and what doubles lose of it. */
const TOLERANCE = 1e-6 + 1e-9;

/** Where a value departs from what was expected of it. What an expected mapping does not name is not compared. */
export function differences(expected: unknown, actual: unknown, path: Path): Difference[] {
  if (isMapping(expected) && isMapping(actual))
    return Object.entries(expected).flatMap(([name, value]) => differences(value, actual[name], [...path, name]));
  if (Array.isArray(expected) && Array.isArray(actual) && expected.length === actual.length)
    return expected.flatMap((value, index) => differences(value, actual[index], [...path, index]));
  return isSame(expected, actual) ? [] : [{ path, expected, actual: actual ?? null }];
}

function isSame(expected: unknown, actual: unknown): boolean {
  if (typeof expected === "number" && typeof actual === "number") return Math.abs(expected - actual) <= TOLERANCE;
  return expected === (actual ?? null);
}
