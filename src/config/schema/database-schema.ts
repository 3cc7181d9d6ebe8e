import { z } from "zod";
import { text } from "../../contract/scalars.ts";
import { SecretReference } from "./scalars.ts";

const LITERAL =
  "must be a reference such as { env: ACME_DATABASE_URL }, or { hosts, user, password, name, parameters }";

/** A part of an address, which may be a secret. */
const Part = z.union([text(1024), SecretReference]);
const parameter = (description: string) => Part.optional().meta({ description });

const Parameters = z.strictObject({
  target_session_attrs: parameter("Acceptable servers: any, read-write or primary. Changes always need a primary."),
  sslmode: parameter(
    "Encryption and verification of connections: disable, allow, prefer, require, verify-ca or verify-full.",
  ),
  sslrootcert: parameter(
    "File with the CA certificates for the servers, relative to the tenant's folder, or system for those of the machine.",
  ),
  connect_timeout: parameter("Timeout in seconds for a new connection; 0 for none."),
  application_name: parameter("Text after pmctl's own name in the database's list of sessions."),
});

/** An address in parts, each in the file or in a secret. */
const DatabaseParts = z.strictObject({
  hosts: z
    .array(Part)
    .min(1)
    .max(16)
    .meta({
      description: "The servers, each as host:port; pmctl uses the primary among them.",
      examples: [["a.example:5432", "b.example:5432"]],
    }),
  user: Part.optional().describe("The login."),
  password: SecretReference.optional().describe("Where the login's password is kept."),
  name: Part.describe("The database's name."),
  parameters: Parameters.optional().describe("Connection parameters of libpq."),
});

const DatabaseUrl = z.union([DatabaseParts, SecretReference], {
  error: ({ input }) =>
    typeof input === "object" && input !== null ? undefined : input === undefined ? "is required" : LITERAL,
});

/** A database's address in a tenant file. */
export type StatedDatabaseUrl = z.output<typeof DatabaseUrl>;

const StandbyCount = z
  .number()
  .int()
  .min(0)
  .max(9)
  .default(0)
  .describe("Number of standbys that store every change before it is acknowledged.");

const ConnectionCount = z
  .number()
  .int()
  .min(4)
  .max(100)
  .default(16)
  .describe("Largest number of connections of one server to this database, including reconnections.");

/** The guarantees that the database must give. */
const DatabasePromises = z
  .strictObject({ synchronousStandbys: StandbyCount })
  .prefault({})
  .describe("Requirements of the database: if one fails, serve does not start, and the server refuses changes.");

/** `writeOnly`, because the likeliest mistake is a connection string with its password. */
export const DatabaseSection = z
  .union(
    [
      z.literal("embedded"),
      z.strictObject({
        url: DatabaseUrl.describe("Reference to the connection string of the server's login, or its parts."),
        ownerUrl: DatabaseUrl.optional().describe(
          "Reference to the owner's connection string, or its parts, for apply, migrate, backup and restore. Without it, the server's login is the owner.",
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
