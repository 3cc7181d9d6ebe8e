import { ConfigError, formatPath, type Problem } from "../../config/config-error.ts";
import type { Environment } from "../../config/environment.ts";
import { resolveTenant, type TenantSecrets } from "../../config/resolve-tenant.ts";
import type { SecretReference } from "../../config/schema/scalars.ts";
import { inboundSecretsOf, secretPlaces } from "../../config/secrets/secret-places.ts";
import { fingerprint, resolveSecret } from "../../config/secrets/secrets.ts";
import type { TenantConfig } from "../../config/tenant-config.ts";
import { INBOUND_ENDPOINTS, type InboundEndpoint } from "../../contract/resources/webhooks.ts";
import { Fault } from "../../domain/fault.ts";
import { type Finding, fail, ok, skipped, warn } from "./check.ts";

/** One secret that the file refers to, without its value. */
export interface SecretFact {
  /** Such as `keys.admin[0].secret`. */
  path: string;
  /** Where it is kept, such as `ACME_ADMIN_KEY`. */
  name: string;
  /** Undefined when it cannot be resolved. */
  value: { bytes: number; distinctCharacters: number; fingerprint: string } | undefined;
}

export interface SecretFacts {
  secrets: SecretFact[];
  /** As an apply or a server reports them: missing, empty, too short, used twice among the keys. */
  problems: Pick<Problem, "file" | "line" | "path" | "message">[];
  /** Inbound endpoints that take the shared webhook secrets, where there are any. */
  sharing: readonly InboundEndpoint[];
}

/** Of different characters: 32 random bytes in base64 have about thirty, and an invented word has fewer than this. */
const FEW_CHARACTERS = 10;

/** All that can be learned about a tenant's secrets, and the secrets themselves when they are complete. */
export function collectSecrets(
  config: TenantConfig,
  environment: Environment,
): { facts: SecretFacts; secrets: TenantSecrets | undefined } {
  const { source } = config;
  const listed = secretPlaces(config)
    .map(({ path, reference }) => ({
      path: formatPath(path),
      name: nameOf(reference),
      value: describe(reference, { environment, directory: source.directory, roots: source.roots }),
    }))
    // A machine that only serves should not hold it.
    .filter(({ path, value }) => value !== undefined || !path.startsWith("database.ownerUrl"));
  const sharing = INBOUND_ENDPOINTS.filter((endpoint) => {
    const { isShared, references } = inboundSecretsOf(config, endpoint);
    return isShared && references.length > 0;
  });
  try {
    return { facts: { secrets: listed, problems: [], sharing }, secrets: resolveTenant(config, environment) };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { facts: { secrets: listed, problems: [...error.problems], sharing }, secrets: undefined };
  }
}

export function evaluateSecrets({ secrets, problems, sharing }: SecretFacts): Finding[] {
  return [
    problems.length === 0
      ? ok("secrets", `all ${secrets.length} that the file refers to are there`)
      : skipped("secrets", `${problems.length} of ${secrets.length} that the file refers to are not usable`),
    ...problems.map(({ file, line, path, message }) =>
      fail(`secret ${path}`, `${message} (${file}:${line})`, remedyOf(message)),
    ),
    ...secrets.flatMap(weakness),
    evaluateWebhookSecrets(secrets, sharing),
  ];
}

function remedyOf(message: string): string {
  if (message.includes("--allow-exec")) return "Run it again with --allow-exec, as the server is";
  return "Set it in .env or in the environment of the server";
}

function weakness({ path, name, value }: SecretFact): Finding[] {
  if (!value || value.distinctCharacters >= FEW_CHARACTERS) return [];
  const found = `${name} has ${value.bytes} bytes and only ${value.distinctCharacters} different characters`;
  return [
    warn(`secret ${path}`, `${found}: it may be guessed`, "Replace it by 32 random bytes: openssl rand -base64 32"),
  ];
}

/** The lists that a secret may be moved between, during which it is in both. */
const GENERIC_LIST = /^webhooks\.inbound\.(secrets|(kyc|payments|oracle)\.(secrets|genericSecrets))\[/;

/** With the same value elsewhere, the holder of a webhook's secret could sign for other webhooks, users or the audit log. */
function evaluateWebhookSecrets(secrets: readonly SecretFact[], sharing: readonly InboundEndpoint[]): Finding {
  const check = "webhook secrets";
  const isWebhook = ({ path }: SecretFact) => path.startsWith("webhooks.");
  const equal = secrets.flatMap((one, index) =>
    secrets
      .slice(index + 1)
      .filter((other) => other.value && other.value.fingerprint === one.value?.fingerprint)
      .map((other): [SecretFact, SecretFact] => [one, other]),
  );
  const written = (pairs: readonly [SecretFact, SecretFact][]) =>
    pairs.map(([one, other]) => `${one.path} = ${other.path}`).join(", ");
  const isMove = (pair: readonly SecretFact[]) => pair.every(({ path }) => GENERIC_LIST.test(path));
  const wrong = equal.filter((pair) => pair.some(isWebhook) && !isMove(pair));
  if (wrong.length > 0)
    return fail(check, `the same value is used twice: ${written(wrong)}`, "Give each a value of its own");
  if (sharing.length > 0)
    return warn(
      check,
      `${sharing.join(", ")} ${sharing.length === 1 ? "takes" : "take"} the shared ones: a provider that signs for one endpoint can sign for others`,
      `Give each its own: ${sharing.map((endpoint) => `webhooks.inbound.${endpoint}`).join(", ")}`,
    );
  const moving = equal.filter(isMove);
  if (moving.length > 0)
    return warn(
      check,
      `the same value counts at several endpoints: ${written(moving)}`,
      "Give each a value of its own",
    );
  return ok(check, "each is used once");
}

function describe(
  reference: SecretReference,
  context: { environment: Environment; directory: string; roots: readonly string[] },
): SecretFact["value"] {
  try {
    const value = resolveSecret(reference, context);
    return {
      bytes: Buffer.byteLength(value),
      distinctCharacters: new Set(value).size,
      // Compared with others of this run, and never shown.
      fingerprint: fingerprint(value, "doctor"),
    };
  } catch (error) {
    if (error instanceof Fault) return undefined;
    throw error;
  }
}

/** Where a secret is kept, without its value. */
export function nameOf(reference: SecretReference): string {
  if ("env" in reference) return reference.env;
  return "file" in reference ? reference.file : "a program's output";
}
