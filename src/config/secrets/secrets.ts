import { createHmac } from "node:crypto";
import { resolve } from "node:path";
import { Fault } from "../../domain/fault.ts";
import { readBelow, UnusableFile } from "../bounded-file.ts";
import { SECRET_WARNING } from "../environment.ts";
import type { SecretReference } from "../schema/scalars.ts";
import { type ProgramContext, readFromProgram, readFromSops } from "./secret-programs.ts";

const MAX_SECRET_KIB = 64;

interface SecretContext extends ProgramContext {
  /** The place of the reference, as `file:line:column`; asked for an error, because it takes parsing the file. */
  where?: () => string;
  /** Receives the warning about a questionable file that is used anyway; by default a process warning. */
  warn?: (message: string) => void;
}

/** The value of a reference that needs no program; undefined for others. Warns about no file. */
export function valueAtHand(reference: SecretReference, context: SecretContext): string | undefined {
  if ("exec" in reference || "sops" in reference) return undefined;
  try {
    return resolveSecret(reference, { ...context, warn: () => {} });
  } catch (error) {
    if (error instanceof Fault) return undefined;
    throw error;
  }
}

/**
 * The value of a reference.
 *
 * @throws Fault CONFIG_INVALID if there is none; the message names the variable or the file, never a value
 */
export function resolveSecret(reference: SecretReference, context: SecretContext): string {
  const { environment, where } = context;
  const fail = (message: string, cause?: unknown) =>
    new Fault("CONFIG_INVALID", where === undefined ? message : `${message} (${where()})`, { cause });
  if ("env" in reference) {
    const value = environment[reference.env];
    if (value === undefined)
      throw fail(`the environment variable ${reference.env} is not set: export it, or put it into .env`);
    if (value === "") throw fail(`the environment variable ${reference.env} is empty`);
    return value;
  }
  if ("file" in reference) return readSecretFile(reference.file, context, fail);
  let value: string;
  try {
    value = "exec" in reference ? readFromProgram(reference, context) : readFromSops(reference, context);
  } catch (cause) {
    throw fail((cause as Error).message);
  }
  if (value === "") throw fail(`the ${describeReference(reference)} returned an empty secret`);
  return value;
}

/** A short description of a reference for messages and lists: the place of the secret, never its value. */
export function describeReference(reference: SecretReference): string {
  if ("env" in reference) return `env ${reference.env}`;
  if ("file" in reference) return `file ${reference.file}`;
  // Arguments may contain secrets.
  if ("exec" in reference) return `program ${reference.exec[0]}`;
  return `sops ${reference.sops} ${reference.path}`;
}

type Fail = (message: string, cause?: unknown) => Fault;

function readSecretFile(
  shown: string,
  { directory, roots = [], warn = warnOfFile }: SecretContext,
  fail: Fail,
): string {
  let bytes: Buffer;
  let mode: number;
  try {
    ({ bytes, mode } = readBelow(resolve(directory, shown), [directory, ...roots], MAX_SECRET_KIB));
  } catch (cause) {
    if (!(cause instanceof UnusableFile)) throw cause;
    throw fail(`the secret file ${shown} ${cause.message}`, cause);
  }
  // A file that every user can replace is not secret. Container platforms mount secrets readable for every user.
  if (mode & 0o002)
    throw fail(`the secret file ${shown} is writable for every user of this machine: run chmod o= on it`);
  if (mode & 0o004) warn(fail(`the secret file ${shown} is readable for every user of this machine`).message);
  // Editors and `echo` add a final newline, which is not part of the secret.
  const value = bytes.toString("utf8").replace(/\r?\n$/, "");
  if (value === "") throw fail(`the secret file ${shown} is empty`);
  return value;
}

function warnOfFile(message: string): void {
  process.emitWarning(message, { type: SECRET_WARNING });
}

/**
 * A short name for a secret's value, such as `fp:7c1e90ab`, which is all that plans and lists show. Equal values have
 * equal names. It is keyed, so that a weak secret cannot be found by trying words.
 *
 * @param key the tenant's audit key, which stays with the operator
 */
export function fingerprint(secret: string, key: string): string {
  // A derived key, because the audit key itself is only for the chain.
  const ownKey = createHmac("sha256", key).update("pmctl-fingerprint-v1").digest();
  return `fp:${createHmac("sha256", ownKey).update(secret).digest("hex").slice(0, 8)}`;
}
