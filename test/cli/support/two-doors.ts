import { localApi } from "../../../src/client/local-api.ts";
import { connect } from "../../../src/postgres/connect.ts";
import { embeddedCluster } from "../../../src/postgres/embedded/cluster.ts";
import { openTenant } from "../../../src/services/tenant/tenant.ts";
import { type Ended, inProcess } from "../../support/in-process.ts";
import { newOperator, type Operator, type ServerProcess } from "../../support/operator.ts";
import { withRateLimit, withServer } from "../../support/tenant-text.ts";

/** The whole command line on a tenant of its own, as an operator types it. */
export interface Side {
  /** Runs it, and makes alike whatever differs between two tenants by chance. */
  run(...args: string[]): Promise<Ended>;
  /** The same, with nothing made alike. */
  raw(...args: string[]): Promise<Ended>;
  /** A text of this tenant with what differs by chance made alike. */
  alike(text: string): string;
  tenant: string;
  /** Replaces text in the tenant's file. */
  edit(change: (text: string) => string): Promise<void>;
  /** The number of the newest audit entry, from the database itself: asking with a command costs twenty times as much. */
  newestSeq(): Promise<number>;
  /** A user's own request for a withdrawal; resolves to its id. */
  withdraw(userId: string, amount: number): Promise<string>;
  close(): Promise<void>;
}

/** Two tenants of one file and one directory: the first has no server, the second has one. */
export interface TwoDoors {
  operator: Operator;
  /** The server of the second. */
  server: ServerProcess;
  db: Side;
  http: Side;
  close(): Promise<void>;
}

export async function openTwoDoors(): Promise<TwoDoors> {
  const operator = await newOperator();
  for (const tenant of ["unserved", "served"]) {
    await operator.run("init", tenant);
    await operator.edit(
      tenant,
      (text) =>
        `${withServer(withRateLimit(text.replace('blocked: ["US"]', "blocked: []"), 100_000))}kyc: { required: false }\n`,
    );
    const applied = await operator.run("apply", tenant);
    if (applied.exitCode !== 0) throw new Error(applied.stderr);
  }
  const server = await operator.serve("served");
  const [db, http] = [side(operator, "unserved"), side(operator, "served")];
  return {
    operator,
    server,
    db,
    http,
    close: async () => {
      for (const each of [db, http]) await each.close();
      await operator.close();
    },
  };
}

function side(operator: Operator, tenant: string): Side {
  const alike = new Likeness(tenant);
  // It connects when it is first asked.
  const sql = connect(embeddedCluster(operator.directory).connection(tenant), { name: "both doors", max: 1 });
  const raw = (...args: string[]) => inProcess(["-t", tenant, ...args], { cwd: operator.directory, env: process.env });
  return {
    tenant,
    edit: (change) => operator.edit(tenant, change),
    raw,
    alike: (text) => alike.of(text),
    run: async (...args) => {
      const { code, stdout, stderr } = await raw(...args);
      return { code, stdout: alike.of(stdout), stderr: alike.of(stderr) };
    },
    newestSeq: async () => {
      const [newest] = await sql<{ seq: number }[]>`select max(seq)::int as seq from audit`;
      return newest?.seq ?? 0;
    },
    close: () => sql.end({ timeout: 5 }),
    withdraw: async (userId, amount) => {
      const connection = embeddedCluster(operator.directory).connection(tenant);
      const secrets = await operator.secrets();
      const auditSecret = secrets[`${tenant.toUpperCase()}_AUDIT_KEY`] ?? "";
      const services = await openTenant({ tenantId: tenant, connection, auditSecret, connections: 8 });
      try {
        const api = localApi(services.handlers, { actor: `user:${userId}`, user: { id: userId } });
        return (await api.requestWithdrawal({ amount })).withdrawalId;
      } finally {
        await services.close();
      }
    },
  };
}

/** Replaces what no two runs share: identifiers (by their order of appearance), instants, hashes, and who acts. */
class Likeness {
  readonly #names = new Map<string, string>();
  readonly #tenant: string;

  constructor(tenant: string) {
    this.#tenant = tenant;
  }

  of(text: string): string {
    return (
      text
        .replace(new RegExp(this.#tenant, "gi"), "TENANT")
        .replace(/\b(clr|crd|mkt|trd|wdr|sui)_[0-9a-f]{20,}/g, (id, kind: string) => this.#name(id, kind))
        // Before ids: one fingerprint in 256 begins as an id does.
        .replace(/\bfp:[0-9a-f]{8}\b/g, "FINGERPRINT")
        // The beginning of an id that tables print is a time.
        .replace(/\b01[0-9a-f]{6,30}\b/g, "SHORT")
        // In full, and as tables shorten it.
        .replace(/\b([0-9a-f]{64}|[0-9a-f]{12})\b/g, "HASH")
        .replace(/\bak_[0-9a-f]{12}\b/g, "KEY")
        // A server anchors by itself, and where none runs there is nothing to anchor.
        .replace(/"anchor": (null|\{[^{}]*\})/g, '"anchor": "ANCHOR"')
        // Signed with each tenant's own key.
        .replace(/(\\?"cursor\\?": ?\\?")[\w-]+/g, "$1CURSOR")
        .replace(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?Z/g, "TIME")
        // The two sides do not answer in the same second, and a column is as wide as its longest cell.
        .replace(/\b(in )?\d+ (s|min|h)( ago)? */g, "SHORTLY ")
        .replace(/ {2,}/g, "  ")
        .replace(/\b(cli|admin):[\w-]+/g, "OPERATOR")
    );
  }

  #name(id: string, kind: string): string {
    const known = this.#names.get(id) ?? `${kind}-${this.#names.size + 1}`;
    this.#names.set(id, known);
    return known;
  }
}
