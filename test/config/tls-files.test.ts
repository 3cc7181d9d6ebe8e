import { chmodSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { readCertificate } from "../../src/config/certificate.ts";
import { loadTenantFile } from "../../src/config/tenant-file.ts";
import { makePair, type TestPair } from "../support/certificates.ts";
import { complaints, configErrorOf, directoryWith, tenantText } from "./support.ts";

const TLS = "{ tls: { cert: tls/site.crt, key: { file: tls/site.key } } }";

let good: TestPair;
let other: TestPair;
let expired: TestPair;
beforeAll(async () => {
  [good, other, expired] = await Promise.all([makePair(), makePair(), makePair({ days: -3 })]);
});

function read(files: Record<string, string>, server = TLS) {
  const inFolder = Object.entries(files).map(([name, text]) => [`acme/tls/${name}`, text]);
  const directory = directoryWith({ "acme/tenant.yaml": tenantText({ server }), ...Object.fromEntries(inFolder) });
  for (const [name = ""] of inFolder) chmodSync(join(directory, name), 0o600);
  return readCertificate(loadTenantFile(join(directory, "acme/tenant.yaml")), {}, Date.now());
}

describe("the certificate of server.tls", () => {
  test("is read with its key, and tells its fingerprint and its end", () => {
    const found = read({ "site.crt": good.cert, "site.key": good.key });
    expect(found).toMatchObject({ cert: good.cert, fingerprint: expect.stringMatching(/^([0-9A-F]{2}:){31}/) });
    expect(found?.expires).toBeGreaterThan(Date.now());
  });

  test("is none where the file names none", () => {
    expect(read({}, "{ port: 1 }")).toBeUndefined();
  });

  test.each<[string, () => Record<string, string>, string]>([
    ["is missing", () => ({ "site.key": good.key }), "server.tls.cert  the file tls/site.crt does not exist"],
    ["has no key", () => ({ "site.crt": good.cert }), "server.tls.key  the secret file tls/site.key does not exist"],
    [
      "belongs to another key",
      () => ({ "site.crt": good.cert, "site.key": other.key }),
      "server.tls.key  is not the key of the certificate",
    ],
    ["has expired", () => ({ "site.crt": expired.cert, "site.key": expired.key }), "server.tls.cert  expired on "],
    ["is something else", () => ({ "site.crt": "x", "site.key": good.key }), "server.tls.cert  is not a certificate"],
    [
      "has a key that is none",
      () => ({ "site.crt": good.cert, "site.key": "x" }),
      "server.tls.key  is not a private key",
    ],
  ])("that %s is refused at its line", (_what, files, message) => {
    const error = configErrorOf(() => read(files()));
    expect(error.code).toBe("CONFIG_INVALID");
    expect(error.message).toMatch(/tenant\.yaml:\d+:\d+ {2}server\.tls\.(cert|key) {2}/);
    expect(error.message).toContain(message);
    expect(error.message).not.toContain("PRIVATE KEY-----\n");
  });

  test("takes its key by reference only, and needs both", () => {
    const literal = complaints({ server: "{ tls: { cert: a.crt, key: a.key } }" });
    expect(literal).toEqual([expect.stringMatching(/^server\.tls\.key: must be a reference/)]);
    expect(complaints({ server: "{ tls: { cert: a.crt } }" })).toEqual(["server.tls.key: is required"]);
  });
});
