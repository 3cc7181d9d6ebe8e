import type { Path } from "../../config/config-error.ts";
import type { Case, Step } from "../../config/schema/case-schema.ts";
import type { TenantConfig } from "../../config/tenant-config.ts";
import type { PlacedMarket } from "../../config/tenant-files/market-files.ts";
import type { Input } from "../../contract/operations.ts";
import type { OutgoingRules } from "../../domain/access/networks.ts";
import { Fault, invariant } from "../../domain/fault.ts";
import { isMapping } from "../../domain/json/mapping.ts";
import { microFromUsd } from "../../domain/money.ts";
import { overlay } from "../../domain/overlay.ts";
import { DEFAULT_POLICY, mergePolicy } from "../../domain/policy/policy.ts";
import { parseDuration, parseTime } from "../../domain/time/time-grammar.ts";
import { DAY_MS } from "../../domain/time/units.ts";
import { encodeResult } from "../../services/answers.ts";
import { checkOracleAddress } from "../../services/configuration/policy.ts";
import { decodeInput } from "../../services/invoke.ts";
import { settlementCommand, settlementView } from "../../services/markets/ends.ts";
import { marketCommand } from "../../services/markets/markets.ts";
import { tradeCommand, tradeView } from "../../services/markets/trading.ts";
import type { PlacedCase } from "./case-files.ts";
import { CaseTenant, type TenantFeeds } from "./case-tenant.ts";

/** The configuration that a tenant's cases begin with. */
export interface TenantOfCases {
  config: TenantConfig;
  feeds: TenantFeeds;
}

/** An error of the service about the set-up of a case. */
const refusedAt = (path: Path, { code, message }: Fault): Difference => ({
  path,
  expected: null,
  actual: `${code}: ${message}`,
});

/**
 * Sets up the tenant of a case: applied, with users and markets, by the same commands that a service uses.
 * @returns also what was refused; everything else is set up all the same
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

/** Amounts in files have at most six decimals. */
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

/** The market of a case that describes none. It closes a day after the case begins. */
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

/** A market's terms: the case's own take precedence over those of its file. */
function termsOf({ given, now }: Case, name: string, file: PlacedMarket | undefined): Input<"createMarket"> {
  const { closeAt, file: _, ...stated } = given.markets[name] ?? {};
  const terms = overlay(file ? termsOfFile(file) : someMarket(name, now), stated);
  return closeAt === undefined ? terms : { ...terms, closeAt: parseTime(closeAt, now, "ahead") };
}

/** What a step needs in addition to the tenant. */
interface StepContext {
  /** Part of the ids that the step creates. */
  index: number;
  /** The addresses that the policy's oracle may have. */
  network: OutgoingRules;
  /** The jurisdiction in a user's token. */
  claimedBy: (userId: string) => string | undefined;
}

/**
 * Performs a step like a request to the service: the same schema validates it, and the engine decides.
 * @returns the answer in wire form
 * @throws Fault when the step is refused
 */
export function perform(tenant: CaseTenant, step: Step, context: StepContext): unknown {
  const { trade, wait, suspend, resume, policy, sweep, price, settle } = step;
  if (trade) return place(tenant, trade, context);
  if (suspend !== undefined)
    return encodeResult("suspendMarket", tenant.run({ type: "suspendMarket", marketId: suspend }));
  if (resume !== undefined) return encodeResult("resumeMarket", tenant.run({ type: "resumeMarket", marketId: resume }));
  if (policy) {
    checkOracleAddress(policy.resolution_url, context.network);
    const { policy: now, updatedAt } = agreed(tenant.run({ type: "updatePolicy", patch: policy }));
    return encodeResult("updatePolicy", { ...now, updatedAt });
  }
  if (sweep) return encodeResult("sweepOracle", tenant.sweep());
  if (settle) {
    const { market: marketId, ...terms } = settle;
    const result = tenant.run(settlementCommand(decodeInput("settleMarket", { marketId, ...terms })));
    return encodeResult("settleMarket", settlementView(agreed(result)));
  }
  if (price) tenant.statePrice(price.feed, price.value);
  if (wait !== undefined) tenant.wait(parseDuration(wait) ?? 0);
  return {};
}

/** A case has no rules that make a command wait. */
function agreed<R extends object>(result: R): Exclude<R, { proposal: object }> {
  invariant(!("proposal" in result), "a command of a case never waits");
  return result as Exclude<R, { proposal: object }>;
}

function place(tenant: CaseTenant, trade: NonNullable<Step["trade"]>, { index, claimedBy }: StepContext): unknown {
  const { user: id, market: marketId, side, action, amountUsd: amount, ...terms } = trade;
  const input = decodeInput("placeTrade", { marketId, selection: { side, action }, amount, ...terms });
  const user = { id, jurisdiction: claimedBy(id) };
  return encodeResult("placeTrade", tradeView(tenant.run(tradeCommand(`trd_${index}`, input, side, user))));
}

/** A value that a case expected at a place and did not find. */
export interface Difference {
  path: Path;
  expected: unknown;
  /** Null for a missing value. */
  actual: unknown;
}

/** Numbers that differ by less are equal: a micro-dollar, and the rounding of doubles. */
const TOLERANCE = 1e-6 + 1e-9;

/** The differences between a value and its expectation. Ignores keys that the expected mapping does not name. */
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
