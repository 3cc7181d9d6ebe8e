import { formatPath, type Path } from "../config/config-error.ts";
import { environmentPrefix } from "../config/environment.ts";
import type { SecretReference } from "../config/scalars.ts";
import { kindOf, referencesIn } from "../config/secret-places.ts";
import { describeReference, fingerprint } from "../config/secrets.ts";
import { Fault } from "../domain/fault.ts";
import { auditKey } from "../engine/seal.ts";
import { hashApiKey, keyFingerprint } from "../services/provision.ts";
import type { OperatorTenant } from "./operator-tenant.ts";

/** A secret that the tenant file refers to. */
export interface FileSecret {
  /** Dotted, as in the file. */
  name: string;
  type: string;
  reference: string;
  /** Null when the value is not at hand here. */
  fingerprint: string | null;
  /** Of an API key: what the file calls it. */
  keyName?: string | undefined;
}

/** Every secret of a tenant's file with where it is kept, and a fingerprint where the value can be read. */
export function listFileSecrets(tenant: OperatorTenant): FileSecret[] {
  const { source: _, ...document } = tenant.config;
  const read = (reference: SecretReference, path: Path) => {
    try {
      return tenant.secret(reference, path);
    } catch (error) {
      if (error instanceof Fault) return undefined;
      throw error;
    }
  };
  const secretOfAudit = read(tenant.config.audit.key, ["audit", "key"]);
  return referencesIn(document).map(({ reference, path }) => {
    const name = formatPath(path);
    const { type } = kindOf(path);
    const value = read(reference, path);
    const shown = () => {
      if (value === undefined) return null;
      // The id that audit entries name their key by, so that the two can be compared.
      if (type === "audit") return auditKey(value).id;
      // The same as in plans, which know of a key that is stored no more than its hash.
      if (type === "key") return keyFingerprint(hashApiKey(value));
      return secretOfAudit === undefined ? null : fingerprint(value, secretOfAudit);
    };
    const [, keyType, index] = path;
    const keyName =
      (keyType === "admin" || keyType === "public") && typeof index === "number"
        ? tenant.config.keys[keyType][index]?.name
        : undefined;
    return { name, type, reference: describeReference(reference), fingerprint: shown(), keyName };
  });
}

/** How a secret of the tenant file is replaced: what to put where, and in which order. */
export interface FileRotation {
  type: "webhook" | "audit";
  /** The variable for the new value. */
  variable: string;
  key: string;
  /** The lines of the tenant file that change, as they should become. */
  yaml: string;
  steps: string[];
}

/**
 * Plans the replacement of a secret that lives in the tenant file. Changes nothing: the value belongs where the operator
 * keeps its secrets, and the file under version control.
 *
 * @param key the new value
 */
export function planFileRotation(tenant: OperatorTenant, type: "webhook" | "audit", key: string): FileRotation {
  const { audit, webhooks, source } = tenant.config;
  const isAudit = type === "audit";
  const at = (...path: string[]) => {
    const { file, line } = source.positionOf(path, true);
    return `${file}:${line}`;
  };
  const current = isAudit ? audit.key : webhooks.inbound.secrets[0];
  const usual = `${environmentPrefix(tenant.id)}_${isAudit ? "AUDIT_KEY" : "WEBHOOK_SECRET"}`;
  const variable = freeVariable(tenant, current && "env" in current ? current.env : usual);
  const sealing = `key: { env: ${variable} }`;
  const previous = `previous: [${[audit.key, ...audit.previous].map(inline).join(", ")}]`;
  const secrets = `secrets: [${[...webhooks.inbound.secrets.map(inline), `{ env: ${variable} }`].join(", ")}]`;
  const steps = [
    `Put the new value where the server finds it, such as .env: ${variable}=${key}`,
    ...(isAudit
      ? [
          `First let every server know it: put { env: ${variable} } into \`previous\` beside ${at("audit", "key")}, and start the servers again, one after the other`,
          `Then let the audit key at ${at("audit", "key")} read: ${sealing}`,
          source.states(["audit", "previous"])
            ? `Let the list at ${at("audit", "previous")} read: ${previous}`
            : `Put beside it: ${previous}`,
          "Start the servers again, one after the other. The old key stays in `previous` for ever: it sealed what was written.",
        ]
      : [
          `Let ${at("webhooks", "inbound", "secrets")} read: ${secrets}`,
          "Start the servers again, one after the other: from then on both values are accepted.",
          "Give the new value to the providers. When they sign with it, take the old reference out of the file.",
        ]),
  ];
  return { type, variable, key, yaml: isAudit ? `${sealing}\n${previous}` : secrets, steps };
}

/** `ACME_KEY` as `ACME_KEY_2`, or the next number that no reference of the file uses. */
function freeVariable({ config: { source: _, ...document } }: OperatorTenant, name: string): string {
  const taken = new Set(referencesIn(document).map(({ reference }) => ("env" in reference ? reference.env : "")));
  const stem = name.replace(/_\d+$/, "");
  for (let number = 2; ; number++) if (!taken.has(`${stem}_${number}`)) return `${stem}_${number}`;
}

/** A reference as one line of YAML; JSON is YAML. */
function inline(reference: SecretReference): string {
  return "env" in reference ? `{ env: ${reference.env} }` : JSON.stringify(reference);
}
