import { readFile } from "node:fs/promises";
import { Fault } from "../../domain/fault.ts";
import { damaged } from "../../ledger/backup/backup-format.ts";

/** The first line of an `age` file (https://age-encryption.org/v1). */
export const AGE_MAGIC = "age-encryption.org/v1\n";

/** Turns bytes into an age file, as a stream. */
type Encryption = (source: AsyncIterable<Uint8Array>) => AsyncGenerator<Uint8Array>;

/**
 * Encrypts to recipients as `age-keygen` prints them; each recipient alone can decrypt.
 * @throws Fault USAGE for a text that is not a recipient
 */
export async function encryptionTo(recipients: readonly string[]): Promise<Encryption> {
  const { Encrypter } = await import("age-encryption");
  const encrypter = new Encrypter();
  for (const recipient of recipients) {
    try {
      encrypter.addRecipient(recipient);
    } catch (cause) {
      throw new Fault("USAGE", `--encrypt-to ${JSON.stringify(recipient)} is not an age recipient (age1…)`, { cause });
    }
  }
  return async function* encrypt(source) {
    yield* await encrypter.encrypt(ReadableStream.from(source));
  };
}

/**
 * Decrypts with a file of identities as `age-keygen` writes it.
 * @throws Fault USAGE when the file has no identities, or none that can decrypt; INTEGRITY when the encrypted bytes
 *   were changed or cut off
 */
export async function* decryptWith(
  identityFile: string,
  source: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const { Decrypter } = await import("age-encryption");
  const decrypter = new Decrypter();
  for (const identity of await readIdentities(identityFile)) {
    try {
      decrypter.addIdentity(identity);
    } catch (cause) {
      throw noIdentity(identityFile, cause);
    }
  }
  const decrypted = await decrypter.decrypt(ReadableStream.from(source)).catch((cause: Error) => {
    if (cause.message.startsWith("no identity matched"))
      throw new Fault("USAGE", `The backup is not encrypted to an identity of ${identityFile}`, { cause });
    throw damaged("it cannot be decrypted", cause);
  });
  try {
    yield* decrypted;
  } catch (cause) {
    throw cause instanceof Fault ? cause : damaged("it cannot be decrypted", cause);
  }
}

async function readIdentities(file: string): Promise<string[]> {
  const text = await readFile(file, "utf8").catch((cause: unknown) => {
    throw new Fault("USAGE", `--identity ${file} cannot be read: ${(cause as Error).message}`, { cause });
  });
  const identities = text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"));
  if (identities.length === 0) throw noIdentity(file);
  return identities;
}

/** Names the file and quotes none of its lines, because even a malformed line may be a secret. */
function noIdentity(file: string, cause?: unknown): Fault {
  return new Fault("USAGE", `${file} has no identities as age-keygen writes them (AGE-SECRET-KEY-…)`, { cause });
}
