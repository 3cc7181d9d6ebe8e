import { Readable, Writable } from "node:stream";
import { main } from "../../../src/cli/program.ts";
import { localApi } from "../../../src/client/local-api.ts";
import { openTenant } from "../../../src/services/tenant.ts";
import { embeddedCluster } from "../../../src/store/embedded/cluster.ts";
import { newOperator, type Operator } from "../../support/operator.ts";

/** What a command came to, with whatever differs between two tenants by chance made alike. */
export interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

/** The whole command line on a tenant of its own, as an operator types it. */
export interface Side {
  run(...args: string[]): Promise<Outcome>;
  /** The same, with nothing made alike. */
  raw(...args: string[]): Promise<Outcome>;
  /** A text of this tenant with what differs by chance made alike. */
  alike(text: string): string;
  /** A user's own request for a withdrawal; resolves to its id. */
  withdraw(userId: string, amount: number): Promise<string>;
}

/** Two tenants of one file and one directory: nobody serves the first, a server runs for the second. */
export interface TwoDoors {
  operator: Operator;
  db: Side;
  http: Side;
  close(): Promise<void>;
}

const OWN_LINES = [
  "kyc: { required: false }",
  "server: { port: 0, opsPort: 0 }",
  "rateLimit: { perMinute: 100000 }",
].join("\n");

export async function openTwoDoors(): Promise<TwoDoors> {
  const operator = await newOperator();
  const previous = process.cwd();
  process.chdir(operator.directory);
  for (const tenant of ["unserved", "served"]) {
    await operator.run("init", tenant);
    await operator.edit(tenant, (text) => `${text.replace('blocked: ["US"]', "blocked: []")}\n${OWN_LINES}\n`);
    const applied = await operator.run("apply", tenant);
    if (applied.exitCode !== 0) throw new Error(applied.stderr);
  }
  await operator.serve("served");
  return {
    operator,
    db: side(operator, "unserved"),
    http: side(operator, "served"),
    close: async () => {
      process.chdir(previous);
      await operator.close();
    },
  };
}

function side(operator: Operator, tenant: string): Side {
  const alike = new Likeness(tenant);
  const raw = (...args: string[]) => inProcess(["-t", tenant, ...args]);
  return {
    raw,
    alike: (text) => alike.of(text),
    run: async (...args) => {
      const { code, stdout, stderr } = await raw(...args);
      return { code, stdout: alike.of(stdout), stderr: alike.of(stderr) };
    },
    withdraw: async (userId, amount) => {
      const connection = embeddedCluster(operator.directory).connection(tenant);
      const secrets = await operator.secrets();
      const auditSecret = secrets[`${tenant.toUpperCase()}_AUDIT_KEY`] ?? "";
      const services = await openTenant({ tenantId: tenant, connection, auditSecret, readers: 1 });
      try {
        const api = localApi(services.handlers, { actor: `user:${userId}`, user: { id: userId } });
        return (await api.requestWithdrawal({ amount })).withdrawalId;
      } finally {
        await services.close();
      }
    },
  };
}

async function inProcess(args: string[]): Promise<Outcome> {
  const seen = { stdout: "", stderr: "" };
  const sink = (name: keyof typeof seen) =>
    new Writable({
      write(chunk, _encoding, done) {
        seen[name] += String(chunk);
        done();
      },
    });
  const code = await main(args, { stdin: Readable.from([]), stdout: sink("stdout"), stderr: sink("stderr") });
  return { code, ...seen };
}

/** Replaces what no two runs share: identifiers (by their order of appearance), instants, hashes, and who acts. */
class Likeness {
  readonly #names = new Map<string, string>();
  readonly #tenant: string;

  constructor(tenant: string) {
    this.#tenant = tenant;
  }

  of(text: string): string {
    return text
      .replaceAll(this.#tenant, "TENANT")
      .replace(/\b(mkt|trd|wdr|sui)_[0-9a-f]{20,}/g, (id, kind: string) => this.#name(id, kind))
      .replace(/\b[0-9a-f]{64}\b/g, "HASH")
      .replace(/\bak_[0-9a-f]{12}\b/g, "KEY")
      .replace(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?Z/g, "TIME")
      .replace(/\b(cli|admin):[\w-]+/g, "OPERATOR");
  }

  #name(id: string, kind: string): string {
    const known = this.#names.get(id) ?? `${kind}-${this.#names.size + 1}`;
    this.#names.set(id, known);
    return known;
  }
}
