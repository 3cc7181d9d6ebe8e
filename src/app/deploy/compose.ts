import { join, relative } from "node:path";
import { OPERATOR_FILE } from "../../config/selection/names.ts";
import type { TenantConfig } from "../../config/tenant-config.ts";
import { Fault } from "../../domain/fault.ts";
import {
  API_PORT,
  containerArguments,
  type Deployment,
  externalVariablesOf,
  graceSecondsOf,
  maxConnections,
  memoryLimitMb,
  pathsOf,
  type RenderedFile,
} from "./deployment.ts";
import { fillTemplate, yaml, yamlLines } from "./template.ts";

/** The service of the database of all tenants. */
const POSTGRES = "postgres";

/** One server for each tenant, and one PostgreSQL for all of them. */
export function composeFiles(deployment: Deployment): RenderedFile[] {
  const { tenants } = deployment;
  if (tenants.some(({ config }) => config.tenant === POSTGRES))
    throw new Fault("USAGE", `Compose's service ${POSTGRES} is the database: leave out the tenant of this name`);
  const servers = tenants
    .map(({ config }) => server(config, deployment))
    .join("")
    .trimEnd();
  return [
    {
      path: "compose.yaml",
      text: fillTemplate("compose/compose.yaml", { connections: maxConnections(tenants), servers }),
    },
  ];
}

function server(config: TenantConfig, { bin, directory, image, workspace, out, operatorFile }: Deployment): string {
  const readOnly = (path: string) => ({
    type: "bind",
    source: relativePath(out, join(workspace, path)),
    target: `${directory}/${path}`,
    read_only: true,
  });
  const paths = [...pathsOf(config, workspace), ...(operatorFile === undefined ? [] : [OPERATOR_FILE])];
  return fillTemplate("compose/server.yaml", {
    ...{ bin, directory, image },
    tenant: yaml(config.tenant),
    arguments: yamlLines(containerArguments(config)),
    variables: yamlLines(Object.fromEntries(externalVariablesOf(config).server.map((name) => [name, null]))),
    volumes: yamlLines(paths.map(readOnly)),
    ports: yamlLines([publishedPort(config)]),
    graceSeconds: graceSecondsOf(config),
    memoryMb: memoryLimitMb(config),
  });
}

/** The address in the tenant file; the machine chooses one where the file leaves it open. */
function publishedPort({ server: { host, port } }: TenantConfig) {
  return {
    target: API_PORT,
    host_ip: host === "localhost" ? "127.0.0.1" : host,
    ...(port > 0 && { published: String(port) }),
  };
}

/** Compose takes a path for a volume's name unless it begins with a dot or a slash. */
function relativePath(from: string, to: string): string {
  const path = relative(from, to);
  return path.startsWith(".") ? path : `./${path}`;
}
