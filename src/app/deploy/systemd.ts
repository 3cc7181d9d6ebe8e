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
import { pgbackrestFile } from "./pgbackrest.ts";

/** Directives of a section, in the order of the file; a name may stand there again. */
type Section = readonly (readonly [name: string, value: string | number])[];

/** Ports below it need a capability. */
const FIRST_FREE_PORT = 1024;

/**
 * A service for each tenant's server and for its backups, a timer for these, one target for all, and pgBackRest's
 * configuration for a PostgreSQL beside them.
 */
export function systemdFiles(deployment: Deployment): RenderedFile[] {
  return [
    ...deployment.tenants.flatMap(({ config }) => [
      serverService(config, deployment),
      backupService(config, deployment),
      backupTimer(config),
    ]),
    unit("pmctl.target", {
      Unit: [["Description", "pmctl: servers and backups of all tenants"]],
      Install: [["WantedBy", "multi-user.target"]],
    }),
    pgbackrestFile(),
  ];
}

function serverService(config: TenantConfig, deployment: Deployment): RenderedFile {
  const { tenant } = config;
  const command = [deployment.bin, "serve", tenant, "--drain-seconds", drainSecondsOf(config), "--no-input"];
  const isEmbedded = config.database === "embedded";
  return unit(
    `pmctl-${tenant}.service`,
    {
      Unit: [
        ["Description", `pmctl: server of the tenant ${tenant}`],
        ["PartOf", "pmctl.target"],
        ["Wants", "network-online.target"],
        ["After", "network-online.target postgresql.service"],
        // It is tried for as long as the database is away.
        ["StartLimitIntervalSec", 0],
      ],
      Service: [
        ["Type", "exec"],
        ...account(config, deployment),
        ["ExecStart", command.join(" ")],
        ["Restart", "always"],
        ["RestartSec", "2s"],
        // A file that is not valid, and a record that does not hold: a person has to look first.
        ["RestartPreventExitStatus", "6 8"],
        ["TimeoutStopSec", `${graceSecondsOf(config)}s`],
        // The embedded database belongs to all tenants of the directory: it outlives a server that is stopped.
        ["KillMode", isEmbedded ? "process" : "mixed"],
        ["LimitNOFILE", 32_768],
        ...(isEmbedded ? [] : ([["MemoryMax", `${memoryLimitMb(config)}M`]] as const)),
        ...sandbox(config, deployment, { listens: true }),
      ],
      Install: [["WantedBy", "pmctl.target"]],
    },
    variablesOf(config).server.map((name) => `#   ${name}`),
  );
}

function backupService(config: TenantConfig, deployment: Deployment): RenderedFile {
  const { tenant } = config;
  const { server, owner } = variablesOf(config);
  return unit(
    `pmctl-backup-${tenant}.service`,
    {
      Unit: [
        ["Description", `pmctl: backup of the tenant ${tenant}`],
        ["Wants", "network-online.target"],
        ["After", "network-online.target postgresql.service"],
      ],
      Service: [
        ["Type", "oneshot"],
        ...account(config, deployment),
        ["EnvironmentFile", `-/etc/pmctl/${tenant}.owner.env`],
        ["ExecStart", `${deployment.bin} db backup --tenant ${tenant} --no-input`],
        // The embedded database, should the backup have started it, goes on.
        ...(config.database === "embedded" ? ([["KillMode", "process"]] as const) : []),
        ["Nice", 10],
        ["IOSchedulingClass", "idle"],
        ...sandbox(config, deployment, { listens: false }),
      ],
    },
    [...server, ...owner.map((name) => `${name} (${tenant}.owner.env, which no server reads)`)].map(
      (line) => `#   ${line}`,
    ),
  );
}

function backupTimer({ tenant }: TenantConfig): RenderedFile {
  return unit(`pmctl-backup-${tenant}.timer`, {
    Unit: [
      ["Description", `pmctl: daily backup of the tenant ${tenant}`],
      ["PartOf", "pmctl.target"],
    ],
    Timer: [
      ["OnCalendar", "daily"],
      // Tenants take turns instead of all reading at midnight; a day that was missed is made up for.
      ["RandomizedDelaySec", "1h"],
      ["FixedRandomDelay", "yes"],
      ["Persistent", "yes"],
    ],
    Install: [["WantedBy", "pmctl.target"]],
  });
}

/** Who runs it, where, and with which variables. */
function account({ tenant }: TenantConfig, { directory }: Deployment): Section {
  return [
    ["User", "pmctl"],
    ["Group", "pmctl"],
    ["WorkingDirectory", directory],
    // Read by systemd itself, so that the file is root's. Without it, `.env` of the directory counts.
    ["EnvironmentFile", `-/etc/pmctl/${tenant}.env`],
    // As root and outside of the sandbox, which needs the folder that it leaves writable.
    ["ExecStartPre", `+/usr/bin/install -d -o pmctl -g pmctl -m 0700 ${directory}/.pmctl`],
  ];
}

/** Everything that Node and PostgreSQL can do without: V8 writes code into memory, so that stays allowed. */
function sandbox(config: TenantConfig, deployment: Deployment, { listens }: { listens: boolean }): Section {
  const { directory } = deployment;
  const { port, opsPort } = config.server;
  const needsLowPort = listens && [port, opsPort].some((each) => each > 0 && each < FIRST_FREE_PORT);
  const capabilities = needsLowPort ? "CAP_NET_BIND_SERVICE" : "";
  const isAtHome = /^\/(home|root)\//.test(`${directory}/`) || /^\/(home|root)\//.test(deployment.bin);
  return [
    ["UMask", "0077"],
    ["LimitCORE", 0],
    ["CapabilityBoundingSet", capabilities],
    ["AmbientCapabilities", capabilities],
    ["NoNewPrivileges", "yes"],
    ["LockPersonality", "yes"],
    ["PrivateDevices", "yes"],
    ["PrivateTmp", "yes"],
    // In a user namespace of its own a process may not bind a low port, whatever its capabilities.
    ["PrivateUsers", needsLowPort ? "no" : "yes"],
    ["ProtectClock", "yes"],
    ["ProtectControlGroups", "yes"],
    ["ProtectHome", isAtHome ? "read-only" : "yes"],
    ["ProtectHostname", "yes"],
    ["ProtectKernelLogs", "yes"],
    ["ProtectKernelModules", "yes"],
    ["ProtectKernelTunables", "yes"],
    ["ProtectProc", "invisible"],
    ["ProtectSystem", "strict"],
    // Nothing of other tenants' folders, where their secrets may be.
    ["TemporaryFileSystem", `${quoted(join(directory, "tenants"))}:ro`],
    ["BindReadOnlyPaths", readablePaths(config, deployment).map(quoted).join(" ")],
    ["ReadWritePaths", writablePaths(config, deployment).join(" ")],
    ["RestrictAddressFamilies", "AF_INET AF_INET6 AF_UNIX AF_NETLINK"],
    ["RestrictNamespaces", "yes"],
    ["RestrictRealtime", "yes"],
    ["RestrictSUIDSGID", "yes"],
    ["SystemCallArchitectures", "native"],
    ["SystemCallFilter", "@system-service"],
    ["SystemCallFilter", "~@privileged"],
    ["SystemCallErrorNumber", "EPERM"],
  ];
}

/** What the tenant needs of `tenants/`. */
function readablePaths(config: TenantConfig, deployment: Deployment): string[] {
  const tenants = join(deployment.directory, "tenants/");
  return pathsOf(config, deployment.workspace)
    .map((path) => join(deployment.directory, path))
    .filter((path) => path.startsWith(tenants));
}

/** What pmctl keeps itself, and the folders of anchors that the file asks for beside it. */
function writablePaths(config: TenantConfig, { workspace, directory }: Deployment): string[] {
  const folders = anchorFilesOf(config).map((file) => resolve(directory, relative(workspace, dirname(file))));
  // Of a folder that is missing the server says so itself.
  return [join(directory, ".pmctl"), ...[...new Set(folders)].toSorted().map((folder) => `-${folder}`)].map(quoted);
}

/** A path as a word of a unit's list: `%` begins a specifier there. */
function quoted(path: string): string {
  const escaped = path.replaceAll("%", "%%");
  return /^[\w./%@:+-]+$/.test(path) ? escaped : `"${escaped.replace(/[\\"]/g, "\\$&")}"`;
}

/** @param variables lines of a comment */
function unit(
  path: string,
  sections: Readonly<Record<string, Section>>,
  variables: readonly string[] = [],
): RenderedFile {
  const comment = variables.length === 0 ? [] : ["# Variables that its secrets are read from:", ...variables, ""];
  const body = Object.entries(sections).map(([name, lines]) =>
    [`[${name}]`, ...lines.map(([key, value]) => `${key}=${value}`), ""].join("\n"),
  );
  return { path, text: [...comment, body.join("\n")].join("\n") };
}
