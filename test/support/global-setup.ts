import { appendFile, chmod, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import type { TestProject } from "vitest/node";
import { GRANTS } from "../../src/ledger/schema.ts";
import { connect } from "../../src/postgres/connect.ts";
import { type Cluster, embeddedCluster } from "../../src/postgres/embedded/cluster.ts";
import type { ClusterConnection } from "../../src/postgres/embedded/connection.ts";
import { migrate } from "../../src/postgres/migrate.ts";
import { renewBuild } from "./build.ts";
import { SERVER_LOGIN, TEST_TENANT } from "./database-copy.ts";
import { FRESH_CLUSTER } from "./fresh-cluster.ts";
import { placeOfDatabases } from "./memory-place.ts";

declare module "vitest" {
  export interface ProvidedContext {
    postgres: ClusterConnection;
  }
}

const templateDatabase = "pmctl_test_template";

/** Where the first project's set-up tells the next ones how to connect: each runs in a module of its own. */
const CONNECTION = "PMCTL_TEST_POSTGRES";

/** Starts the server that all test files share, with a migrated template database, and takes it away afterwards. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const shared = process.env[CONNECTION];
  if (shared !== undefined) {
    project.provide("postgres", JSON.parse(shared) as ClusterConnection);
    return async () => {};
  }
  await renewBuild();
  const directory = await mkdtemp(`${await placeOfDatabases()}/pmctl-test-`);
  // Open to others, because root's server runs as somebody else and would otherwise keep its files in /var/lib.
  await chmod(directory, 0o755);
  const cluster = embeddedCluster(directory);
  const teardown = async () => {
    delete process.env[CONNECTION];
    await cluster.stop();
    await rm(directory, { recursive: true, force: true });
  };
  try {
    await cluster.start();
    await cluster.stop();
    await keepFreshCluster(cluster, join(directory, "fresh"));
    await forgetPower(cluster);
    await cluster.start(TEST_TENANT);
    await prepareTemplate(cluster);
  } catch (error) {
    await teardown();
    throw error;
  }
  const connection = cluster.connection(templateDatabase);
  process.env[CONNECTION] = JSON.stringify(connection);
  project.provide("postgres", connection);
  return teardown;
}

/** Keeps the files of a cluster as its first start leaves them: a copy of them costs a twentieth of what initdb does. */
async function keepFreshCluster(cluster: Cluster, place: string): Promise<void> {
  const { dataDir } = await cluster.status();
  await execa("cp", ["-a", dataDir, place]);
  process.env[FRESH_CLUSTER] = place;
}

/**
 * No test turns the power off, so nobody waits for the disk: creating and dropping databases costs checkpoints. What
 * outlives a killed process or server is the same without; tests of that have clusters of their own all the same. Nor does a
 * database live long enough to need the vacuum, whose workers would visit hundreds of them.
 */
async function forgetPower(cluster: Cluster): Promise<void> {
  const { dataDir } = await cluster.status();
  await appendFile(join(dataDir, "postgresql.conf"), "\nfsync = off\nfull_page_writes = off\nautovacuum = off\n");
}

async function prepareTemplate(cluster: Cluster): Promise<void> {
  await cluster.createDatabase(templateDatabase);
  const sql = connect(cluster.connection(templateDatabase), { name: "test set-up", max: 1 });
  try {
    await migrate(sql, { grants: GRANTS, server: SERVER_LOGIN });
  } finally {
    // Whoever stays connected to a template stops every copy of it.
    await sql.end({ timeout: 5 });
  }
}
