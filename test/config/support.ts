import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { ConfigError, type Problem } from "../../src/config/config-error.ts";
import type { TenantConfig } from "../../src/config/tenant-config.ts";
import { parseTenantFile } from "../../src/config/tenant-file.ts";

/** The sections that a file needs, one a line, for tests to replace. */
const REQUIRED: Record<string, string> = {
  version: "1",
  tenant: "acme",
  baseUrl: "https://predict.acme.example",
  keys: "{ admin: [{ name: ops, secret: { env: ACME_ADMIN_KEY } }], public: [{ name: web, secret: { env: ACME_PUBLIC_KEY } }] }",
  auth: "{ jwt: { algorithm: HS256, secret: { env: ACME_JWT_SECRET } } }",
  audit: "{ key: { env: ACME_AUDIT_KEY } }",
};

/** A sound tenant file with some sections replaced or added; `undefined` leaves one out. */
export function tenantText(sections: Record<string, string | undefined> = {}): string {
  return Object.entries({ ...REQUIRED, ...sections })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}:${value?.startsWith("\n") ? "" : " "}${value}\n`)
    .join("");
}

export function parse(text: string, file = "tenants/acme/tenant.yaml"): TenantConfig {
  return parseTenantFile(text, file);
}

/** The error that a text is refused with. */
export function refusal(text: string, file = "tenants/acme/tenant.yaml"): ConfigError {
  return configErrorOf(() => parseTenantFile(text, file));
}

export function problemsOf(text: string): readonly Problem[] {
  return refusal(text).problems;
}

/** `path: message` of every problem, for tests that do not look at positions. */
export function complaints(sections: Record<string, string | undefined>): string[] {
  return problemsOf(tenantText(sections)).map(({ path, message }) => `${path}: ${message}`);
}

export function configErrorOf(act: () => unknown): ConfigError {
  try {
    act();
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error("expected a ConfigError, and nothing was thrown");
}

/** A folder of its own with these files, gone after the test. */
export function directoryWith(files: Record<string, string | Buffer> = {}): string {
  const directory = mkdtempSync(join(tmpdir(), "pmctl-config-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), content);
  }
  return directory;
}
