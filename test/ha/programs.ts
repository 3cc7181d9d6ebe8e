import { constants } from "node:fs";
import { access, readdir } from "node:fs/promises";
import { join } from "node:path";

/** Where Debian's packages lay each major version of PostgreSQL, beside the places of PATH. */
const POSTGRES_HOME = "/usr/lib/postgresql";

/** The programs of a cluster that fails over by itself. */
export interface Programs {
  etcd: string;
  patroni: string;
  haproxy: string;
  /** The folder with `postgres`, `initdb` and `pg_rewind`. */
  postgresBin: string;
}

/**
 * Finds the programs.
 * @throws Error that names what is missing and the command that installs it on Debian and Ubuntu
 */
export async function findPrograms(): Promise<Programs> {
  const versions = await readdir(POSTGRES_HOME).catch(() => []);
  const newestFirst = versions
    .map(Number)
    .filter(Number.isInteger)
    .toSorted((a, b) => b - a);
  const postgres = await find(
    "postgres",
    newestFirst.map((version) => join(POSTGRES_HOME, String(version), "bin")),
  );
  const found = {
    "etcd-server": await find("etcd"),
    "patroni python3-etcd": await find("patroni"),
    haproxy: await find("haproxy", ["/usr/sbin"]),
    postgresql: postgres && join(postgres, ".."),
  };
  const missing = Object.entries(found).flatMap(([name, path]) => (path === undefined ? [name] : []));
  const { "etcd-server": etcd, "patroni python3-etcd": patroni, haproxy, postgresql: postgresBin } = found;
  if (!etcd || !patroni || !haproxy || !postgresBin)
    throw new Error(`Missing on this machine. Install with: apt-get install ${missing.join(" ")}`);
  return { etcd, patroni, haproxy, postgresBin };
}

async function find(name: string, besides: readonly string[] = []): Promise<string | undefined> {
  for (const folder of [...besides, ...(process.env.PATH ?? "").split(":")]) {
    const path = join(folder, name);
    const isThere = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (folder !== "" && isThere) return path;
  }
  return undefined;
}
