import { z } from "zod";
import { text } from "../../contract/scalars.ts";
import { SecretReference } from "./scalars.ts";

const LITERAL =
  "must be a reference such as { env: ACME_DATABASE_URL }, or { hosts, user, password, name, parameters }";

/** A part of an address, which may be a secret. */
const Part = z.union([text(1024), SecretReference]);
const parameter = (description: string) => Part.optional().meta({ description });

const Parameters = z.strictObject({
  target_session_attrs: parameter(
    "Which servers are acceptable: any, read-write or primary. Changes always need a primary.",
  ),
  sslmode: parameter(
    "How connections are encrypted and verified: disable, allow, prefer, require, verify-ca or verify-full.",
  ),
  sslrootcert: parameter(
    "File with the certificate authorities of the servers, relative to the tenant's folder, or system for those that the machine trusts.",
  ),
  connect_timeout: parameter("The most seconds for establishing a connection; 0 for no limit."),
  application_name: parameter("A suffix of pmctl's name in the database's list of sessions."),
});

/** An address in parts, each in the file or in a secret. */
const DatabaseParts = z.strictObject({
  hosts: z
    .array(Part)
    .min(1)
    .max(16)
    .meta({
      description: "The servers, each as host:port. pmctl uses the current primary among them.",
      examples: [["a.example:5432", "b.example:5432"]],
    }),
  user: Part.optional().describe("The login."),
  password: SecretReference.optional().describe("Reference to the login's password."),
  name: Part.describe("Name of the database."),
  parameters: Parameters.optional().describe("Connection parameters with their libpq names."),
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
  .describe("The number of standbys that have every acknowledged change.");

const ConnectionCount = z
  .number()
  .int()
  .min(4)
  .max(100)
  .default(16)
  .describe("The most connections of one server to this database, including reconnections.");

/** The guarantees that the database must give. */
const DatabasePromises = z
  .strictObject({ synchronousStandbys: StandbyCount })
  .prefault({})
  .describe("Guarantees that the database must give. Without them serve does not start, and changes are refused.");

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
