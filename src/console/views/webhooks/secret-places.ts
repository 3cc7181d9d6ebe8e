import type { Json } from "../../../domain/audit/audit-link.ts";
import { isMapping } from "../../../domain/json/mapping.ts";

/** A place of webhook secrets in the tenant file, as the last apply states it: references, never the secrets. */
export interface SecretPlace {
  /** Its path in the file, such as `webhooks.inbound.secrets`; a receiver is named in it. */
  path: string;
  /** Whose webhooks they sign or verify. */
  of: string;
  /** Every secret that counts, the newest first for receivers. */
  secrets: string[];
  side: "out" | "in";
  /** What `pmctl key rotate --type webhook` takes; undefined where the provider or the file decides. */
  rotates?: readonly string[];
}

const INBOUND: readonly Omit<SecretPlace, "secrets" | "side">[] = [
  { path: "secrets", of: "endpoints without their own", rotates: [] },
  { path: "stripe", of: "Stripe" },
  { path: "kyc.secrets", of: "identity checks", rotates: ["--endpoint", "kyc"] },
  { path: "kyc.genericSecrets", of: "identity checks in pmctl's own form" },
  { path: "payments.secrets", of: "deposits", rotates: ["--endpoint", "payments"] },
  { path: "oracle.secrets", of: "prices", rotates: ["--endpoint", "oracle"] },
];

/** The places that hold a secret, receivers first. */
export function secretPlaces(webhooks: Json | undefined): SecretPlace[] {
  const outbound = at(webhooks, "outbound");
  const receivers = (Array.isArray(outbound) ? outbound : []).map(
    (each): SecretPlace => ({
      path: `webhooks.outbound.${at(each, "name")}`,
      of: `receiver ${at(each, "name")}`,
      secrets: [at(each, "secret"), ...listAt(each, "previousSecrets")].flatMap(referenceText),
      side: "out",
    }),
  );
  const endpoints = INBOUND.map(({ path, ...place }): SecretPlace => {
    const secrets = listAt(webhooks, `inbound.${path}`).flatMap(referenceText);
    return { ...place, path: `webhooks.inbound.${path}`, secrets, side: "in" };
  });
  return [...receivers, ...endpoints.filter(({ secrets }) => secrets.length > 0)];
}

function at(value: unknown, path: string): unknown {
  return path.split(".").reduce((found, name) => (isMapping(found) ? found[name] : undefined), value);
}

function listAt(value: unknown, path: string): unknown[] {
  const found = at(value, path);
  return Array.isArray(found) ? found : [];
}

/** Such as `env ACME_WEBHOOK_SECRET`. A document has its keys in order, so a path follows its file from the end. */
function referenceText(reference: unknown): string[] {
  if (!isMapping(reference)) return [];
  return [
    Object.entries(reference)
      .reverse()
      .map(([kind, value]) => `${kind} ${Array.isArray(value) ? value.join(" ") : String(value)}`)
      .join(", "),
  ];
}
