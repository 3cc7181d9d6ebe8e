import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { Fault } from "../domain/fault.ts";
import { type Environment, isErrno } from "./environment.ts";
import type { SecretReference } from "./scalars.ts";

export type { SecretReference } from "./scalars.ts";

const MAX_SECRET_BYTES = 64 * 1024;

export interface SecretContext {
  environment: Environment;
  /** What file references are relative to: the tenant's folder. */
  directory: string;
  /** Where the reference stands, as `file:line`. */
  where?: string;
}

/**
 * The value behind a reference.
 *
 * @throws Fault CONFIG_INVALID when there is none; the text names the variable or the file, never a value
 */
export function resolveSecret(reference: SecretReference, { environment, directory, where }: SecretContext): string {
  const fail = (message: string, cause?: unknown) =>
    new Fault("CONFIG_INVALID", where === undefined ? message : `${message} (${where})`, { cause });
  if ("env" in reference) {
    const value = environment[reference.env];
    if (value === undefined)
      throw fail(`the environment variable ${reference.env} is not set: export it, or put it into .env`);
    if (value === "") throw fail(`the environment variable ${reference.env} is empty`);
    return value;
  }
  if ("file" in reference) return readSecretFile(resolve(directory, reference.file), reference.file, fail);
  throw fail(`secrets by ${"exec" in reference ? "exec" : "sops"} are not supported yet`);
}

type Fail = (message: string, cause?: unknown) => Fault;

function readSecretFile(file: string, shown: string, fail: Fail): string {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (cause) {
    const reason = isErrno(cause) && cause.code === "ENOENT" ? "does not exist" : "cannot be read";
    throw fail(`the secret file ${shown} ${reason}`, cause);
  }
  if (bytes.length > MAX_SECRET_BYTES) throw fail(`the secret file ${shown} is larger than 64 KiB`);
  // Editors and `echo` end a file with a newline that is no part of the secret.
  const value = bytes.toString("utf8").replace(/\r?\n$/, "");
  if (value === "") throw fail(`the secret file ${shown} is empty`);
  return value;
}

/**
 * A short name for a secret's value, such as `fp:7c1e90ab`: equal for equal values, and all that plans and logs show.
 * Thirty-two bits tell nothing of a random secret. The prefix keeps the hash from being one that is stored elsewhere
 * (API keys are kept as their plain SHA-256).
 */
export function fingerprint(secret: string): string {
  return `fp:${createHash("sha256").update(`pmctl-fingerprint-v1\n${secret}`).digest("hex").slice(0, 8)}`;
}
