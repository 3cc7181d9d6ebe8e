import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import postgres from "postgres";
import type { Account } from "../../src/postgres/embedded/account.ts";
import type { Site } from "./network.ts";
import { familyOf, Program, signal } from "./processes.ts";
import type { Programs } from "./programs.ts";

/** The superuser of the databases. All of it listens within this machine only, for as long as the proof runs. */
export const SUPERUSER = { username: "admin", password: "admin" };
const REPLICATION = { username: "replicator", password: "replicator" };
/** Asks a primary for the standbys that its commits are on. */
export const SYNCHRONOUS = `
  select 1 from pg_stat_replication where state = 'streaming' and sync_state in ('sync', 'quorum')`;
const ASK_TIMEOUT_MS = 2000;

interface NodeOptions {
  name: string;
  programs: Programs;
  account: Account;
  /** Of this node alone, and a file system of its own where root allows one. */
  directory: string;
  site: Site;
  port: number;
  restPort: number;
  /** The members' addresses. */
  etcd: readonly string[];
}

/** A machine of the database: Patroni and the PostgreSQL that it runs. */
export class DatabaseNode {
  readonly name: string;
  readonly site: Site;
  /** `host:port`, as clients name it. */
  readonly place: string;
  /** Of Patroni's own interface. */
  readonly restUrl: string;
  readonly #port: number;
  readonly directory: string;
  readonly patroni: Program;

  private constructor({ name, site, port, restPort, directory }: NodeOptions, patroni: Program) {
    this.name = name;
    this.site = site;
    this.place = `${site.address}:${port}`;
    this.restUrl = `http://${site.address}:${restPort}`;
    this.#port = port;
    this.directory = directory;
    this.patroni = patroni;
  }

  /** Writes its configuration; starts nothing. */
  static async create(options: NodeOptions): Promise<DatabaseNode> {
    const file = join(options.directory, "patroni.json");
    // Patroni reads YAML, and JSON is valid YAML.
    await writeFile(file, JSON.stringify(configuration(options), null, 2));
    const log = join(options.directory, "patroni.log");
    const { programs, account, site } = options;
    return new DatabaseNode(options, new Program([programs.patroni, file], account, log, site.namespace));
  }

  /** Asks this server itself, in a session of its own. */
  async ask(statement: string, database = "postgres", timeoutMs = ASK_TIMEOUT_MS): Promise<postgres.Row[]> {
    const { address: host } = this.site;
    const { username, password } = SUPERUSER;
    const sql = postgres({
      ...{ host, port: this.#port, username, password, database, max: 1, connect_timeout: 2 },
      // The driver (postgres 3.4.9) lets the failure of its question about types end the process: nothing awaits the answer.
      fetch_types: false,
      connection: { application_name: "ha" },
      onnotice: () => {},
    });
    const late = setTimeout(() => void sql.end({ timeout: 0 }), timeoutMs);
    try {
      return [...(await sql.unsafe(statement))];
    } finally {
      clearTimeout(late);
      await sql.end({ timeout: 0 });
    }
  }

  /** Rises with each promotion; undefined on a standby. */
  async timeline(): Promise<number | undefined> {
    // The name of a file of the log begins with it.
    const [row] = await this.ask("select pg_walfile_name(pg_current_wal_lsn()) as file where not pg_is_in_recovery()");
    return row && Number.parseInt(String(row.file).slice(0, 8), 16);
  }

  /** PostgreSQL's processes, its first one at the head; none while it does not run. */
  async postgresPids(): Promise<number[]> {
    const pid = Number(
      (await readFile(join(this.directory, "data/postmaster.pid"), "utf8").catch(() => "")).split("\n")[0],
    );
    if (!(pid > 0)) return [];
    // The file outlives its process, whose number another one may have by now.
    const command = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    return command.includes(this.directory) ? familyOf(pid) : [];
  }

  /** PostgreSQL as after a crash of it alone. */
  async crashPostgres(): Promise<void> {
    const [first] = await this.postgresPids();
    if (first !== undefined) signal([first], "SIGKILL");
  }

  /** The whole machine stands still, or goes on as if no time had passed. */
  async pause(name: "SIGSTOP" | "SIGCONT"): Promise<void> {
    const { pid } = this.patroni;
    signal([...(pid === undefined ? [] : [pid]), ...(await this.postgresPids())], name);
  }

  /** The process that receives the primary's log; undefined on a primary. */
  async receiver(): Promise<number | undefined> {
    const [row] = await this.ask("select pid from pg_stat_wal_receiver");
    return row === undefined ? undefined : Number(row.pid);
  }

  /** Ends everything of it, whatever state it is in. */
  async end(): Promise<void> {
    await this.patroni.kill();
    const all = await this.postgresPids();
    signal(all, "SIGKILL");
  }
}

/** In the words of Patroni's documentation. */
function configuration({ name, programs, directory, site, port, restPort, etcd }: NodeOptions): object {
  const address = `${site.address}:${port}`;
  const rest = `${site.address}:${restPort}`;
  return {
    scope: "ha",
    name,
    restapi: { listen: rest, connect_address: rest },
    // Not `etcd3`: Patroni 3.0.2, which Debian 12 has, takes the lease back there from the node that was promoted while it was frozen.
    etcd: { hosts: etcd },
    bootstrap: {
      dcs: {
        // The shortest lease that Patroni knows.
        ...{ ttl: 20, loop_wait: 2, retry_timeout: 4, maximum_lag_on_failover: 1_048_576 },
        ...{ synchronous_mode: true, synchronous_mode_strict: true },
        // A primary that crashed is replaced and not waited for.
        primary_start_timeout: 0,
        postgresql: {
          use_pg_rewind: true,
          use_slots: true,
          parameters: {
            ...{ max_connections: 100, shared_buffers: "64MB", hot_standby_feedback: "on", wal_log_hints: "on" },
            ...{ max_wal_size: "256MB", min_wal_size: "80MB", wal_keep_size: "128MB" },
            // A primary that stops waits so long for a standby that it has lost; a frozen one stays connected for as long as it is away.
            ...{ wal_sender_timeout: "15s", wal_receiver_timeout: "15s" },
            ...{ wal_receiver_status_interval: "1s", max_worker_processes: 8 },
          },
        },
      },
      initdb: [{ encoding: "UTF8" }, { locale: "C" }, "data-checksums"],
    },
    postgresql: {
      ...{ listen: address, connect_address: address },
      ...{ data_dir: join(directory, "data"), bin_dir: programs.postgresBin, pgpass: join(directory, "pgpass") },
      authentication: { superuser: SUPERUSER, replication: REPLICATION, rewind: SUPERUSER },
      parameters: { unix_socket_directories: directory, logging_collector: "off" },
      pg_hba: [
        "host all all samenet scram-sha-256",
        "host replication all samenet scram-sha-256",
        "local all all trust",
      ],
      basebackup: { checkpoint: "fast" },
      // A node that cannot be rewound is made anew, without a person.
      ...{ remove_data_directory_on_rewind_failure: true, remove_data_directory_on_diverged_timelines: true },
    },
    watchdog: { mode: "off" },
  };
}
