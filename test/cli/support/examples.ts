import { createHmac } from "node:crypto";
import { appendFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { generateIdentity, identityToRecipient } from "age-encryption";
import { administer } from "../../../src/postgres/database.ts";
import { embeddedCluster } from "../../../src/postgres/embedded/cluster.ts";
import { connectionUrl } from "../../../src/postgres/embedded/connection.ts";
import { signInbound } from "../../../src/providers/endpoint.ts";
import { type Ended, inProcess } from "../../support/in-process.ts";
import { newOperator, type Operator, type ServerProcess } from "../../support/operator.ts";
import { withRateLimit } from "../../support/tenant-text.ts";

/** Why an example is read, options and arguments included, and not run. */
const NOT_RUN: readonly (readonly [which: RegExp, reason: string])[] = [
  [/^(docs|serve|up|demo|market watch|webhook listen --forward-to)\b|--follow/, "it runs until it is stopped"],
  [/^console --open\b/, "it opens a browser"],
  [/^oracle check\b/, "it asks exchanges on the internet"],
  [/^market create$/, "it asks on a terminal"],
  [/^db shell\b/, "it hands its streams on to psql"],
  [/^audit accept-finding\b/, "the log of the examples holds nothing that the engine would not have decided"],
  [/^init (bern|zoe)\b/, "what it writes would be among the files of other examples"],
  [
    /^(approve|proposal (show|approve|reject|execute|object))\b/,
    "nothing waits for another actor in the tenant of the examples",
  ],
  [/^market correct\b/, "the tenant of the examples allows no corrections"],
  [/^proposal (show|approve|reject|execute)\b/, "no change of the examples' tenant needs several actors"],
  [/--key desk\b/, "a test of its own runs it, with the value that `key create` printed"],
  [/^db restore monday/, "the handbook's restore, of an encrypted backup, is run"],
];

/** The reason why an example is not run; undefined for one that is. */
export function reasonNotToRun(line: string): string | undefined {
  return NOT_RUN.find(([which]) => which.test(line))?.[1];
}

/** Blocks of a shell: those without a language are too. */
const SHELL = /^( *)```(?:sh|console[^\n]*)?\n([\s\S]*?)^\1```$/gm;
const ANY_BLOCK = /^( *)```[^\n]*\n[\s\S]*?^\1```$/gm;

/**
 * The examples of a page: the calls of `pmctl` in its blocks of a shell, without what explains them. What goes back to an
 * earlier state, forbids changes or adds a tenant comes last, for the others to run as they stand.
 */
export function examplesOfPage(text: string): string[] {
  const blocks = [...text.matchAll(ANY_BLOCK)].flatMap(([block]) =>
    [...block.matchAll(SHELL)].map(([, , lines = ""]) => lines),
  );
  const lines = blocks.join("\n").replaceAll("\\\n", " ").split("\n");
  const calls = lines.flatMap((line) =>
    line
      .replace(/\s+# .*$/, "")
      .trim()
      .replace(/^\$ /, "")
      .split(" && "),
  );
  const examples = calls.flatMap((call) => /^(?:npx )?pmctl (.*)$/.exec(call)?.[1]?.trim() ?? []);
  const rank = (line: string) => ["rollback", "freeze", "init"].findIndex((words) => line.startsWith(words));
  return examples.toSorted((one, other) => rank(one) - rank(other));
}

const market = (key: string, question: string) => `key: ${key}
question: ${question}
category: weather
kind: lmsr
p0: 0.4
closeAt: 2030-06-01T00:00:00Z
resolutionRef: weather service
`;

const EVENT = JSON.stringify({ event: "kyc.passed", userId: "alice" });

const FILES = {
  "tenants/acme/markets/rain.yaml": market("rain", "Will it rain on Sunday?"),
  "snow-in-june.yaml": market("snow-in-june", "Will it snow in June?"),
  "fleet.yaml": "version: 1\nwaves: [{ name: all, tenants: [acme, zoe], gate: { doctor: false } }]\n",
  "event.json": EVENT,
};

const OWN_LINES = `
sandbox: true
labels: { region: eu }
kyc: { required: false }
network: { allowPrivate: [127.0.0.0/8] }
embed: { allowedOrigins: [https://news.example] }
`;

/** What stands for each word of an example, by the line that has the word. */
type Names = Readonly<Record<string, (line: string) => Promise<string>>>;

/**
 * The tenant that the examples of help and pages speak of: `acme`, served, with the market `rain`, the users `alice` and
 * `bob`, a receiver `crm` that does not answer, two applies, and a tenant `zoe` beside it. Examples run in their order.
 */
export class ExampleTenant {
  readonly #operator: Operator;
  readonly #server: ServerProcess;
  readonly #emptyDatabase: () => Promise<string>;
  /** Placeholders of the examples and their values in this tenant, looked up when needed. */
  readonly #names: Names;

  private constructor(operator: Operator, server: ServerProcess, names: Names, emptyDatabase: () => Promise<string>) {
    this.#operator = operator;
    this.#server = server;
    this.#names = names;
    this.#emptyDatabase = emptyDatabase;
  }

  static async open(): Promise<ExampleTenant> {
    const operator = await newOperator();
    const { directory, edit, run, serve } = operator;
    const ask = async (line: string) => {
      const { stdout, stderr } = await run("-t", "acme", ...wordsOf(line), "-o", "json", "--yes");
      return JSON.parse(stdout || stderr);
    };
    for (const tenant of ["acme", "zoe"]) await run("init", tenant);
    await edit("acme", (text) =>
      withRateLimit(text, 100_000)
        .replace('blocked: ["US"]', "blocked: []")
        .replace(
          /^webhooks:\n/m,
          "$&  outbound: [{ name: crm, url: http://127.0.0.1:9, events: [wallet.credited], secret: { env: ACME_CRM } }]\n",
        )
        .replace("expected: true", "port: 0, opsPort: 0, expected: true")
        .concat(OWN_LINES),
    );
    await appendFile(join(directory, ".env"), `ACME_CRM=whsec_${Buffer.alloc(32, 7).toString("base64")}\n`);
    for (const [name, text] of Object.entries(FILES)) await writeFile(join(directory, name), text);
    await edit("zoe", (text) => text.replace("expected: true", "expected: false"));
    await run("apply", "zoe");
    const [first] = await ask("apply acme --receipt anchors.ndjson");
    await edit("acme", (text) => text.replace("feeBps: 100", "feeBps: 150"));
    const [second] = await ask("apply acme --accept-loosening");
    const server = await serve("acme");
    await serve("zoe");
    for (const user of ["alice", "bob"])
      await ask(`funding credit --user ${user} --amount 1000 --reason begin --new-user`);
    const { tradeId } = await ask("trade place --market rain --side yes --amount 30 --user alice");
    const { requestId } = await ask("trade place --market rain --side yes --amount 9999 --user alice");
    const delivery = async () => (await ask("webhook deliveries --limit 1"))[0];
    const inbound = async () => {
      await ask("webhook send deposit.completed --set userId=alice --set amountUsd=1");
      return (await ask("webhook inbound --limit 1"))[0];
    };
    const connection = embeddedCluster(directory).connection("acme");
    let databases = 0;
    const emptyDatabase = async () => {
      const empty = { ...connection, database: `acme_new_${++databases}` };
      await administer(connection, (sql) => sql`create database ${sql(empty.database)}`);
      return connectionUrl(empty);
    };
    const identity = await generateIdentity();
    await writeFile(join(directory, "key.txt"), `${identity}\n`);
    const recipient = await identityToRecipient(identity);
    const { ACME_WEBHOOK_SECRET = "" } = await operator.secrets();
    const signed = signInbound("msg_1", Buffer.from(EVENT), Math.floor(Date.now() / 1000), ACME_WEBHOOK_SECRET);
    // The market that pages speak of; once one of their lines has ended it, the next line has another.
    let open: string | undefined = "@last";
    let fogs = 0;
    const names: Names = {
      41: async () => String(first.seq),
      57: async () => String(second.seq),
      trd_90ab12: async () => tradeId,
      "req_Zk3f9Qx2-41": async () => requestId,
      "req_…": async () => requestId,
      "mkt_…": async (line) => {
        const terms = "--category weather --kind lmsr --p0 0.4 --close-at 7d --resolution-ref report";
        open ??= (await ask(`market create --key fog-${++fogs} --question Fog? ${terms}`)).id as string;
        const id = open;
        if (/^market (settle|void) (?!.*--preview)/.test(line)) open = undefined;
        return id;
      },
      "age1…": async () => recipient,
      FILE: async (line) => {
        const isEncrypted = line.includes("--identity");
        const { file, error } = await ask(`db backup${isEncrypted ? ` --encrypt-to ${recipient}` : ""}`);
        if (file === undefined) throw new Error(error);
        return file;
      },
      wdr_5c1f20: async () => (await ask("funding request --user alice --amount 5")).withdrawalId,
      "http://127.0.0.1:8080": async () => server.url,
      $SIGNATURE: async (line) =>
        line.includes("--id")
          ? signed["webhook-signature"]
          : createHmac("sha256", ACME_WEBHOOK_SECRET).update(EVENT).digest("hex"),
      $ID: async () => signed["webhook-id"],
      $TIME: async () => signed["webhook-timestamp"],
      $DELIVERY: async () => (await delivery()).deliveryId,
      $EVENT: async () => (await delivery()).eventId,
      payments: async () => (await inbound()).provider,
      $SHA256: async () => (await inbound()).sha256,
    };
    return new ExampleTenant(operator, server, names, emptyDatabase);
  }

  /**
   * Runs an example as a script would: nothing is asked, its answer is JSON unless it says how it prints, and what it is
   * redirected into is not written.
   */
  async run(line: string): Promise<Ended> {
    // A restore replaces the database, which nothing may be using.
    if (line.startsWith("db restore")) await this.#server.kill("SIGTERM");
    const words = [];
    for (const word of wordsOf(line)) words.push((await this.#names[word]?.(line)) ?? word);
    const env = { ...process.env, PMCTL_TENANT: "acme", ACME_NEW_URL: "" };
    if (words.includes("ACME_NEW_URL")) env.ACME_NEW_URL = await this.#emptyDatabase();
    const format = words.includes("-o") || line.includes(" > ") ? [] : ["-o", "json"];
    // Its markets are open still, which only a person at a terminal is asked about.
    const early = /^market settle (?!.*--preview)/.test(line) ? ["--early"] : [];
    return inProcess([...words, ...format, ...early, "--yes"], { cwd: this.#operator.directory, env });
  }

  /** Reads the options and arguments of an example; a command comes to its directory, which is missing, after them. */
  async read(line: string): Promise<Ended> {
    return inProcess([...wordsOf(line), "-C", NOWHERE], { cwd: this.#operator.directory, env: process.env });
  }

  /** Brings the tenant back to its file, whatever examples made of it. */
  async putBack(): Promise<void> {
    await this.run("freeze acme --off");
    await this.run("apply acme --accept-loosening --on-drift overwrite");
  }

  close(): Promise<void> {
    return this.#operator.close();
  }
}

/** A directory that is not there. */
export const NOWHERE = "/nowhere/at/all";

/** The words of a line of the shell, up to a redirection. Quotes hold what is between them together. */
function wordsOf(line: string): string[] {
  const [command = ""] = line.replaceAll("\\\n", " ").split(/ [<>] /);
  return [...command.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g)].map(([word]) =>
    word.replace(/'([^']*)'|"([^"]*)"/g, "$1$2"),
  );
}
