import { createHash } from "node:crypto";
import type { WireOutput } from "../../src/contract/operations.ts";
import type { ApplyConfig } from "../../src/engine/tenant.ts";
import { invoke } from "../../src/services/invoke.ts";
import type { TenantServices } from "../../src/services/tenant/tenant.ts";

export const AUDIT_SECRET = "bench-audit-secret-of-32-bytes!!";
export const JWT_SECRET = "bench-jwt-secret-of-at-least-32-bytes";
export const PUBLIC_KEY = "pk_bench-0123456789-abcdefghijklmnopqrstuvwxyz";
export const TRADERS = 256;
const MARKETS = 100;

/** A tenant whose limits are out of the way. */
export function benchState(): ApplyConfig {
  return {
    policy: { feeBps: 100, maxTradeUsd: 1000, maxUserExposureUsd: 1_000_000_000 },
    kycRequired: false,
    liquidityMicro: 100_000_000_000n,
    capitalMicro: 10_000_000_000_000n,
    keys: [
      { name: "web", type: "public", expiresAt: null, hash: createHash("sha256").update(PUBLIC_KEY).digest("hex") },
    ],
    document: "{}",
    documentSha256: "",
    gitCommit: undefined,
  };
}

export const traderOf = (client: number) => `usr_${client % TRADERS}`;

export async function createMarkets(services: TenantServices): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < MARKETS; index++) {
    const { wire } = await invoke(
      services.handlers,
      "createMarket",
      {
        question: `Bench market ${index}?`,
        category: "bench",
        kind: index % 2 === 0 ? "cpmm" : "lmsr",
        p0: 0.5,
        closeAt: "2040-01-01T00:00:00Z",
        resolutionRef: "bench",
      },
      { actor: "cli:bench" },
    );
    ids.push((wire.value as WireOutput<"createMarket">).id);
  }
  return ids;
}

export async function fundTraders({ sequencer }: TenantServices): Promise<void> {
  await Promise.all(
    Array.from({ length: TRADERS }, (_, index) =>
      sequencer.submit({
        command: {
          type: "recordDeposit",
          provider: "bench",
          traderId: traderOf(index),
          amountMicro: 10_000_000_000_000n,
          reference: String(index),
        },
        actor: "provider:bench",
      }),
    ),
  );
}
