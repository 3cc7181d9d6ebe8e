import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { loadEnvironment } from "../../src/config/environment.ts";
import { resolveTenant } from "../../src/config/resolve-tenant.ts";
import { fingerprint, resolveSecret } from "../../src/config/secrets/secrets.ts";
import { loadTenantFile } from "../../src/config/tenant-file.ts";
import { Fault } from "../../src/domain/fault.ts";
import { complaints, configErrorOf, directoryWith, tenantText } from "./support.ts";

const CONTEXT = { environment: {}, directory: "/nowhere", where: () => "tenants/acme/tenant.yaml:7" };

/** Values for everything that `tenantText()` refers to. */
const ENVIRONMENT = {
  ACME_ADMIN_KEY: "sk_admin-0123456789-abcdefghijklmnopqrstuvwxyz",
  ACME_PUBLIC_KEY: "pk_public-0123456789-abcdefghijklmnopqrstuvwxy",
  ACME_JWT_SECRET: "j".repeat(32),
  ACME_AUDIT_KEY: "a".repeat(32),
};

function load(sections: Record<string, string> = {}, files: Record<string, string> = {}) {
  return loadTenantFile(
    join(directoryWith({ "tenants/acme/tenant.yaml": tenantText(sections), ...files }), "tenants/acme/tenant.yaml"),
  );
}

describe("a secret", () => {
  test("by env is the variable's value", () => {
    expect(resolveSecret({ env: "A" }, { ...CONTEXT, environment: { A: " x " } })).toBe(" x ");
  });

  test("by file is the file's text without the newline at its end, relative to the tenant's folder", () => {
    const directory = directoryWith({ "acme/a": "one\n", "acme/b": "two\r\n", "acme/c": "three\n\n" });
    const read = (file: string) => resolveSecret({ file }, { environment: {}, directory: join(directory, "acme") });
    expect([read("a"), read("b"), read("c"), read(join(directory, "acme/a"))]).toEqual([
      "one",
      "two",
      "three\n",
      "one",
    ]);
  });

  test.each<[string, Parameters<typeof resolveSecret>[0], string]>([
    [
      "of a variable that is not set",
      { env: "GONE" },
      "the environment variable GONE is not set: export it, or put it into .env",
    ],
    ["of an empty variable", { env: "BLANK" }, "the environment variable BLANK is empty"],
    ["of a missing file", { file: "gone" }, "the secret file gone does not exist"],
    ["of an empty file", { file: "blank" }, "the secret file blank is empty"],
    ["of a folder", { file: "." }, "the secret file . is not a file"],
  ])("%s is refused with a sentence and the place of the reference", (_what, reference, message) => {
    const directory = directoryWith({ blank: "\n" });
    const act = () => resolveSecret(reference, { ...CONTEXT, environment: { BLANK: "" }, directory });
    expect(act).toThrow(Fault);
    expect(act).toThrow(`${message} (tenants/acme/tenant.yaml:7)`);
  });

  test("has a fingerprint that is short, stable and useless without the tenant's audit key", () => {
    expect(fingerprint("correct horse", "key one")).toMatch(/^fp:[0-9a-f]{8}$/);
    expect(fingerprint("correct horse", "key one")).toBe(fingerprint("correct horse", "key one"));
    expect(fingerprint("correct horse ", "key one")).not.toBe(fingerprint("correct horse", "key one"));
    expect(fingerprint("correct horse", "key two")).not.toBe(fingerprint("correct horse", "key one"));
  });
});

describe(".env in the operator's directory", () => {
  test("gives what the process does not have, and the process wins, also when it says nothing", () => {
    const directory = directoryWith({ ".env": "# comment\nA=file\nexport B='quoted file'\nC=file\n" });
    expect(loadEnvironment(directory, { A: "own", C: "" })).toEqual({ A: "own", B: "quoted file", C: "" });
  });

  test("cannot give leave to run programs: only the process can", () => {
    const directory = directoryWith({ ".env": "PMCTL_ALLOW_EXEC=1" });
    expect(loadEnvironment(directory, {})).toEqual({});
    expect(loadEnvironment(directory, { PMCTL_ALLOW_EXEC: "1" })).toEqual({ PMCTL_ALLOW_EXEC: "1" });
  });

  test("cannot say where the keys of the process go: only the process can", () => {
    const files = { ".env": "PMCTL_URL_ACME=https://a.example\nPMCTL_URL_MY_SHOP=https://b.example" };
    expect(loadEnvironment(directoryWith(files), {})).toEqual({});
    const own = { PMCTL_URL_ACME: "https://c.example" };
    expect(loadEnvironment(directoryWith(files), own)).toEqual(own);
  });

  test("need not exist", () => {
    expect(loadEnvironment(directoryWith(), { A: "own" })).toEqual({ A: "own" });
  });

  test("is refused when it cannot be read", () => {
    expect(() => loadEnvironment(directoryWith({ ".env/x": "" }), {})).toThrow(/\.env cannot be read \(EISDIR\)/);
  });
});

describe("resolveTenant", () => {
  test("gives everything that serving needs", () => {
    const config = load(
      {
        database: "{ url: { env: ACME_DATABASE_URL } }",
        webhooks: `{ inbound: { secrets: [{ file: inbound }], stripe: [{ file: stripe }] },
          outbound: [{ name: crm, url: "https://crm.example", events: [order.filled], secret: { file: crm } }] }`,
        oracle:
          "{ sources: { pyth: { headers: { authorization: { env: ACME_PYTH_KEY }, accept: application/json } } } }",
      },
      {
        "pmctl.yaml": 'version: 1\nsecrets: { destinations: { "env ACME_PYTH_KEY": [hermes.pyth.network] } }',
        "tenants/acme/inbound": "inbound-0123456789abcdefghijklmnop",
        "tenants/acme/stripe": "whsec_0123456789abcdefghijklmn",
        "tenants/acme/crm": "crm-0123456789abcdefghijklmnopqrst",
      },
    );
    const environment = { ...ENVIRONMENT, ACME_DATABASE_URL: "postgres://x/acme", ACME_PYTH_KEY: "Bearer p" };
    expect(resolveTenant(config, environment)).toEqual({
      keys: [
        { type: "admin", name: "ops", value: ENVIRONMENT.ACME_ADMIN_KEY, scopes: ["*"], from: [], expires: undefined },
        { type: "public", name: "web", value: ENVIRONMENT.ACME_PUBLIC_KEY, scopes: [], from: [], expires: undefined },
      ],
      jwt: {
        algorithm: "HS256",
        secret: ENVIRONMENT.ACME_JWT_SECRET,
        previous: [],
        issuer: undefined,
        audience: undefined,
      },
      auditKey: ENVIRONMENT.ACME_AUDIT_KEY,
      previousAuditKeys: [],
      anchors: [],
      databaseUrl: "postgres://x:5432/acme",
      webhooks: {
        inbound: {
          kyc: { secrets: ["inbound-0123456789abcdefghijklmnop"], scheme: "any" },
          payments: { secrets: ["inbound-0123456789abcdefghijklmnop"], scheme: "any" },
          oracle: { secrets: ["inbound-0123456789abcdefghijklmnop"], scheme: "any" },
        },
        stripe: ["whsec_0123456789abcdefghijklmn"],
        outbound: { crm: ["crm-0123456789abcdefghijklmnopqrst"] },
      },
      resolutionSecrets: ["inbound-0123456789abcdefghijklmnop"],
      sourceHeaders: { pyth: { authorization: "Bearer p", accept: "application/json" } },
      sourceQueries: { pyth: {} },
    });
  });

  test("an inbound endpoint has its own secrets, and takes the shared ones without", () => {
    const text = (name: string) => `${name}: a secret of its own, at least 32 bytes`;
    const at = (inbound: string) =>
      resolveTenant(
        load(
          { webhooks: `{ inbound: ${inbound} }` },
          Object.fromEntries(["shared", "kyc", "generic", "pay"].map((name) => [`tenants/acme/${name}`, text(name)])),
        ),
        ENVIRONMENT,
      );
    const own = at(`{ secrets: [{ file: shared }], payments: { secrets: [{ file: pay }], scheme: v2 },
      kyc: { secrets: [{ file: kyc }] }, oracle: { scheme: v2 } }`);
    expect(own.webhooks).toMatchObject({
      kyc: undefined,
      inbound: {
        kyc: { secrets: [text("kyc")], scheme: "any" },
        payments: { secrets: [text("pay")], scheme: "v2" },
        oracle: { secrets: [text("shared")], scheme: "v2" },
      },
    });
    expect(own.resolutionSecrets).toEqual([text("shared")]);
    const provider = at("{ secrets: [{ file: shared }], kyc: { provider: veriff, secrets: [{ file: kyc }] } }");
    expect(provider.webhooks).toMatchObject({
      kyc: { provider: "veriff", secrets: [text("kyc")] },
      inbound: { kyc: { secrets: [text("shared")] } },
    });
    const both = at("{ kyc: { provider: veriff, secrets: [{ file: kyc }], genericSecrets: [{ file: generic }] } }");
    expect(both.webhooks.inbound).toEqual({
      kyc: { secrets: [text("generic")], scheme: "any" },
      payments: { secrets: [], scheme: "any" },
      oracle: { secrets: [], scheme: "any" },
    });
    // A service that pushes prices does not answer for settlements too.
    expect(at("{ oracle: { secrets: [{ file: pay }] } }").resolutionSecrets).toEqual([]);
  });

  test("a missing shared secret is one problem, however many endpoints take it", () => {
    const config = load({ webhooks: "{ inbound: { secrets: [{ env: ACME_MISSING }] } }" });
    expect(configErrorOf(() => resolveTenant(config, ENVIRONMENT)).problems).toHaveLength(1);
  });

  test.each([
    ["{ kyc: { provider: veriff } }", "webhooks.inbound.kyc.secrets: is required with provider: veriff"],
    [
      "{ kyc: { genericSecrets: [{ env: ACME_A }] } }",
      "webhooks.inbound.kyc.genericSecrets: can only be used together with provider: write secrets instead",
    ],
  ])("a tenant file with inbound: %s is refused", (inbound, complaint) => {
    expect(complaints({ webhooks: `{ inbound: ${inbound} }` })).toEqual([complaint]);
  });

  test("keys that sealed earlier entries are resolved beside the current one", () => {
    const config = load({ audit: "{ key: { env: ACME_AUDIT_KEY }, previous: [{ env: ACME_OLD_KEY }] }" });
    const secrets = resolveTenant(config, { ...ENVIRONMENT, ACME_OLD_KEY: "an-earlier-audit-key-of-32-bytes-or-more" });
    expect(secrets).toMatchObject({
      auditKey: ENVIRONMENT.ACME_AUDIT_KEY,
      previousAuditKeys: ["an-earlier-audit-key-of-32-bytes-or-more"],
    });
    expect(configErrorOf(() => resolveTenant(config, ENVIRONMENT)).message).toContain("ACME_OLD_KEY");
  });

  test("a key set's file is found from the tenant's folder", () => {
    const config = load({ auth: "{ jwt: { algorithm: ES256, jwks: { file: keys.json }, issuer: me } }" });
    const { jwt } = resolveTenant(config, ENVIRONMENT);
    expect(jwt).toMatchObject({
      algorithm: "ES256",
      jwks: { file: join(config.source.directory, "keys.json") },
      issuer: "me",
    });
  });

  test("every secret that is missing is named in one error, each at its place, which exits with 6", () => {
    const error = configErrorOf(() => resolveTenant(load(), { ACME_JWT_SECRET: ENVIRONMENT.ACME_JWT_SECRET }));
    expect(error).toMatchObject({ code: "CONFIG_INVALID", exitCode: 6 });
    expect(error.problems.map(({ line, path }) => `${line} ${path}`)).toEqual([
      "4 keys.admin[0].secret",
      "4 keys.public[0].secret",
      "6 audit.key",
    ]);
    expect(error.message).toMatch(
      /tenant\.yaml:4:\d+ {2}keys\.admin\[0\]\.secret {2}the environment variable ACME_ADMIN_KEY is not set/,
    );
  });

  test.each<[string, Record<string, string>, string]>([
    [
      "an HS256 secret of 31 bytes",
      { ACME_JWT_SECRET: "j".repeat(31) },
      "auth.jwt.secret: the secret must have at least 32 bytes",
    ],
    [
      "an audit key of 31 bytes",
      { ACME_AUDIT_KEY: "a".repeat(31) },
      "audit.key: the secret must have at least 32 bytes",
    ],
  ])("%s is refused, and the value is not shown", (_what, changed, complaint) => {
    const error = configErrorOf(() => resolveTenant(load(), { ...ENVIRONMENT, ...changed }));
    expect(error.problems.map(({ path, message }) => `${path}: ${message}`)).toEqual([complaint]);
    for (const value of Object.values(changed))
      expect(JSON.stringify([error.message, error.problems])).not.toContain(value);
  });
});
