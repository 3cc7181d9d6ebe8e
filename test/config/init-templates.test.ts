import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { describe, expect, test } from "vitest";
import { environmentPrefix, loadEnvironment } from "../../src/config/environment.ts";
import { freePorts, freshSecrets, type InitOptions, planInit, writeInit } from "../../src/config/init.ts";
import { resolveTenant } from "../../src/config/resolve-tenant.ts";
import { loadTenant } from "../../src/config/tenant-file.ts";
import { openWorkspace, tenantPath } from "../../src/config/workspace.ts";
import { directoryWith } from "./support.ts";

const ALL = [
  "tenants/acme/tenant.yaml",
  "tenants/acme/markets/example.yaml",
  "tenants/acme/tests/example.yaml",
  "tenants/tenant.schema.json",
  "tenants/market.schema.json",
  "tenants/case.schema.json",
  ".gitignore",
  ".env",
];

function init(directory: string, options: Partial<InitOptions> = {}) {
  return writeInit(directory, planInit({ tenant: "acme", template: "minimal", ...options }));
}

function contentsOf(directory: string): Record<string, string> {
  const files = readdirSync(directory, { recursive: true, encoding: "utf8" }).filter((path) =>
    statSync(join(directory, path)).isFile(),
  );
  return Object.fromEntries(files.map((path) => [path, readFileSync(join(directory, path), "utf8")]));
}

test("the full template has every section of the schema but those that its first lines name", () => {
  const read = (name: string) => readFileSync(new URL(`../../templates/${name}`, import.meta.url), "utf8");
  const { properties } = JSON.parse(read("tenant.schema.json"));
  const template = read("tenant-full.yaml");
  const missing = Object.keys(properties).filter((section) => !new RegExp(`^${section}:`, "m").test(template));
  expect(missing).toEqual(["extends", "rules"]);
  for (const section of missing) expect(template.split("\n")[1]).toContain(`\`${section}\``);
});

describe.each(["minimal", "full"] as const)("init with the %s template", (template) => {
  test("makes a tenant in an empty directory that validates and resolves as it is", () => {
    const directory = directoryWith();
    expect(init(directory, { template })).toEqual({ created: ALL, extended: [], kept: [] });
    expect(openWorkspace(directory).tenants).toEqual(["acme"]);

    const { config, markets } = loadTenant(tenantPath(directory, "acme"));
    expect(config).toMatchObject({ tenant: "acme", name: "Acme", baseUrl: "https://predict.acme.example" });
    expect(markets).toMatchObject([{ key: "bern-rain", state: "open" }]);
    // Its own first user trades without an identity check, from anywhere.
    expect(config).toMatchObject({ kyc: { required: false }, policy: { jurisdictions: { allowed: [], blocked: [] } } });

    const secrets = resolveTenant(config, loadEnvironment(directory, {}));
    expect(secrets.keys.map(({ value }) => value.slice(0, 3))).toEqual(["sk_", "pk_"]);
    expect(secrets.webhooks.stripe[0]).toMatch(/^whsec_/);
  });

  test("a second tenant gets ports of its own, and both validate", () => {
    const directory = directoryWith();
    const ports = () => freePorts(directory, "zeta");
    expect(ports()).toEqual({ port: 8080, opsPort: 9464 });
    init(directory, { template });
    expect(ports()).toEqual({ port: 8081, opsPort: 9465 });
    init(directory, { template, tenant: "zeta", ports: ports() });
    expect(loadTenant(tenantPath(directory, "zeta")).config.server).toMatchObject({ port: 8081, opsPort: 9465 });
    // Its own file is no neighbour, and one that is not sound has no ports.
    expect(ports()).toEqual({ port: 8081, opsPort: 9465 });
    writeFileSync(join(directory, "tenants/acme/tenant.yaml"), "version: [");
    expect(ports()).toEqual({ port: 8080, opsPort: 9464 });
  });

  test("starts with the line that gives editors the schema, and leaves no placeholder", () => {
    const [tenantFile] = planInit({ tenant: "my-shop", template });
    expect(tenantFile?.content.startsWith("# yaml-language-server: $schema=../tenant.schema.json\n")).toBe(true);
    expect(tenantFile?.content).not.toMatch(/<tenant>/i);
    expect(tenantFile?.content).toContain("MY_SHOP_ADMIN_KEY");
    expect(tenantFile?.content).toContain("name: My Shop");
  });
});

test("the full template shows every section of the file", () => {
  const full = planInit({ tenant: "acme", template: "full" })[0]?.content ?? "";
  const minimal = planInit({ tenant: "acme", template: "minimal" })[0]?.content ?? "";
  const sections = ["database", "treasury", "oracle", "network", "embed", "cors", "sandbox"];
  for (const section of sections) {
    expect(full).toMatch(new RegExp(`^${section}:`, "m"));
    expect(minimal).not.toMatch(new RegExp(`^${section}:`, "m"));
  }
  // A new tenant's operator does not wait for its traders.
  for (const file of [full, minimal]) expect(file).toMatch(/^rateLimit:\n( {2}.*\n)* {2}adminPerMinute: 600 /m);
});

describe(".env", () => {
  test("holds fresh secrets of 256 bits under the tenant's names, for the operator's eyes only", () => {
    const [one, two] = [directoryWith(), directoryWith()];
    init(one);
    init(two);
    const [first, second] = [one, two].map((directory) => parseEnv(readFileSync(join(directory, ".env"), "utf8")));
    expect(Object.keys(first ?? {}).toSorted()).toEqual([
      "ACME_ADMIN_KEY",
      "ACME_AUDIT_KEY",
      "ACME_JWT_SECRET",
      "ACME_PUBLIC_KEY",
      "ACME_STRIPE_SECRET",
      "ACME_WEBHOOK_SECRET",
    ]);
    for (const [name, value] of Object.entries(first ?? {})) {
      expect(value).toMatch(/^(?:(?:sk_|pk_)?[\w-]{43}|whsec_[A-Za-z0-9+/]{43}=)$/);
      expect(second?.[name]).not.toBe(value);
    }
    expect(statSync(join(one, ".env")).mode & 0o777).toBe(0o600);
  });

  test("is ignored by git", () => {
    const directory = directoryWith();
    execFileSync("git", ["init", "-q", directory]);
    init(directory);
    const tracked = execFileSync("git", ["-C", directory, "status", "--porcelain", "-uall"], { encoding: "utf8" });
    expect(tracked).toContain("tenants/acme/tenant.yaml");
    expect(tracked).not.toContain(".env");
  });

  test("of another tenant gets only what is missing, after what it has", () => {
    const existing = "OTHER=1\nACME_JWT_SECRET=mine\nACME_AUDIT_KEY=";
    const directory = directoryWith({ ".env": existing, ".gitignore": "node_modules\n.env" });
    expect(init(directory)).toMatchObject({ extended: [".gitignore", ".env"], kept: [] });
    const content = readFileSync(join(directory, ".env"), "utf8");
    expect(content.startsWith(`${existing}\n`)).toBe(true);
    expect(parseEnv(content)).toMatchObject({ OTHER: "1", ACME_JWT_SECRET: "mine", ACME_AUDIT_KEY: "" });
    expect(content.match(/^ACME_ADMIN_KEY=sk_/gm)).toHaveLength(1);
    expect(readFileSync(join(directory, ".gitignore"), "utf8")).toBe("node_modules\n.env\n.pmctl/\n*.backup.gz*\n");
  });
});

describe("a second init", () => {
  test("overwrites nothing and adds nothing", () => {
    const directory = directoryWith();
    init(directory);
    writeFileSync(join(directory, "tenants/acme/tenant.yaml"), "edited: true\n");
    const before = contentsOf(directory);
    expect(init(directory, { template: "full" })).toEqual({ created: [], extended: [], kept: ALL });
    expect(contentsOf(directory)).toEqual(before);
  });

  test("for another tenant shares the schemas and the .env", () => {
    const directory = directoryWith();
    init(directory);
    expect(init(directory, { tenant: "zeta" })).toEqual({
      created: ["tenants/zeta/tenant.yaml", "tenants/zeta/markets/example.yaml", "tenants/zeta/tests/example.yaml"],
      extended: [".env"],
      kept: ["tenants/tenant.schema.json", "tenants/market.schema.json", "tenants/case.schema.json", ".gitignore"],
    });
  });
});

test("an id that no tenant may have is refused before anything is written", () => {
  for (const tenant of ["", "Acme", "a/b", "../up", "1st", "a".repeat(41)])
    expect(() => planInit({ tenant, template: "minimal" })).toThrow(/^A tenant's id must be a lower-case letter/);
});

test("a file where a folder is needed is a refusal, not a crash", () => {
  expect(() => init(directoryWith({ tenants: "a file" }))).toThrow(/cannot be written \(E/);
});

test("names of variables are upper case with _ for -", () => {
  expect(environmentPrefix("my-shop-2")).toBe("MY_SHOP_2");
  expect(freshSecrets("my-shop", () => "eHh4eA")).toMatchObject({
    MY_SHOP_ADMIN_KEY: "sk_eHh4eA",
    MY_SHOP_STRIPE_SECRET: "whsec_eHh4eA==",
  });
});
