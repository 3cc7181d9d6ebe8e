import type { WireInput } from "../../../src/contract/operations.ts";
import { TENANT } from "./harness.ts";

type Input = WireInput<"applyConfig">;

/** The body of `POST /v1/config` that writes what is stated, with the smallest document that a later plan can read. */
export function configInput(change: Partial<Input> = {}): Input {
  return {
    tenant: TENANT,
    ifVersion: 1,
    policy: {},
    kycRequired: false,
    liquidityUsd: 1000,
    capitalUsd: 100_000,
    keys: [],
    revoke: [],
    markets: [],
    feeds: {},
    marketStates: [],
    document: {
      tenant: TENANT,
      kyc: { required: false },
      treasury: { capitalUsd: 100_000 },
      markets: { liquidityUsd: 1000 },
      policy: {},
      keyring: {},
      declared: {},
      adopted: {},
    },
    documentSha256: "0".repeat(64),
    ...change,
  };
}
