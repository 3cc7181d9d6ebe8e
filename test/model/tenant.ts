import { createHmac } from "node:crypto";
import { microOf } from "./model-numbers.ts";
import type { State } from "./model-state.ts";
import type { TenantPlan } from "./steps.ts";

export const TENANT = "acme";

/** Values of the tenant's secrets, as its file names them. */
export const SECRETS = {
  ACME_ADMIN_KEY: `sk_${"A".repeat(43)}`,
  ACME_SECOND_KEY: `sk_${"D".repeat(43)}`,
  ACME_PUBLIC_KEY: `pk_${"B".repeat(43)}`,
  ACME_JWT_SECRET: "a JWT secret of the model test, of 32 bytes and more",
  ACME_WEBHOOK_SECRET: "a webhook secret of the model test, 32 bytes or more",
  ACME_STRIPE_SECRET: `whsec_${"c".repeat(32)}`,
  ACME_AUDIT_KEY: "an audit key of the model test, 32 bytes and more",
} as const;

/** The name of the second operator's key, where changes need two. */
export const SECOND = "eve";

/** The tenant file of a plan. JSON is YAML. */
export function tenantFile(plan: TenantPlan): string {
  const { kycRequired, capitalUsd, liquidityUsd, correctionHours, policy, rules } = plan;
  const env = (name: string) => ({ env: `ACME_${name}` });
  const second = rules ? [{ name: SECOND, secret: env("SECOND_KEY") }] : [];
  const { categories, ...money } = rules ?? {};
  return JSON.stringify({
    version: 1,
    tenant: TENANT,
    name: "Acme Markets",
    baseUrl: "https://predict.acme.example",
    database: { url: env("DATABASE_URL"), ownerUrl: env("OWNER_URL") },
    keys: {
      admin: [{ name: "ops", secret: env("ADMIN_KEY") }, ...second],
      public: [{ name: "web", secret: env("PUBLIC_KEY") }],
    },
    auth: { jwt: { algorithm: "HS256", secret: env("JWT_SECRET") } },
    kyc: { required: kycRequired },
    webhooks: { inbound: { secrets: [env("WEBHOOK_SECRET")], stripe: [env("STRIPE_SECRET")] } },
    audit: { key: env("AUDIT_KEY") },
    treasury: { capitalUsd },
    markets: { liquidityUsd },
    ...(correctionHours > 0 || rules ? { resolution: { correctionHours, ...(rules ? { categories } : {}) } } : {}),
    ...(rules ? { approvals: money } : {}),
    policy,
    rateLimit: { perMinute: 1_000_000 },
  });
}

/** What the model knows of a tenant that has just been applied. */
export function openingState(plan: TenantPlan): State {
  const { kycRequired, capitalUsd, liquidityUsd, correctionHours, policy, rules = null } = plan;
  const second = { type: "admin", value: SECRETS.ACME_SECOND_KEY, createdAt: null, expiresAt: null } as const;
  return {
    tenantId: TENANT,
    kycRequired,
    liquidity: microOf(liquidityUsd) ?? 0n,
    treasury: microOf(capitalUsd) ?? 0n,
    correctionHours,
    policy: structuredClone(policy),
    rules,
    proposals: [],
    labels: {},
    markets: [],
    users: {},
    positions: [],
    trades: [],
    withdrawals: [],
    movements: [],
    flows: [],
    deposits: {},
    payments: {},
    deliveries: [],
    keys: [
      { name: "ops", type: "admin", value: SECRETS.ACME_ADMIN_KEY, createdAt: null, expiresAt: null },
      { name: "web", type: "public", value: SECRETS.ACME_PUBLIC_KEY, createdAt: null, expiresAt: null },
      ...(rules ? [{ name: SECOND, ...second }] : []),
    ],
    answers: {},
    log: [],
  };
}

const base64 = (text: string) => Buffer.from(text).toString("base64url");

/** A token as a tenant's own site mints it. */
export function tokenOf(
  user: string,
  claimed: string | undefined,
  nowMs: number,
  secret: string = SECRETS.ACME_JWT_SECRET,
): string {
  const iat = Math.floor(nowMs / 1000) - 10;
  const claims = { sub: user, iat, exp: iat + 20 * 3600, ...(claimed === undefined ? {} : { jurisdiction: claimed }) };
  const signed = `${base64(JSON.stringify({ alg: "HS256", typ: "JWT" }))}.${base64(JSON.stringify(claims))}`;
  return `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`;
}

/** The header by which a provider signs a body. */
export function signatureOf(path: string, body: string, nowMs: number): Record<string, string> {
  if (!path.includes("/stripe/"))
    return { "x-signature": createHmac("sha256", SECRETS.ACME_WEBHOOK_SECRET).update(body).digest("hex") };
  const t = Math.floor(nowMs / 1000);
  const v1 = createHmac("sha256", SECRETS.ACME_STRIPE_SECRET).update(`${t}.${body}`).digest("hex");
  return { "stripe-signature": `t=${t},v1=${v1}` };
}

/** The chain's own format: what anyone with the key can recompute. */
export function sealOf(
  previous: string,
  entry: { keyId: string; seq: number; ts: string; type: string; actor: string; payloadText: string },
): string {
  const { keyId, seq, ts, type, actor, payloadText } = entry;
  const text = ["pmctl-audit-v1", previous, keyId, seq, ts, type, actor, payloadText].join("\n");
  return createHmac("sha256", SECRETS.ACME_AUDIT_KEY).update(text).digest("hex");
}
