import { ConfigError, formatPath, type Problem } from "../../config/config-error.ts";
import type { Environment } from "../../config/environment.ts";
import { resolveTenant, type TenantSecrets } from "../../config/resolve-tenant.ts";
import type { SecretReference } from "../../config/scalars.ts";
import { referencesIn } from "../../config/secret-places.ts";
import { fingerprint, resolveSecret } from "../../config/secrets.ts";
import type { TenantConfig } from "../../config/tenant-file.ts";
import { Fault } from "../../domain/fault.ts";
import { type Check, fail, ok, skipped, warn } from "./check.ts";

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
  /** What applying and serving would say: missing, empty, too short, used twice among the keys. */
  problems: Pick<Problem, "file" | "line" | "path" | "message">[];
}

/** Thirty-two random bytes in base64 have about thirty; a word that somebody made up has fewer than this. */
const FEW_CHARACTERS = 10;

/** All that can be learned about a tenant's secrets, and the secrets themselves when they are complete. */
export function gatherSecrets(
  config: TenantConfig,
  environment: Environment,
): { facts: SecretFacts; secrets: TenantSecrets | undefined } {
  const { source, ...document } = config;
  const listed = referencesIn(document)
    .map(({ path, reference }) => ({
      path: formatPath(path),
      name: nameOf(reference),
      value: describe(reference, { environment, directory: source.directory, roots: source.roots }),
    }))
    // A machine that only serves does not know it, and should not.
    .filter(({ path, value }) => value !== undefined || path !== "database.ownerUrl");
  try {
    return { facts: { secrets: listed, problems: [] }, secrets: resolveTenant(config, environment) };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { facts: { secrets: listed, problems: [...error.problems] }, secrets: undefined };
  }
}

export function judgeSecrets({ secrets, problems }: SecretFacts): Check[] {
  return [
    problems.length === 0
      ? ok("secrets", `all ${secrets.length} that the file refers to are there`)
      : skipped("secrets", `${problems.length} of ${secrets.length} that the file refers to are not usable`),
    ...problems.map(({ file, line, path, message }) =>
      fail(`secret ${path}`, `${message} (${file}:${line})`, remedyOf(message)),
    ),
    ...secrets.flatMap(weakness),
    judgeWebhookSecrets(secrets),
  ];
}

/** A program that was not allowed to run is no secret that is missing. */
function remedyOf(message: string): string {
  if (message.includes("--allow-exec")) return "Run it again with --allow-exec, as the server is";
  return "Set it in .env or in the environment of the server";
}

function weakness({ path, name, value }: SecretFact): Check[] {
  if (!value || value.distinctCharacters >= FEW_CHARACTERS) return [];
  const found = `${name} has ${value.bytes} bytes and only ${value.distinctCharacters} different characters`;
  return [
    warn(`secret ${path}`, `${found}: it may be guessed`, "Replace it by 32 random bytes: openssl rand -base64 32"),
  ];
}

/** Whoever holds one webhook's secret could otherwise sign for another, or for a user, or rewrite the record. */
function judgeWebhookSecrets(secrets: readonly SecretFact[]): Check {
  const isWebhook = (path: string) => path.startsWith("webhooks.");
  const shared = secrets.flatMap((one, index) =>
    secrets
      .slice(index + 1)
      .filter(
        ({ path, value }) => value && value.fingerprint === one.value?.fingerprint && [path, one.path].some(isWebhook),
      )
      .map(({ path }) => `${one.path} = ${path}`),
  );
  if (shared.length === 0) return ok("webhook secrets", "each is used once");
  return fail("webhook secrets", `the same value is used twice: ${shared.join(", ")}`, "Give each a value of its own");
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

function nameOf(reference: SecretReference): string {
  if ("env" in reference) return reference.env;
  return "file" in reference ? reference.file : "a program's output";
}
