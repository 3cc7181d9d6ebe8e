import { randomBytes } from "node:crypto";
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseEnv } from "node:util";
import { Fault } from "../domain/fault.ts";
import { isErrno } from "./environment.ts";
import { schemaFiles } from "./json-schema.ts";
import { TenantId } from "./scalars.ts";

const TEMPLATES = new URL("../../templates/", import.meta.url);

export interface InitOptions {
  tenant: string;
  template: "minimal" | "full";
  /** Text that nobody can guess, fit for a header and for `.env`. */
  makeSecret?: () => string;
}

/** One file of a new tenant. Whatever exists is kept; `lines` are appended to it when it lacks them. */
export interface InitFile {
  /** Relative to the operator's directory. */
  path: string;
  /** The whole of a new file. */
  content: string;
  mode: number;
  /** For files that tenants share: each line with a test of whether a text has it already. */
  lines?: { text: string; isIn: (content: string) => boolean }[];
}

export interface InitResult {
  created: string[];
  /** Existed already, and got the lines that this tenant needs. */
  extended: string[];
  kept: string[];
}

/** The variables of `.env` and what their values begin with, after the tenant's prefix. */
const VARIABLES: Readonly<Record<string, string>> = {
  ADMIN_KEY: "sk_",
  PUBLIC_KEY: "pk_",
  JWT_SECRET: "",
  WEBHOOK_SECRET: "",
  STRIPE_SECRET: "whsec_",
  AUDIT_KEY: "",
};

/** `my-shop` as `MY_SHOP`: what the tenant's variables begin with. */
export function environmentPrefix(tenant: string): string {
  return tenant.toUpperCase().replaceAll("-", "_");
}

/** Fresh values for the variables that a tenant's file of `pmctl init` refers to; `pmctl demo` uses them too. */
export function freshSecrets(tenant: string, makeSecret = randomSecret): Record<string, string> {
  const prefix = environmentPrefix(tenant);
  return Object.fromEntries(
    Object.entries(VARIABLES).map(([name, start]) => [`${prefix}_${name}`, `${start}${makeSecret()}`]),
  );
}

/** 256 bits, which is what keys and HS256 secrets need. */
export function randomSecret(): string {
  return randomBytes(32).toString("base64url");
}

/**
 * The files of a new tenant; touches nothing.
 *
 * @throws Fault USAGE for an id that no tenant may have
 */
export function planInit({ tenant, template, makeSecret }: InitOptions): InitFile[] {
  const id = TenantId.safeParse(tenant);
  if (!id.success)
    throw new Fault("USAGE", `A tenant's id ${id.error.issues[0]?.message} (got ${JSON.stringify(tenant)})`);
  const schemas = Object.entries(schemaFiles()).map(([name, content]) => plain(`tenants/${name}`, content));
  const secrets = Object.entries(freshSecrets(tenant, makeSecret));
  return [
    plain(`tenants/${tenant}/tenant.yaml`, fillTemplate(`tenant-${template}.yaml`, tenant)),
    plain(`tenants/${tenant}/markets/example.yaml`, fillTemplate("market-example.yaml", tenant)),
    ...schemas,
    shared(
      ".gitignore",
      0o644,
      [".env", ".pmctl/"].map((text) => ({ text, isIn: (content) => content.split(/\r?\n/).includes(text) })),
    ),
    shared(
      ".env",
      0o600,
      secrets.map(([name, value]) => ({
        text: `${name}=${value}`,
        isIn: (content) => Object.hasOwn(parseEnv(content), name),
      })),
    ),
  ];
}

/** Writes what is missing, and reports what it did. A second run finds everything in place and changes nothing. */
export function writeInit(directory: string, files: readonly InitFile[]): InitResult {
  const result: InitResult = { created: [], extended: [], kept: [] };
  for (const file of files) result[writeFile(directory, file)].push(file.path);
  return result;
}

function writeFile(directory: string, { path, content, mode, lines = [] }: InitFile): keyof InitResult {
  const target = join(directory, path);
  try {
    mkdirSync(dirname(target), { recursive: true });
    // "wx" fails when the file exists, so not even a file that appears this moment is overwritten.
    writeFileSync(target, content, { flag: "wx", mode });
    return "created";
  } catch (cause) {
    if (!isErrno(cause)) throw cause;
    if (cause.code !== "EEXIST") throw new Fault("USAGE", `${path} cannot be written (${cause.code})`, { cause });
  }
  if (lines.length === 0) return "kept";
  const existing = readFileSync(target, "utf8");
  const missing = lines.filter(({ isIn }) => !isIn(existing)).map(({ text }) => `${text}\n`);
  if (missing.length === 0) return "kept";
  appendFileSync(target, (existing === "" || existing.endsWith("\n") ? "" : "\n") + missing.join(""));
  return "extended";
}

function plain(path: string, content: string): InitFile {
  return { path, content, mode: 0o644 };
}

function shared(path: string, mode: number, lines: NonNullable<InitFile["lines"]>): InitFile {
  return { path, content: lines.map(({ text }) => `${text}\n`).join(""), mode, lines };
}

function fillTemplate(name: string, tenant: string): string {
  const title = tenant
    .split("-")
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join(" ");
  return readFileSync(new URL(name, TEMPLATES), "utf8")
    .replaceAll("<tenant>", tenant)
    .replaceAll("<TENANT>", environmentPrefix(tenant))
    .replaceAll("<Tenant>", title);
}
