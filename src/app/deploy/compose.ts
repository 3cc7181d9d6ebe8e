import { join, relative } from "node:path";
import { OPERATOR_FILE } from "../../config/operator-file.ts";
import type { TenantConfig } from "../../config/tenant-config.ts";
import { Fault } from "../../domain/fault.ts";
import {
  CONTAINER_PORTS,
  CONTAINER_USER,
  containerArguments,
  type Deployment,
  externalVariablesOf,
  graceSecondsOf,
  maxConnections,
  memoryLimitMb,
  pathsOf,
  type RenderedFile,
} from "./deployment.ts";
import { yamlText } from "./yaml-text.ts";

const POSTGRES = "postgres";

/** What both kinds of containers are kept from. */
const CONFINED = {
  read_only: true,
  cap_drop: ["ALL"],
  security_opt: ["no-new-privileges:true"],
  restart: "unless-stopped",
} as const;

/** A server for each tenant, and one PostgreSQL for all of them. */
export function composeFiles(deployment: Deployment): RenderedFile[] {
  const { tenants } = deployment;
  if (tenants.some(({ config }) => config.tenant === POSTGRES))
    throw new Fault("USAGE", `Compose's service ${POSTGRES} is the database: leave the tenant of this name out`);
  const document = {
    name: "pmctl",
    services: {
      [POSTGRES]: database(maxConnections(tenants)),
      ...Object.fromEntries(tenants.map(({ config }) => [config.tenant, server(config, deployment)])),
    },
    volumes: { "postgres-data": {} },
  };
  return [{ path: "compose.yaml", text: yamlText(document) }];
}

function database(connections: number) {
  return {
    image: "postgres:18",
    ...CONFINED,
    // By name, since the number is the image's own. Started as root it would ask for capabilities to become this user.
    user: "postgres",
    command: ["postgres", "-c", `max_connections=${connections}`],
    environment: { POSTGRES_PASSWORD: null },
    volumes: ["postgres-data:/var/lib/postgresql"],
    tmpfs: ["/tmp", "/var/run/postgresql"],
    // Parallel queries share more than the 64 MB that a container has.
    shm_size: "256m",
    healthcheck: {
      // By TCP: while the image prepares its data directory, PostgreSQL listens on a socket alone.
      test: ["CMD", "pg_isready", "--host", "127.0.0.1", "--username", "postgres", "--quiet"],
      interval: "5s",
      timeout: "3s",
      retries: 5,
      start_period: "60s",
    },
    // A fast shutdown writes a checkpoint first.
    stop_signal: "SIGINT",
    stop_grace_period: "60s",
  };
}

function server(config: TenantConfig, { bin, directory, image, workspace, out, operatorFile }: Deployment) {
  const { server: variables } = externalVariablesOf(config);
  const readOnly = (path: string) => ({
    type: "bind",
    source: relativePath(out, join(workspace, path)),
    target: `${directory}/${path}`,
    read_only: true,
  });
  return {
    image,
    ...CONFINED,
    user: `${CONTAINER_USER}:${CONTAINER_USER}`,
    working_dir: directory,
    entrypoint: [bin],
    command: containerArguments(config),
    // Without values: Compose takes them from its own environment or --env-file, and shows none.
    environment: Object.fromEntries(variables.map((name) => [name, null])),
    volumes: [...pathsOf(config, workspace), ...(operatorFile === undefined ? [] : [OPERATOR_FILE])].map(readOnly),
    tmpfs: [directory, "/tmp"],
    ports: [publishedPort(config)],
    depends_on: { [POSTGRES]: { condition: "service_healthy" } },
    healthcheck: {
      test: ["CMD", "node", "-e", IS_READY],
      interval: "2s",
      timeout: "3s",
      retries: 2,
      start_period: "60s",
    },
    stop_grace_period: `${graceSecondsOf(config)}s`,
    mem_limit: `${memoryLimitMb(config)}m`,
  };
}

/** The image holds Node, and need not hold another program that asks for a page. */
const IS_READY = [
  `require("http").get("http://127.0.0.1:${CONTAINER_PORTS.ops}/readyz", `,
  `(answer) => process.exit(answer.statusCode === 200 ? 0 : 1)).on("error", () => process.exit(1))`,
].join("");

/** Where the tenant file says that it listens; the machine chooses where the file leaves it open. */
function publishedPort({ server: { host, port } }: TenantConfig) {
  return {
    target: CONTAINER_PORTS.api,
    host_ip: host === "localhost" ? "127.0.0.1" : host,
    ...(port > 0 && { published: String(port) }),
  };
}

/** Compose takes a path that does not begin with a dot or a slash for the name of a volume. */
function relativePath(from: string, to: string): string {
  const path = relative(from, to);
  return path.startsWith(".") ? path : `./${path}`;
}
