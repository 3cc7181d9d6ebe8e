import { randomBytes } from "node:crypto";
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseEnv } from "node:util";
import { Fault } from "../domain/fault.ts";
import { type FieldRow, POLICY_FIELDS, rowOf } from "../domain/policy/fields.ts";
import { unlessUnsound } from "./config-error.ts";
import { environmentPrefix, isErrno } from "./environment.ts";
import { schemaFiles } from "./schema/file-schemas.ts";
import { BaseUrl } from "./schema/scalars.ts";
import { loadTenantFile } from "./tenant-file.ts";
import { openWorkspace, problemOfTenant, tenantPath } from "./workspace.ts";

const TEMPLATES = new URL("../../templates/", import.meta.url);

export const CI_SERVICES = ["github", "gitlab", "none"] as const;
export type CiService = (typeof CI_SERVICES)[number];

export interface InitOptions {
  tenant: string;
  template: "minimal" | "full";
  /** The CI service to write a workflow for. */
  ci?: CiService | undefined;
  /** The tenant's address for traders; a reserved example name by default. */
  baseUrl?: string | undefined;
  /** The ports to serve on; the file's defaults by default. */
  ports?: Ports | undefined;
  /** Makes unguessable text for a header or `.env`. */
  makeSecret?: () => string;
}

/** `server.port` and `server.opsPort`. */
export interface Ports {
  port: number;
  opsPort: number;
}

/** One file of a new tenant. An existing file is kept; missing `lines` are appended to it. */
export interface InitFile {
  /** The path relative to the operator's directory. */
  path: string;
  /** The contents of a new file. */
  content: string;
  mode: number;
  /** For files that tenants share: each line, and whether a text already contains it. */
  lines?: { text: string; isIn: (content: string) => boolean }[];
}

export interface InitResult {
  created: string[];
  /** Existing files that got the missing lines of this tenant. */
  extended: string[];
  kept: string[];
}

/** The prefix of secrets for Standard Webhooks. */
const WEBHOOK_PREFIX = "whsec_";

/** The variables of `.env` without the tenant's prefix, and the beginnings of their values. */
const VARIABLES: Readonly<Record<string, string>> = {
  ADMIN_KEY: "sk_",
  PUBLIC_KEY: "pk_",
  JWT_SECRET: "",
  WEBHOOK_SECRET: WEBHOOK_PREFIX,
  STRIPE_SECRET: "whsec_",
  AUDIT_KEY: "",
};

/** New values for the variables in a tenant file of `pmctl init`; `pmctl demo` uses them too. */
export function freshSecrets(tenant: string, makeSecret = randomSecret): Record<string, string> {
  const prefix = environmentPrefix(tenant);
  return Object.fromEntries(
    Object.entries(VARIABLES).map(([name, start]) => [
      `${prefix}_${name}`,
      start === WEBHOOK_PREFIX ? webhookSecret(makeSecret()) : `${start}${makeSecret()}`,
    ]),
  );
}

/** A new value for a rotated secret of the tenant file. */
export function freshSecret(type: "webhook" | "audit"): string {
  return type === "webhook" ? webhookSecret(randomSecret()) : randomSecret();
}

/** A secret in the form for libraries of Standard Webhooks: the prefix and base64. @param secret base64url */
function webhookSecret(secret: string): string {
  return `${WEBHOOK_PREFIX}${Buffer.from(secret, "base64url").toString("base64")}`;
}

/** 256 bits, as keys and HS256 secrets need. */
export function randomSecret(): string {
  return randomBytes(32).toString("base64url");
}

/**
 * The files of a new tenant, without writing them.
 *
 * @throws Fault USAGE for an invalid tenant id or base URL
 */
export function planInit({ tenant, template, ci = "none", baseUrl, ports, makeSecret }: InitOptions): InitFile[] {
  const problem = problemOfTenant(tenant) ?? (baseUrl === undefined ? undefined : problemOfBaseUrl(baseUrl));
  if (problem !== undefined) throw new Fault("USAGE", problem);
  const schemas = Object.entries(schemaFiles("tenant", "market", "case")).map(([name, content]) =>
    plain(`tenants/${name}`, content),
  );
  const secrets = Object.entries(freshSecrets(tenant, makeSecret));
  return [
    plain(`tenants/${tenant}/tenant.yaml`, withPorts(tenantFile({ tenant, template, baseUrl }), ports)),
    plain(`tenants/${tenant}/markets/example.yaml`, fillTemplate("market-example.yaml", tenant)),
    plain(`tenants/${tenant}/tests/example.yaml`, fillTemplate("case-example.yaml", tenant)),
    ...schemas,
    ...workflow(tenant, ci),
    shared(
      ".gitignore",
      0o644,
      [".env", ".pmctl/", "*.backup.gz*"].map((text) => ({
        text,
        isIn: (content) => content.split(/\r?\n/).includes(text),
      })),
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

function tenantFile({ tenant, template, baseUrl }: Pick<InitOptions, "tenant" | "template" | "baseUrl">): string {
  return fillTemplate(`tenant-${template}.yaml`, tenant, baseUrl).replace(
    /^ *<policy>\n/m,
    template === "full" ? policyLines() : policyLines(({ template }) => template?.minimal === true),
  );
}

/** The lines of a `policy` section with the defaults of its fields. */
function policyLines(isStated: (row: FieldRow) => boolean = () => true): string {
  let open = "";
  return POLICY_FIELDS.filter((field) => isStated(rowOf(field)))
    .map((field) => {
      const { default: fallback, template = {} } = rowOf(field);
      const [outer = field, inner] = field.split(".");
      const heading = inner === undefined || outer === open ? "" : `  ${outer}:\n`;
      open = outer;
      const name = inner === undefined ? `  ${outer}` : `${heading}    ${inner}`;
      const value = template.value ?? JSON.stringify(fallback);
      const comment = template.comment === undefined ? "" : ` # ${template.comment}`;
      return `${name}:${value.startsWith("\n") ? "" : " "}${value}${comment}\n`;
    })
    .join("");
}

const DEFAULT_PORTS: Ports = { port: 8080, opsPort: 9464 };

/**
 * The first pair of ports that no other tenant of the directory uses, so that all can be served at once. A tenant file
 * with problems is skipped, because `validate` reports them.
 */
export function freePorts(directory: string, tenant: string): Ports {
  const { tenants } = openWorkspace(directory);
  const others = tenants.filter((other) => other !== tenant).map((other) => tenantPath(directory, other));
  const served = others.flatMap((file) => unlessUnsound(() => loadTenantFile(file).server) ?? []);
  const taken = served.flatMap(({ port, opsPort }) => [port, opsPort]);
  let { port, opsPort } = DEFAULT_PORTS;
  while (taken.includes(port) || taken.includes(opsPort)) {
    port++;
    opsPort++;
  }
  return { port, opsPort };
}

/** Default ports are not written; a template with every value already has them. */
function withPorts(content: string, { port, opsPort }: Ports = DEFAULT_PORTS): string {
  if (port === DEFAULT_PORTS.port) return content;
  const stated = `port: ${port}, opsPort: ${opsPort}`;
  return content
    .replace("server: { expected: true } #", `server: { ${stated}, expected: true } #`)
    .replace(`port: ${DEFAULT_PORTS.port}`, `port: ${port}`)
    .replace(`opsPort: ${DEFAULT_PORTS.opsPort}`, `opsPort: ${opsPort}`);
}

/** An existing workflow file, and its contents if it were written now. */
export interface StandingWorkflow {
  path: string;
  before: string;
  after: string;
}

/** The existing workflow files of a directory, for one CI service or both. */
export function standingWorkflows(directory: string, tenant: string, ci: CiService | undefined): StandingWorkflow[] {
  const services = ci === undefined ? CI_SERVICES : [ci];
  return services
    .flatMap((service) => workflow(tenant, service))
    .flatMap(({ path, content }) => {
      const file = join(directory, path);
      return existsSync(file) ? [{ path, before: readFileSync(file, "utf8"), after: content }] : [];
    });
}

/** GitHub uses a file per tenant, GitLab one file for all. */
function workflow(tenant: string, ci: CiService): InitFile[] {
  if (ci === "none") return [];
  const path = ci === "github" ? `.github/workflows/pmctl-${tenant}.yml` : ".gitlab-ci.yml";
  return [plain(path, fillTemplate(`ci-${ci}.yaml`, tenant))];
}

/** Why a text cannot be a tenant's address; undefined if it can. */
export function problemOfBaseUrl(baseUrl: string): string | undefined {
  const url = BaseUrl.safeParse(baseUrl);
  return url.success ? undefined : `The base URL ${url.error.issues[0]?.message}`;
}

/** The address in the templates. */
export function placeholderUrl(tenant: string): string {
  return `https://predict.${tenant}.example`;
}

/** Writes missing files, and reports what it did. A second run finds everything in place and changes nothing. */
export function writeInit(directory: string, files: readonly InitFile[]): InitResult {
  const result: InitResult = { created: [], extended: [], kept: [] };
  for (const file of files) result[writeFile(directory, file)].push(file.path);
  return result;
}

function writeFile(directory: string, { path, content, mode, lines = [] }: InitFile): keyof InitResult {
  const target = join(directory, path);
  try {
    mkdirSync(dirname(target), { recursive: true });
    // "wx" fails if the file exists, so even a file created at this moment is not overwritten.
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

function fillTemplate(name: string, tenant: string, baseUrl = placeholderUrl(tenant)): string {
  const title = tenant
    .split("-")
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join(" ");
  return readFileSync(new URL(name, TEMPLATES), "utf8")
    .replaceAll("<tenant>", tenant)
    .replaceAll("<TENANT>", environmentPrefix(tenant))
    .replaceAll("<Tenant>", title)
    .replace(`baseUrl: ${placeholderUrl(tenant)}`, `baseUrl: ${baseUrl}`);
}
