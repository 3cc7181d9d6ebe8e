import { X509Certificate } from "node:crypto";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { hostname, networkInterfaces } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { selfSigned, selfSignedFile } from "../../src/app/serve/self-signed.ts";

const DAY_MS = 86_400_000;
const now = Date.now();

const address = Object.values(networkInterfaces())
  .flatMap((all) => all ?? [])
  .find((one) => one.family === "IPv4" && !one.internal && !one.address.startsWith("169.254."))?.address;

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp("/tmp/pmctl-tls-");
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const make = (host = "127.0.0.1", at = now) => selfSigned(directory, "acme", host, at);

describe("the certificate that a directory signs", () => {
  test("is for the loopback names and the host, says that it signs nothing, and is kept where git does not look", async () => {
    const { cert } = await make("192.0.2.7");
    const parsed = new X509Certificate(cert);
    expect(parsed.checkHost("localhost")).toBe("localhost");
    for (const address of ["127.0.0.1", "::1", "192.0.2.7"]) expect(parsed.checkIP(address)).toBe(address);
    expect(parsed.ca).toBe(false);
    const file = selfSignedFile(directory, "acme");
    expect(await readFile(file, "utf8")).toBe(cert);
    expect(cert).toMatch(/\n-----END CERTIFICATE-----\n$/);
    expect((await stat(file.replace(/crt$/, "key"))).mode & 0o777).toBe(0o600);
    expect(await readFile(join(directory, ".pmctl", ".gitignore"), "utf8")).toBe("*\n");
  });

  test("is the same the next time, and made anew a month before it expires", async () => {
    const first = await make();
    expect(await make()).toEqual(first);
    expect(await make("127.0.0.1", now + 330 * DAY_MS)).toEqual(first);
    const renewed = await make("127.0.0.1", now + 336 * DAY_MS);
    expect(renewed.fingerprint).not.toBe(first.fingerprint);
    expect(renewed.expires).toBeGreaterThan(now + 700 * DAY_MS);
  });

  test("takes up another host and keeps the names that it had, so that two servers do not replace each other's", async () => {
    await make("192.0.2.7");
    const both = await make("::");
    const parsed = new X509Certificate(both.cert);
    expect(parsed.checkIP("192.0.2.7")).toBe("192.0.2.7");
    expect(parsed.checkHost(hostname())).toBeDefined();
    expect(await make("192.0.2.7")).toEqual(both);
  });

  test.runIf(address)("names the address that a phone is shown when the server listens on every one", async () => {
    const { cert } = await make("0.0.0.0");
    expect(new X509Certificate(cert).checkIP(address ?? "")).toBe(address);
  });

  test("is one, however many ask for the first at once", async () => {
    const made = await Promise.all([make(), make(), make(), make()]);
    expect(new Set(made.map(({ fingerprint }) => fingerprint)).size).toBe(1);
  });

  test("is made anew where a file of the two is broken", async () => {
    await make();
    await writeFile(selfSignedFile(directory, "acme"), "half of it");
    const { cert } = await make();
    expect(await readFile(selfSignedFile(directory, "acme"), "utf8")).toBe(cert);
  });
});
