import { dirname, join, relative, resolve } from "node:path";
import { anchorFilesOf } from "../../config/resolve-tenant.ts";
import type { TenantConfig } from "../../config/tenant-config.ts";
import {
  type Deployment,
  drainSecondsOf,
  graceSecondsOf,
  memoryLimitMb,
  pathsOf,
  type RenderedFile,
  variablesOf,
} from "./deployment.ts";
import { fillTemplate } from "./template.ts";

/** Ports below it need a capability. */
const FIRST_FREE_PORT = 1024;

/**
 * A service for each tenant's server and for its backups, a timer for these, one target for all, and pgBackRest's
 * configuration for a PostgreSQL beside them.
 */
export function systemdFiles(deployment: Deployment): RenderedFile[] {
  return [
    ...deployment.tenants.flatMap(({ config }) => tenantUnits(config, deployment)),
    { path: "pmctl.target", text: fillTemplate("systemd/pmctl.target", {}) },
    { path: "pgbackrest.conf", text: fillTemplate("pgbackrest.conf", {}) },
  ];
}

function tenantUnits(config: TenantConfig, deployment: Deployment): RenderedFile[] {
  const { tenant, server, database } = config;
  const { bin, directory } = deployment;
  const variables = variablesOf(config);
  const isEmbedded = database === "embedded";
  const needsLowPort = [server.port, server.opsPort].some((port) => port > 0 && port < FIRST_FREE_PORT);
  const owners = variables.owner.map((name) => `${name} (${tenant}.owner.env, which no server reads)`);
  const shared = { bin, directory, tenant };
  return [
    {
      path: `pmctl-${tenant}.service`,
      text: fillTemplate("systemd/server.service", {
        ...shared,
        variables: comment(variables.server),
        drainSeconds: drainSecondsOf(config),
        graceSeconds: graceSecondsOf(config),
        // The embedded database belongs to all tenants of the directory: it outlives a server that is stopped.
        killMode: `KillMode=${isEmbedded ? "process" : "mixed"}`,
        memory: isEmbedded ? "" : `MemoryMax=${memoryLimitMb(config)}M`,
        sandbox: sandbox(config, deployment, needsLowPort),
      }),
    },
    {
      path: `pmctl-backup-${tenant}.service`,
      text: fillTemplate("systemd/backup.service", {
        ...shared,
        variables: comment([...variables.server, ...owners]),
        // The embedded database, should the backup have started it, goes on.
        killMode: isEmbedded ? "KillMode=process" : "",
        sandbox: sandbox(config, deployment, false),
      }),
    },
    { path: `pmctl-backup-${tenant}.timer`, text: fillTemplate("systemd/backup.timer", { tenant }) },
  ];
}

function comment(lines: readonly string[]): string {
  return (lines.length === 0 ? ["none"] : lines).map((line) => `#   ${line}`).join("\n");
}

/** Everything that Node and PostgreSQL can do without. */
function sandbox(config: TenantConfig, deployment: Deployment, needsLowPort: boolean): string {
  const { directory, bin } = deployment;
  const isAtHome = [`${directory}/`, bin].some((path) => /^\/(home|root)\//.test(path));
  return fillTemplate("systemd/sandbox.conf", {
    capabilities: needsLowPort ? "CAP_NET_BIND_SERVICE" : "",
    privateUsers: needsLowPort ? "no" : "yes",
    protectHome: isAtHome ? "read-only" : "yes",
    tenants: quoted(join(directory, "tenants")),
    readable: readablePaths(config, deployment).map(quoted).join(" "),
    writable: writablePaths(config, deployment).map(quoted).join(" "),
  }).trimEnd();
}

/** What the tenant needs of `tenants/`. */
function readablePaths(config: TenantConfig, { directory, workspace }: Deployment): string[] {
  const tenants = join(directory, "tenants/");
  return pathsOf(config, workspace)
    .map((path) => join(directory, path))
    .filter((path) => path.startsWith(tenants));
}

/** What pmctl keeps itself, and the folders of anchors that the file asks for beside it. */
function writablePaths(config: TenantConfig, { workspace, directory }: Deployment): string[] {
  const folders = anchorFilesOf(config).map((file) => resolve(directory, relative(workspace, dirname(file))));
  // Of a folder that is missing the server says so itself.
  return [join(directory, ".pmctl"), ...[...new Set(folders)].toSorted().map((folder) => `-${folder}`)];
}

/** A path as a word of a unit's list: `%` begins a specifier there. */
function quoted(path: string): string {
  const escaped = path.replaceAll("%", "%%");
  return /^[\w./%@:+-]+$/.test(path) ? escaped : `"${escaped.replace(/[\\"]/g, "\\$&")}"`;
}
