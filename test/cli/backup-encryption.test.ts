import { execFileSync } from "node:child_process";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { generateIdentity, identityToRecipient } from "age-encryption";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { directoryWith } from "../config/support.ts";
import { BackupScene, expectRestored } from "./support/backups.ts";

let scene: BackupScene;
beforeEach(async () => {
  scene = await BackupScene.open();
});
afterEach(() => scene.close());

/** A key as age-keygen writes it: the file of the identity, and the recipient. */
async function ageKey(): Promise<{ identity: string; recipient: string }> {
  const secret = await generateIdentity();
  const recipient = await identityToRecipient(secret);
  const identity = join(directoryWith(), "key.txt");
  writeFileSync(identity, `# created: 2026-01-01T00:00:00Z\n# public key: ${recipient}\n${secret}\n`, { mode: 0o600 });
  return { identity, recipient };
}

describe("an encrypted backup", () => {
  test("is an age file that any of its recipients restores, to the letter", async () => {
    const [first, second] = [await ageKey(), await ageKey()];
    const before = await scene.everything();
    const { file, exit, data } = await scene.backup({ encryptTo: [first.recipient, second.recipient] });
    expect({ exit, encrypted: data.encrypted }).toEqual({ exit: 0, encrypted: true });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const bytes = readFileSync(file);
    expect(bytes.subarray(0, 21).toString()).toBe("age-encryption.org/v1");
    expect(bytes.includes("usr_1")).toBe(false);
    for (const [index, { identity }] of [first, second].entries()) {
      const restored = await scene.restore(file, { identity, now: Date.now() + index * 60_000 });
      expect(restored).toMatchObject({ exit: 0, data: { encrypted: true, sha256: data.sha256 } });
      expectRestored(await scene.everything(), before);
    }
  });

  test("is refused without the right identity, and when it was changed; nothing is replaced", async () => {
    const [mine, other] = [await ageKey(), await ageKey()];
    const { file } = await scene.backup({ encryptTo: [mine.recipient] });
    const before = await scene.everything();
    const bytes = readFileSync(file);
    const attempts: [Buffer, string | undefined, number, string][] = [
      [bytes, undefined, 6, "--identity"],
      [bytes, other.identity, 6, "not encrypted to an identity"],
      [bytes, "/nowhere/at/all", 6, "cannot be read"],
      [bytes, file, 6, "has no identities"],
      [bytes.subarray(0, -20), mine.identity, 8, "cannot be decrypted"],
      [bytes.subarray(0, 60), mine.identity, 8, "damaged"],
      [Buffer.concat([bytes, Buffer.from("more")]), mine.identity, 8, "cannot be decrypted"],
      [flipped(bytes, bytes.length - 30), mine.identity, 8, "cannot be decrypted"],
      [anotherShare(bytes), mine.identity, 6, "not encrypted to an identity"],
      [flipped(bytes, bytes.indexOf("\n---") + 10), mine.identity, 8, "cannot be decrypted"],
    ];
    for (const [content, identity, exit, words] of attempts) {
      writeFileSync(file, content);
      const ending = await scene.restore(file, { identity });
      expect(ending.stderr).toContain(words);
      expect(ending).toMatchObject({ exit, stdout: "" });
      // Whatever an identity file holds, none of it is repeated.
      expect(ending.stderr).not.toContain("AGE-SECRET-KEY-1");
    }
    expect(await scene.everything()).toEqual(before);
    expect(await scene.leftovers()).toEqual([]);
  });

  test("is not written to what is no recipient", async () => {
    for (const recipient of ["age1", "ssh-ed25519 AAAA", (await ageKey()).recipient.slice(0, -1)]) {
      const { exit, stderr, file } = await scene.backup({ encryptTo: [recipient] });
      expect({ exit, named: stderr.includes("--encrypt-to") }).toEqual({ exit: 6, named: true });
      expect(statSync(file, { throwIfNoEntry: false })).toBeUndefined();
    }
  });

  test("is read and written by age itself", async (context) => {
    try {
      execFileSync("age", ["--version"]);
    } catch {
      console.warn("Skipped: the program age is not installed (Debian: apt-get install age)");
      return context.skip();
    }
    const { identity, recipient } = await ageKey();
    const plain = await scene.backup();
    const { file } = await scene.backup({ encryptTo: [recipient] });
    const decrypted = execFileSync("age", ["--decrypt", "--identity", identity, file]);
    expect(gunzipSync(decrypted).toString()).toContain("pmctl-backup-v2");
    const theirs = `${plain.file}.age`;
    execFileSync("age", ["--encrypt", "--recipient", recipient, "--output", theirs, plain.file]);
    expect(await scene.restore(theirs, { identity })).toMatchObject({ exit: 0, data: { sha256: plain.data.sha256 } });
  });
});

/** Changes the public share in the header to another one that reads just as well: then the key fits no more. */
function anotherShare(bytes: Buffer): Buffer {
  const changed = Buffer.from(bytes);
  const at = changed.indexOf("X25519 ") + "X25519 ".length;
  changed.write(changed.toString("latin1", at, at + 1) === "A" ? "B" : "A", at);
  return changed;
}

function flipped(bytes: Buffer, at: number): Buffer {
  const changed = Buffer.from(bytes);
  changed[at] = (changed[at] ?? 0) ^ 1;
  return changed;
}
