import { dirname, join, relative, resolve } from "node:path";
import { anchorFilesOf } from "../../config/anchor-files.ts";
import { ownListener } from "../../config/schema/console-schema.ts";
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

/** Ports below this one need a capability. */
const FIRST_FREE_PORT = 1024;

/**
 * Renders a service for each tenant's server and for its backups, a timer for the backups, one target for all, and the
 * configuration of pgBackRest for a local PostgreSQL.
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
  const own = server.console ? ownListener(server.console)?.port : undefined;
  const needsLowPort = [server.port, server.opsPort, own ?? 0].some((port) => port > 0 && port < FIRST_FREE_PORT);
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
        // The embedded database belongs to all tenants of the directory, so it outlives a stopped server.
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
        // If the backup started the embedded database, the database stays up.
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

/** Removes every right that Node and PostgreSQL do not need. */
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

/** The paths below `tenants/` that the tenant needs. */
function readablePaths(config: TenantConfig, { directory, workspace }: Deployment): string[] {
  const tenants = join(directory, "tenants/");
  return pathsOf(config, workspace)
    .map((path) => join(directory, path))
    .filter((path) => path.startsWith(tenants));
}

/** pmctl's own folder, and the folders of the anchors that the tenant file names. */
function writablePaths(config: TenantConfig, { workspace, directory }: Deployment): string[] {
  const folders = anchorFilesOf(config).map((file) => resolve(directory, relative(workspace, dirname(file))));
  // The server itself reports a missing folder.
  return [join(directory, ".pmctl"), ...[...new Set(folders)].toSorted().map((folder) => `-${folder}`)];
}

/** A path as a word of a unit's list, where `%` begins a specifier. */
function quoted(path: string): string {
  const escaped = path.replaceAll("%", "%%");
  return /^[\w./%@:+-]+$/.test(path) ? escaped : `"${escaped.replace(/[\\"]/g, "\\$&")}"`;
}
