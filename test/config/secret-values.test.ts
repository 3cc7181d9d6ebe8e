import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { loadEnvironment } from "../../src/config/environment.ts";
import { freshSecrets, randomSecret } from "../../src/config/init.ts";
import { checkSecretsAtHand, resolveTenant } from "../../src/config/resolve-tenant.ts";
import { DirectorySecrets } from "../../src/config/secrets/secret-values.ts";
import type { TenantConfig } from "../../src/config/tenant-config.ts";
import { loadTenantFile } from "../../src/config/tenant-file.ts";
import { configErrorOf, directoryWith, tenantText } from "./support.ts";

const base64 = (bytes: number, fill = "s") => `whsec_${Buffer.alloc(bytes, fill).toString("base64")}`;

/** Every place of the tenant file that takes a secret of a shape, beside those of `tenantText()`. */
const SECTIONS = {
  webhooks: `{ inbound: { secrets: [{ env: ACME_IN }], stripe: [{ env: ACME_STRIPE }], kyc: { provider: sumsub, secrets: [{ env: ACME_KYC }] } },
    outbound: [{ name: crm, url: "https://crm.example", events: [order.filled], secret: { env: ACME_OUT }, previousSecrets: [{ env: ACME_OLD_OUT }] }] }`,
  audit:
    '{ key: { env: ACME_AUDIT_KEY }, previous: [{ env: ACME_OLD_AUDIT }], anchors: { url: "https://a.example", secret: { env: ACME_ANCHOR }, previousSecrets: [{ env: ACME_OLD_ANCHOR }] } }',
  auth: "{ jwt: { algorithm: HS256, secret: { env: ACME_JWT_SECRET }, previous: [{ env: ACME_OLD_JWT }] } }",
  oracle: "{ resolutionSecret: { env: ACME_RESOLUTION }, previousResolutionSecrets: [{ env: ACME_OLD_RESOLUTION }] }",
};
const VALUES: Record<string, string> = {
  ACME_ADMIN_KEY: `sk_${"A".repeat(43)}`,
  ACME_PUBLIC_KEY: `pk_${"B".repeat(43)}`,
  ACME_JWT_SECRET: "j".repeat(32),
  ACME_AUDIT_KEY: "a".repeat(32),
  ACME_OLD_AUDIT: "an-old-audit-key-of-32-bytes-or-more",
  ACME_IN: "i".repeat(32),
  ACME_STRIPE: `whsec_${"s".repeat(24)}`,
  ACME_KYC: "k".repeat(32),
  ACME_OUT: base64(24, "o"),
  ACME_OLD_OUT: "O".repeat(32),
  ACME_ANCHOR: base64(32, "a"),
  ACME_RESOLUTION: base64(24, "r"),
  ACME_OLD_ANCHOR: base64(32, "A"),
  ACME_OLD_JWT: "J1".repeat(16),
  ACME_OLD_RESOLUTION: base64(24, "R"),
};

/** Tenants of one directory by name, with these sections. */
function load<Name extends string>(files: Record<Name, Record<string, string>>): Record<Name, TenantConfig> {
  const texts = Object.entries<Record<string, string>>(files).map(([tenant, sections]) => [
    `tenants/${tenant}/tenant.yaml`,
    tenantText({ tenant, ...sections }).replaceAll("ACME_", `${tenant.toUpperCase()}_`),
  ]);
  const directory = directoryWith(Object.fromEntries(texts));
  const configs = Object.keys(files).map((tenant) => [
    tenant,
    loadTenantFile(join(directory, "tenants", tenant, "tenant.yaml")),
  ]);
  return Object.fromEntries(configs) as Record<Name, TenantConfig>;
}

function complaints(config: TenantConfig, environment: Record<string, string>): string[] {
  const error = configErrorOf(() => resolveTenant(config, environment));
  expect([error.code, error.exitCode]).toEqual(["CONFIG_INVALID", 6]);
  for (const value of Object.values(environment))
    expect(JSON.stringify([error.message, error.problems])).not.toContain(value);
  return error.problems.map(({ path, message }) => `${path}: ${message}`);
}

describe("the shape of a value", () => {
  const tenant = () => load({ acme: SECTIONS }).acme;

  test("that fits its place is taken, and so are those that init makes up", () => {
    expect(() => resolveTenant(tenant(), VALUES)).not.toThrow();
    const secrets = Object.values(freshSecrets("acme"));
    expect(new Set(secrets).size).toBe(secrets.length);
    // The libraries of Standard Webhooks decode what follows the prefix, and refuse base64url.
    for (let round = 0; round < 50; round++)
      expect(freshSecrets("acme").ACME_WEBHOOK_SECRET).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(() =>
      resolveTenant(tenant(), { ...VALUES, ...freshSecrets("acme"), ACME_OUT: randomSecret() }),
    ).not.toThrow();
  });

  test.each<[variable: string, value: string, path: string, complaint: RegExp]>([
    ["ACME_ADMIN_KEY", `pk_${"A".repeat(43)}`, "keys.admin[0].secret", /must be sk_ and 43/],
    ["ACME_ADMIN_KEY", `sk_${"A".repeat(42)}`, "keys.admin[0].secret", /must be sk_ and 43/],
    ["ACME_ADMIN_KEY", `sk_${"A".repeat(42)}+`, "keys.admin[0].secret", /must be sk_ and 43/],
    ["ACME_ADMIN_KEY", `sk_${"A".repeat(43)}\n`, "keys.admin[0].secret", /must be sk_ and 43/],
    ["ACME_ADMIN_KEY", `SK_${"A".repeat(43)}`, "keys.admin[0].secret", /must be sk_ and 43/],
    ["ACME_ADMIN_KEY", `sk_${"A".repeat(253)}`, "keys.admin[0].secret", /43 to 252/],
    ["ACME_PUBLIC_KEY", `sk_${"C".repeat(43)}`, "keys.public[0].secret", /must be pk_ and 43/],
    ["ACME_PUBLIC_KEY", "a".repeat(46), "keys.public[0].secret", /must be pk_ and 43/],
    ["ACME_STRIPE", `whsec_${"s".repeat(23)}`, "webhooks.inbound.stripe[0]", /whsec_ and at least 24 characters/],
    ["ACME_STRIPE", "s".repeat(40), "webhooks.inbound.stripe[0]", /whsec_ and at least 24 characters/],
    ["ACME_IN", "i".repeat(31), "webhooks.inbound.secrets[0]", /at least 32 bytes/],
    ["ACME_KYC", "k".repeat(31), "webhooks.inbound.kyc.secrets[0]", /at least 32 bytes/],
    ["ACME_OUT", base64(23), "webhooks.outbound[0].secret", /base64 of at least 24 bytes/],
    ["ACME_OLD_OUT", "x".repeat(31), "webhooks.outbound[0].previousSecrets[0]", /base64 of at least 24 bytes/],
    ["ACME_RESOLUTION", base64(20).replaceAll("=", ""), "oracle.resolutionSecret", /base64 of at least 24 bytes/],
    ["ACME_OLD_RESOLUTION", "short", "oracle.previousResolutionSecrets[0]", /base64 of at least 24 bytes/],
    ["ACME_OLD_ANCHOR", "short", "audit.anchors.previousSecrets[0]", /base64 of at least 24 bytes/],
    ["ACME_OLD_JWT", "j".repeat(31), "auth.jwt.previous[0]", /at least 32 bytes/],
    ["ACME_ANCHOR", "short", "audit.anchors.secret", /base64 of at least 24 bytes/],
    ["ACME_AUDIT_KEY", "a".repeat(31), "audit.key", /at least 32 bytes/],
    ["ACME_OLD_AUDIT", "a".repeat(31), "audit.previous[0]", /at least 32 bytes/],
    ["ACME_JWT_SECRET", "j".repeat(31), "auth.jwt.secret", /at least 32 bytes/],
  ])("%s %j is refused at %s, and is not shown", (variable, value, path, complaint) => {
    const found = complaints(tenant(), { ...VALUES, [variable]: value });
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(complaint);
    expect(found[0]?.startsWith(`${path}: `)).toBe(true);
  });
});

describe("a value is used in one place only", () => {
  const tenants = () => load({ acme: SECTIONS, beta: {} });
  const BETA = {
    BETA_ADMIN_KEY: `sk_${"C".repeat(43)}`,
    BETA_PUBLIC_KEY: `pk_${"D".repeat(43)}`,
    BETA_JWT_SECRET: "J".repeat(32),
    BETA_AUDIT_KEY: "A".repeat(32),
  };
  const all: Record<string, string> = { ...VALUES, ...BETA };
  const problemsOf = (tenant: "acme" | "beta", change: Record<string, string>) =>
    complaints(tenants()[tenant], { ...all, ...change });

  test("and tenants whose values all differ are taken", () => {
    for (const config of Object.values(tenants())) expect(() => resolveTenant(config, all)).not.toThrow();
  });

  test.each([
    ["ACME_JWT_SECRET", "ACME_AUDIT_KEY", "audit.key", "auth.jwt.secret"],
    ["ACME_IN", "ACME_AUDIT_KEY", "audit.key", "webhooks.inbound.secrets[0]"],
    ["ACME_OUT", "ACME_RESOLUTION", "oracle.resolutionSecret", "webhooks.outbound[0].secret"],
    ["ACME_OUT", "ACME_ANCHOR", "audit.anchors.secret", "webhooks.outbound[0].secret"],
  ])("%s as %s is refused; both places are named", (from, to, ...places) => {
    const found = problemsOf("acme", { [to]: all[from] ?? "" });
    expect(found).toHaveLength(1);
    const text = found[0] ?? "";
    for (const place of places) expect(text).toContain(place);
    expect(text).toMatch(
      /has the same value as \S+ \(.*tenants\/acme\/tenant\.yaml:\d+:\d+\): every secret needs a value/,
    );
  });

  test("of any tenant: the own key of one is nowhere in another", () => {
    const found = problemsOf("beta", { BETA_AUDIT_KEY: VALUES.ACME_JWT_SECRET ?? "" });
    expect(found).toEqual([
      expect.stringMatching(
        /^audit\.key: has the same value as auth\.jwt\.secret \(.*tenants\/acme\/tenant\.yaml:\d+:\d+\)/,
      ),
    ]);
    // The same place of another tenant means another thing.
    expect(problemsOf("beta", { BETA_ADMIN_KEY: VALUES.ACME_ADMIN_KEY ?? "" })[0]).toContain("keys.admin[0].secret (");
    expect(problemsOf("acme", { BETA_ADMIN_KEY: VALUES.ACME_ADMIN_KEY ?? "" })[0]).toContain("beta");
  });

  test("also when a command on many tenants reads their secrets once for all of them", () => {
    const { acme, beta } = tenants();
    const shared = { ...all, BETA_AUDIT_KEY: VALUES.ACME_JWT_SECRET ?? "" };
    const directory = new DirectorySecrets(dirname(dirname(acme.source.directory)), shared);
    for (const [config, other] of [
      [acme, "beta"],
      [beta, "acme"],
    ] as const)
      expect(configErrorOf(() => resolveTenant(config, shared, directory)).message).toContain(`tenants/${other}/`);
  });

  test.each<[string, string, Record<string, string>]>([
    ["a file", "audit: { key: { file: key } }", {}],
    ["a base", "extends: ../../base.yaml", {}],
    ["an escaped name", 'audit: { key: { env: "BETA\\x5fKEY" } }', { BETA_KEY: "a".repeat(32) }],
    [
      "a name after what looks like a comment",
      'name: "x # y"\naudit: { key: { env: BETA_KEY } }',
      { BETA_KEY: "a".repeat(32) },
    ],
  ])("also one that the other tenant has by %s", (_way, sections, environment) => {
    const directory = directoryWith({
      "tenants/acme/tenant.yaml": tenantText(),
      "tenants/beta/tenant.yaml": `${tenantText({ tenant: "beta", audit: undefined }).replaceAll("ACME_", "BETA_")}${sections}\n`,
      "tenants/beta/key": `${VALUES.ACME_AUDIT_KEY}\n`,
      "base.yaml": "audit: { key: { file: key } }\n",
    });
    const config = loadTenantFile(join(directory, "tenants/acme/tenant.yaml"));
    const error = configErrorOf(() => resolveTenant(config, { ...VALUES, ...environment }));
    expect(error.message).toContain("audit.key  has the same value as audit.key (");
  });

  test("a public key that is another secret is refused, with what it is and with its shape", () => {
    const found = problemsOf("acme", { ACME_PUBLIC_KEY: VALUES.ACME_AUDIT_KEY ?? "" });
    expect(found).toHaveLength(2);
    expect(found.join("\n")).toMatch(/keys\.public\[0\]\.secret: the key must be pk_/);
    expect(found.join("\n")).toMatch(/audit\.key: has the same value as keys\.public\[0\]\.secret/);
    // One that has the shape is refused just so.
    const shaped = problemsOf("beta", { BETA_AUDIT_KEY: VALUES.ACME_PUBLIC_KEY ?? "" });
    expect(shaped).toEqual([expect.stringContaining("keys.public[0].secret (")]);
  });

  test("but places of one meaning may repeat it", () => {
    const repeated = { ...all, ACME_KYC: VALUES.ACME_IN, ACME_OLD_OUT: VALUES.ACME_OUT };
    expect(() => resolveTenant(tenants().acme, repeated as typeof all)).not.toThrow();
  });

  test("and what is at hand is checked without the rest: a validate needs no values", () => {
    const { acme } = tenants();
    expect(() => checkSecretsAtHand(acme, {})).not.toThrow();
    expect(() => checkSecretsAtHand(acme, VALUES)).not.toThrow();
    const shared = { ACME_PUBLIC_KEY: "one value", ACME_AUDIT_KEY: "one value" };
    expect(configErrorOf(() => checkSecretsAtHand(acme, shared)).problems).toHaveLength(3);
  });

  test("a tenant whose file is not sound, or that has none of its values, is no obstacle", () => {
    const directory = directoryWith({
      "tenants/acme/tenant.yaml": tenantText(),
      "tenants/beta/tenant.yaml": "nonsense",
      "tenants/gamma/tenant.yaml": tenantText({ tenant: "gamma" }).replaceAll("ACME_", "GAMMA_"),
    });
    const config = loadTenantFile(join(directory, "tenants/acme/tenant.yaml"));
    expect(() => resolveTenant(config, loadEnvironment(directory, VALUES))).not.toThrow();
  });
});
