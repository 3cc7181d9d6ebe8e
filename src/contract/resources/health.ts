import { z } from "zod";
import { operationsUnder } from "../operation.ts";
import { Timestamp, Usd } from "../scalars.ts";

export const Health = z
  .object({ ok: z.boolean(), service: z.string(), db: z.boolean(), uptimeSec: z.number().int().min(0) })
  .meta({ id: "Health" });

export const Reconciliation = z
  .object({
    ok: z.boolean(),
    discrepancy: Usd,
    checkedAt: Timestamp,
    verifiedAt: Timestamp.describe(
      "Extension: the state of the last complete check. For this response, newer rows and all balances were checked.",
    ),
  })
  .meta({ id: "Reconciliation" });

const sums = {
  discrepancy: z.number().describe("The difference, in the unit of the check."),
  stated: z.number().describe("The sum of the checked rows."),
  expected: z.number().describe("The sum that they should have."),
};
const held = z
  .string()
  .nullable()
  .optional()
  .meta({
    description: "For a check of rows instead of amounts: the row's contents in words; null for no row.",
    examples: ["admin key ops of 2027-01-31T18:00:00.000Z"],
  });
const said = z
  .string()
  .nullable()
  .optional()
  .describe("The same row according to the audit log; null if the log does not mention it.");
export const LedgerCheck = z
  .object({
    name: z.string().meta({ examples: ["escrow"] }),
    unit: z.enum(["usd", "count"]).describe("The unit of the numbers: US dollars, or a number of rows."),
    ok: z.boolean(),
    ...sums,
    rows: z.number().int().min(0).describe("How many rows disagree."),
    places: z.array(z.object({ place: z.string(), ...sums, held, said })).describe("The first rows that disagree."),
  })
  .meta({ id: "LedgerCheck" });

const count = z.number().int().min(0);
const milliseconds = z.number().min(0).nullable();

const KnownServer = z
  .object({
    server: z.string().meta({ description: "Unique for each process.", examples: ["web1-4711-9f3a21c8"] }),
    version: z
      .string()
      .nullable()
      .meta({ description: "Null for a server of another directory.", examples: ["1.0.0"] }),
    since: Timestamp.nullable().describe("When it began to serve; null for a server of another directory."),
    url: z.string().nullable().describe("Its address for traders; null for a server of another directory."),
    work: z.array(z.string()).meta({ description: "The background work that it does.", examples: [["oracle"]] }),
  })
  .meta({ id: "KnownServer" });

const Standby = z
  .object({
    name: z.string(),
    state: z.string(),
    sync: z.enum(["sync", "quorum", "potential", "async"]),
    lagBytes: z.number().int().nullable().describe("Bytes of the log that are not on its disk yet."),
  })
  .meta({ id: "Standby" });

const DatabaseServer = z
  .object({
    host: z.string().meta({ description: "Host and port of the primary.", examples: ["db1:5432"] }),
    version: z.string().meta({ examples: ["18.4"] }),
    survives: z
      .enum(["none", "crash", "machine"])
      .describe(
        "What an acknowledged change survives: `none` without `fsync`, `machine` with a synchronous standby, else `crash`.",
      ),
    standbys: z.array(Standby).nullable().describe("Null where the database's login may not see them."),
    synchronousStandbys: count.describe("How many of them each commit waits for."),
    required: count.describe("How many the tenant file requires."),
    checkedAt: Timestamp,
  })
  .meta({ id: "DatabaseServer" });

const requests = {
  requests: count,
  failed: count.describe("Answers with a status of 500 or above."),
  tooMany: count.describe("Answers with 429: the client was over its limit, or the server was overloaded."),
  p50Ms: milliseconds.describe(
    "Half of the requests took at most this long, estimated within a bucket of the metrics.",
  ),
  p99Ms: milliseconds,
};
const RecentRequests = z
  .object({
    since: Timestamp.describe("The answering server counts from here, at most five minutes ago."),
    ...requests,
    groups: z
      .array(z.object({ group: z.string().meta({ examples: ["trading"] }), ...requests }))
      .describe("By the group of the operation; `console`, and `pages` for everything else."),
  })
  .meta({ id: "RecentRequests" });

const ClientStanding = z
  .object({
    kind: z
      .enum(["address", "admin", "webhook", "embed", "options", "console"])
      .describe(
        "What is counted: requests of an address, of an admin key, signed webhooks, reads of the widget, preflights, or refused sign-ins to the console.",
      ),
    client: z.string().describe("An address, or the name of an admin key."),
    requests: count.describe("In its minute so far, at all servers of the tenant."),
    limit: z.number().int().nullable().describe("Requests that its minute allows."),
    endsAt: Timestamp.describe("When its minute ends."),
  })
  .meta({ id: "ClientStanding" });

export const ServerStatus = z
  .object({
    answeredBy: z
      .string()
      .nullable()
      .describe("One of `servers`; null where a command reads the database without a server."),
    servers: z
      .array(KnownServer)
      .describe(
        "The servers of the answering server's directory, and those elsewhere that do background work. No server elsewhere is known while it does none.",
      ),
    database: DatabaseServer.nullable().describe("Null while no primary answers."),
    queue: count.describe("Changes that wait for a commit of the answering process."),
    recent: RecentRequests.nullable().describe("Null without a server."),
    clients: z.array(ClientStanding).max(10).describe("The clients with the most requests in their present minute."),
    certificates: z
      .array(z.object({ section: z.string().meta({ examples: ["server.tls"] }), expiresAt: Timestamp }))
      .nullable()
      .describe("The certificates of the tenant file; null without a server."),
    lastBackup: z
      .object({ at: Timestamp.nullable() })
      .nullable()
      .describe(
        "When the latest backup was written from the answering server's directory, null for none. Null without a server. Backups by other programs are not known.",
      ),
  })
  .meta({ id: "ServerStatus" });

const { operation, operatorRead, operatorChange } = operationsUnder("operations");

export const healthOperations = {
  getHealth: operation({
    method: "GET",
    path: "/health",
    auth: "none",
    summary: "Check that the service and its database are up.",
    output: Health,
    refusals: [],
    health: true,
  }),
  getServer: operatorRead({
    path: "/v1/server",
    summary:
      "Get the tenant's servers, database and replication, the queue of changes, recent response times and the clients with the most requests.",
    output: ServerStatus,
    extension: true,
  }),
  reconcile: operatorChange("read", {
    path: "/v1/reconcile",
    summary: "Reconcile the whole ledger and record the result in the audit log.",
    input: z.object({
      full: z
        .enum(["true", "false"])
        .optional()
        .describe(
          "Extension: `true` checks every row now. Otherwise, rows of a large ledger that were checked within the last minutes are not read again.",
        ),
    }),
    inQuery: true,
    output: Reconciliation,
    refusals: [],
    verifies: "ledger",
  }),
  explainLedger: operatorRead({
    path: "/v1/reconcile/checks",
    summary:
      "List every check of the ledger with its two sums and the first differences. Of a large ledger the last comparison counts, as in `POST /v1/reconcile`.",
    input: z.object({
      failing: z.enum(["true", "false"]).optional().describe("`true` lists only the failed checks."),
    }),
    output: z.array(LedgerCheck),
    extension: true,
  }),
};
