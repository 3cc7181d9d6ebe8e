import { z } from "zod";
import { text } from "../../contract/scalars.ts";
import { SecretReference } from "./scalars.ts";

const LITERAL =
  "must be a reference such as { env: ACME_DATABASE_URL }, or { hosts, user, password, name, parameters }";

/** A part of an address that need not be a secret. */
const Part = z.union([text(1024), SecretReference]);
const parameter = (description: string) => Part.optional().meta({ description });

const Parameters = z.strictObject({
  target_session_attrs: parameter(
    "Which servers will do: any, read-write or primary. Changes need a primary in each case.",
  ),
  sslmode: parameter(
    "How connections are encrypted and whom they trust: disable, allow, prefer, require, verify-ca or verify-full.",
  ),
  sslrootcert: parameter(
    "File with the certificates that sign the servers', relative to the tenant's folder, or system for those that the machine trusts.",
  ),
  connect_timeout: parameter("Seconds that a connection may take to be made; 0 for any time."),
  application_name: parameter("Stands behind pmctl's own name in the database's list of sessions."),
});

/** An address in parts, each in the file or kept as a secret. */
const DatabaseParts = z.strictObject({
  hosts: z
    .array(Part)
    .min(1)
    .max(16)
    .meta({
      description: "The servers, each as host:port; the primary among them is used, whichever it is.",
      examples: [["a.example:5432", "b.example:5432"]],
    }),
  user: Part.optional().describe("The login."),
  password: SecretReference.optional().describe("Where the login's password is kept."),
  name: Part.describe("The database's name."),
  parameters: Parameters.optional().describe("Parameters of the connection, as libpq has them."),
});

const DatabaseUrl = z.union([DatabaseParts, SecretReference], {
  error: ({ input }) =>
    typeof input === "object" && input !== null ? undefined : input === undefined ? "is required" : LITERAL,
});

/** How a tenant file says where a database is. */
export type StatedDatabaseUrl = z.output<typeof DatabaseUrl>;

const StandbyCount = z
  .number()
  .int()
  .min(0)
  .max(9)
  .default(0)
  .describe("Standbys that every acknowledged change is on.");

const ConnectionCount = z
  .number()
  .int()
  .min(4)
  .max(100)
  .default(16)
  .describe("The most connections that one server has to this database, those that it reconnects with included.");

/** What the database has to promise. */
const DatabasePromises = z
  .strictObject({ synchronousStandbys: StandbyCount })
  .prefault({})
  .describe("What the database has to promise: without it serve does not start, and changes are refused.");

/** `writeOnly`: the likeliest mistake here is a connection string with its password. */
export const DatabaseSection = z
  .union(
    [
      z.literal("embedded"),
      z.strictObject({
        url: DatabaseUrl.describe("Where the connection string of the server's login is kept, or its parts."),
        ownerUrl: DatabaseUrl.optional().describe(
          "Where the connection string of the owner is kept, or its parts; apply, migrate, backup and restore connect with it. Without it, the server's login is the owner.",
        ),
        require: DatabasePromises,
        connections: ConnectionCount,
      }),
    ],
    {
      error: ({ input }) =>
        typeof input === "object" && input !== null
          ? undefined
          : "must be embedded, or { url: { env: ACME_DATABASE_URL } }",
    },
  )
  .meta({ writeOnly: true });
