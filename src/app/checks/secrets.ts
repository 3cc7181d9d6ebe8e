import { ConfigError, formatPath, type Problem } from "../../config/config-error.ts";
import type { Environment } from "../../config/environment.ts";
import { resolveTenant, type TenantSecrets } from "../../config/resolve-tenant.ts";
import type { SecretReference } from "../../config/schema/scalars.ts";
import { inboundSecretsOf, secretPlaces } from "../../config/secrets/secret-places.ts";
import { fingerprint, resolveSecret } from "../../config/secrets/secrets.ts";
import type { TenantConfig } from "../../config/tenant-config.ts";
import { INBOUND_ENDPOINTS, type InboundEndpoint } from "../../contract/constants.ts";
import { Fault } from "../../domain/fault.ts";
import { counted } from "../../domain/text.ts";
import { type Finding, fail, ok, skipped, warn } from "./check.ts";

/** A secret of the tenant file, without its value. */
export interface SecretFact {
  /** Such as `keys.admin[0].secret`. */
  path: string;
  /** The place of the value, such as `ACME_ADMIN_KEY`. */
  name: string;
  /** Undefined when the value cannot be resolved. */
  value: { bytes: number; distinctCharacters: number; fingerprint: string } | undefined;
}

export interface SecretFacts {
  secrets: SecretFact[];
  /** The problems that an apply or a server would report: a missing, empty, short or repeated value. */
  problems: Pick<Problem, "file" | "line" | "path" | "message">[];
  /** Inbound endpoints that use the shared webhook secrets. */
  sharing: readonly InboundEndpoint[];
}

/** Different characters: 32 random bytes in base64 have about thirty, and an invented word has fewer than this. */
const FEW_CHARACTERS = 10;

/** The facts about a tenant's secrets, and the secrets themselves when all can be used. */
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
    // A machine that only serves should not have it.
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
      ? ok("secrets", `all ${secrets.length} in the tenant file are available`)
      : skipped("secrets", `${problems.length} of ${secrets.length} in the tenant file cannot be used`),
    ...problems.map(({ file, line, path, message }) =>
      fail(`secret ${path}`, `${message} (${file}:${line})`, remedyOf(message)),
    ),
    ...secrets.flatMap(weakness),
    evaluateWebhookSecrets(secrets, sharing),
  ];
}

function remedyOf(message: string): string {
  if (message.includes("--allow-exec")) return "Run the command again with --allow-exec, as the server runs";
  return "Set it in .env or in the environment of the server";
}

function weakness({ path, name, value }: SecretFact): Finding[] {
  if (!value || value.distinctCharacters >= FEW_CHARACTERS) return [];
  const found = `${name} has ${counted(value.bytes, "byte")} and only ${counted(value.distinctCharacters, "different character")}`;
  return [
    warn(
      `secret ${path}`,
      `${found}: it may be guessed`,
      "Replace it by 32 random bytes, such as this prints",
      "openssl rand -base64 32",
    ),
  ];
}

/** Lists between which a secret may be moved; during the move it is in both. */
const GENERIC_LIST = /^webhooks\.inbound\.(secrets|(kyc|payments|oracle)\.(secrets|genericSecrets))\[/;

/** A webhook's secret with a second use would let its holder sign other webhooks, users' tokens or the audit log. */
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
      `${sharing.join(", ")} ${sharing.length === 1 ? "takes" : "take"} the shared secrets: a provider that signs for one endpoint can sign for others`,
      `Give each endpoint its own: ${sharing.map((endpoint) => `webhooks.inbound.${endpoint}`).join(", ")}`,
    );
  const moving = equal.filter(isMove);
  if (moving.length > 0)
    return warn(
      check,
      `several endpoints accept the same value: ${written(moving)}`,
      "Give each endpoint its own value",
    );
  return ok(check, "each value is used once");
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

/** The place of a secret's value. */
export function nameOf(reference: SecretReference): string {
  if ("env" in reference) return reference.env;
  return "file" in reference ? reference.file : "a program's output";
}
