import { createHash } from "node:crypto";
import type { TenantConfig } from "../../src/config/tenant-config.ts";
import type { PlacedMarket } from "../../src/config/tenant-files/market-files.ts";
import { operations } from "../../src/contract/operations.ts";
import { keyFingerprint } from "../../src/domain/access/api-key.ts";
import type { Scope } from "../../src/domain/access/scopes.ts";
import type { PolicyPatch } from "../../src/domain/policy/policy.ts";
import { marketSubject, waitingProposal } from "../../src/engine/approvals/proposals.ts";
import { SINGLE } from "../../src/engine/rows.ts";
import { makePlan } from "../../src/plan/plan.ts";
import { type Choices, decide } from "../../src/plan/plan-decision.ts";
import { documentOf, importsOf, movedOf } from "../../src/plan/plan-document.ts";
import type { Desired, LiveConfig, Plan } from "../../src/plan/plan-types.ts";
import { encodeResult } from "../../src/services/answers.ts";
import { applyCommandOf, configurationOf } from "../../src/services/configuration/configuration.ts";
import { parse, tenantText } from "../config/support.ts";
import { NOW, World } from "../engine/world.ts";

/** What a test states of a tenant's files. */
export interface Files {
  /** YAML in flow style, as `tenantText` takes it. */
  sections?: Record<string, string | undefined>;
  markets?: Partial<PlacedMarket>[];
  /** The value of each key by its name. */
  keys?: Record<string, string>;
  /** What each key is kept to by its name; a key that is not named here may do everything from anywhere. */
  kept?: Record<string, { scopes?: Scope[]; from?: string[] }> | undefined;
}

const market: PlacedMarket = {
  key: "rain",
  question: "Will it rain?",
  category: "weather",
  kind: "cpmm",
  p0: 0.5,
  closeAt: NOW + 86_400_000,
  resolutionRef: "by hand",
  meta: {},
  state: "open",
  source: { file: "markets/rain.yaml", line: 1, column: 1 },
};

/** By its text: a property plans and applies one file several times. */
const read = new Map<string, TenantConfig>();

function configOf(text: string): TenantConfig {
  const config = read.get(text) ?? parse(text);
  read.set(text, config);
  return config;
}

export function desiredOf({ sections = {}, markets = [], keys = { ops: "k1" }, kept = {} }: Files = {}): Desired {
  const wanted = Object.entries(keys).map(([name, value]) => {
    const hash = createHash("sha256").update(value).digest("hex");
    const { scopes = ["*" as const], from = [] } = kept[name] ?? {};
    return { name, type: "admin" as const, hash, fingerprint: keyFingerprint(hash), scopes, from, expiresAt: null };
  });
  const declared = markets.map((change) => ({ ...market, ...change }));
  return {
    document: documentOf(configOf(tenantText(sections)), declared, wanted),
    keys: wanted,
    moved: movedOf(declared),
    imports: importsOf(declared),
    fileSha256: "0".repeat(64),
  };
}

/** A tenant in memory that is planned and applied with the real engine. */
export class PlannedTenant {
  readonly world = new World();
  #ids = 0;

  live(): LiveConfig {
    const names = this.world.all("marketKey");
    const markets = this.world.all("market").flatMap(([id, market]) => {
      const marketState = this.world.get("marketState", id);
      // In the order in which it got them.
      const all = names.flatMap(([key, named]) => (named.id === id ? [key] : []));
      const key = all.at(-1) ?? null;
      const proposal = waitingProposal(this.world, marketSubject(id));
      const told = { market, key, formerKeys: all.slice(0, -1), proposalId: proposal?.id ?? null };
      return marketState ? [{ ...told, status: marketState.status }] : [];
    });
    const keys = this.world.get("keyring", SINGLE) ?? [];
    const tenant = this.world.get("tenant", SINGLE);
    const rows = {
      tenant,
      keys,
      markets,
      changes: [],
      treasuryMicro: 0n,
      atRiskMicro: 0n,
      freeze: null,
      now: this.world.now,
    };
    return encodeResult("getConfig", configurationOf("acme", rows)) as LiveConfig;
  }

  plan(files: Files | Desired): Plan {
    return makePlan("document" in files ? files : desiredOf(files), this.live());
  }

  /** Applies, and returns what was planned. */
  apply(files: Files | Desired, choices: Partial<Choices> = {}): Plan {
    const desired = "document" in files ? files : desiredOf(files);
    const live = this.live();
    const plan = makePlan(desired, live);
    const writes = decide(plan, desired, live, { onDrift: "fail", acceptLoosening: false, ...choices });
    const newId = () => {
      this.#ids += 1;
      return `m${this.#ids}`;
    };
    const input = { ...writes, gitCommit: null, rollbackTo: null, feeds: {} };
    // As it travels: through its text, and the schema of the operation.
    const arrived = operations.applyConfig.input.parse(JSON.parse(JSON.stringify(input)));
    this.world.run(applyCommandOf(arrived, newId));
    this.#committed();
    return plan;
  }

  /** What `PUT /v1/policy` does. */
  put(patch: PolicyPatch, ttlMs?: number): void {
    this.world.run({ type: "updatePolicy", patch, ttlMs });
    this.#committed();
  }

  policy() {
    return this.live().policy;
  }

  /** The store writes each version one higher. */
  #committed(): void {
    const tenant = this.world.get("tenant", SINGLE);
    if (tenant) this.world.put("tenant", SINGLE, { ...tenant, version: tenant.version + 1 });
  }
}

/** `field kind direction` of every item. */
export function summary({ items }: Plan): string[] {
  return items.map(({ field, kind, direction }) => `${field} ${kind} ${direction}`);
}

/** The message of a refusal; empty when nothing was refused. */
export function refusalOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "REFUSED") return error.message;
    throw error;
  }
  return "";
}
