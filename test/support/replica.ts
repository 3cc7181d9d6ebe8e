import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { execa } from "execa";
import postgres from "postgres";
import { type Account, runAs, serverAccount } from "../../src/postgres/embedded/account.ts";
import { type Binaries, findPackage, prepareBinaries } from "../../src/postgres/embedded/binaries.ts";

/** One server of a pair. */
export interface Replica {
  /** As the tenant file names it. */
  url(database: string): string;
  ask(statement: string, database?: string): Promise<postgres.Row[]>;
  start(): Promise<void>;
  /**
   * Orderly, with `SIGINT`; or with `SIGKILL` all of its processes at once, as when its machine is lost: sessions would
   * otherwise outlive the server on a busy machine, and answer. Resolves when the server is gone.
   */
  kill(signal: "SIGINT" | "SIGKILL"): Promise<void>;
  /** Stops all its processes where they are, until `thaw`: its connections stay and nothing is read from them. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
}

export interface Pair {
  /** Acknowledges what `standby` has as well, and nothing else. */
  primary: Replica;
  standby: Replica;
  /** Both, the standby first, as the tenant file names them. */
  url(database: string): string;
  close(): Promise<void>;
}

const READY_WAIT_MS = 30_000;

/**
 * A primary that waits for its standby with each commit. The standby begins as a copy of the files before the first
 * start, so it takes no program besides the server's own.
 */
export async function openPair(): Promise<Pair> {
  const directory = await mkdtemp("/tmp/pmctl-pair-");
  const account = await serverAccount(join(directory, "none"));
  await execa("chmod", ["755", directory]);
  if (!account.isCaller) await execa("chown", [`${account.uid}:${account.gid}`, directory]);
  const binaries = await prepareBinaries(
    findPackage(),
    async () => {
      const copies = join(directory, "bin");
      await mkdir(copies, { recursive: true });
      return copies;
    },
    account,
  );
  const [one, two] = [join(directory, "one"), join(directory, "two")];
  const args = ["-D", one, "-U", "admin", "-A", "trust", "--no-sync", "--no-instructions", "--locale", "C"];
  await execa(binaries.initdb, [...args, "--encoding", "UTF8"], { ...runAs(account), stdin: "ignore" });
  const settings = [
    ...["listen_addresses = ''", `unix_socket_directories = '${directory}'`, "fsync = off"],
    ...["wal_receiver_status_interval = 1s", "wal_retrieve_retry_interval = 100ms", "shared_buffers = 32MB"],
  ];
  await writeFile(join(one, "postgresql.auto.conf"), settings.join("\n"));
  await execa("cp", ["-a", one, two]);
  await writeFile(
    join(two, "postgresql.auto.conf"),
    [...settings, `primary_conninfo = 'host=${directory} port=5501 user=admin application_name=standby'`].join("\n"),
  );
  await writeFile(join(two, "standby.signal"), "");
  if (!account.isCaller) await execa("chown", ["-R", `${account.uid}:${account.gid}`, one, two]);
  const open = (data: string, port: number) => replica({ binaries, account, directory, data, port });
  const [primary, standby] = [open(one, 5501), open(two, 5502)];
  await primary.start();
  await standby.start();
  await primary.ask("alter system set synchronous_standby_names = 'standby'");
  await primary.ask("select pg_reload_conf()");
  return {
    primary,
    standby,
    url: (database) => {
      const host = encodeURIComponent(directory);
      return `postgres://admin@${host}:5502,${host}:5501/${database}?target_session_attrs=read-write`;
    },
    close: async () => {
      await Promise.all([primary.kill("SIGKILL"), standby.kill("SIGKILL")]);
      await rm(directory, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

interface Place {
  binaries: Binaries;
  account: Account;
  directory: string;
  data: string;
  port: number;
}

function replica({ binaries, account, directory, data, port }: Place): Replica {
  let running: ReturnType<typeof spawn> | undefined;
  const spawn = () =>
    execa(binaries.postgres, ["-D", data, "-p", String(port)], {
      ...runAs(account),
      ...{ stdin: "ignore", all: true, reject: false },
    } as const);
  const signal = async (name: "STOP" | "CONT" | "KILL") => {
    const server = String(running?.pid);
    // Sessions may end before the signal reaches them. A server that is stopped starts no further ones.
    const send = (which: string, pids: readonly string[]) => execa("kill", [`-${which}`, ...pids], { reject: false });
    if (name !== "CONT") await send("STOP", [server]);
    const { stdout } = await execa("ps", ["-o", "pid=", "--ppid", server], { reject: false });
    await send(name, [server, ...stdout.split(/\s+/).filter(Boolean)]);
  };
  const ask = async (statement: string, database = "postgres") => {
    // The driver would not catch a failure of its own statement for types, and that would end the process.
    const options = { max: 1, fetch_types: false, onnotice: () => {} };
    const sql = postgres({ host: directory, port, user: "admin", database, ...options });
    try {
      return [...(await sql.unsafe(statement))];
    } finally {
      await sql.end({ timeout: 1 });
    }
  };
  return {
    url: (database) => `postgresql://admin@${encodeURIComponent(directory)}:${port}/${database}`,
    ask,
    start: async () => {
      running = spawn();
      for (const deadline = performance.now() + READY_WAIT_MS; ; ) {
        const answers = await ask("select 1").catch(() => undefined);
        if (answers) return;
        if (performance.now() > deadline) {
          running.kill("SIGKILL");
          throw new Error(`The server in ${data} does not answer: ${(await running).all}`);
        }
        await delay(50);
      }
    },
    kill: async (how) => {
      if (how === "SIGKILL" && running) await signal("KILL");
      else running?.kill(how);
      await running;
      running = undefined;
    },
    freeze: () => signal("STOP"),
    thaw: () => signal("CONT"),
  };
}
