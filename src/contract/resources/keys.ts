import { z } from "zod";
import { normalScopes, noScope, SCOPES } from "../../domain/access/scopes.ts";
import { operationsUnder } from "../operation.ts";
import { Cidr, Name, Timestamp } from "../scalars.ts";
import { orProposal } from "./ends/proposals.ts";

const DAY_SECONDS = 86_400;

export const KeyType = z.enum(["admin", "public"]).meta({
  id: "KeyType",
  description: "`admin` is for operators, within its scopes; `public` is for traders and browsers.",
});

export const KeyName = Name.meta({
  id: "KeyName",
  description: "Unique among the tenant's keys; audit entries name it.",
  examples: ["ops"],
});

/** The most networks of one key; more would not fit a key's entry in a configuration document. */
const MAX_NETWORKS = 32;

const Scope = z
  .enum(SCOPES, { error: ({ input }) => (typeof input === "string" ? noScope(input) : undefined) })
  .meta({ id: "Scope", description: "What an admin key may do; `*` is everything." });

/** Decoded scopes have no repeats and a fixed order. */
export const KeyScopes = z.array(Scope).min(1).max(SCOPES.length).overwrite(normalScopes);

/** Decoded networks have no repeats and a fixed order. */
export const KeyNetworks = z
  .array(Cidr.meta({ examples: ["192.0.2.0/24"] }))
  .max(MAX_NETWORKS)
  .overwrite((ranges) => [...new Set(ranges)].sort());

const scopes = z
  .array(Scope)
  .meta({ description: "What an admin key may do; a public key has none.", examples: [["read", "settle"]] });
const from = z.array(z.string()).meta({
  description: "Networks (CIDR) from which the key works; an empty list means any.",
  examples: [["192.0.2.0/24"]],
});

const expiresAt = Timestamp.nullable().describe("When the key stops working; null for never.");

const leaked = z
  .boolean()
  .describe("Whether the key was ended because its value leaked; no key is given that value again.");

export const Fingerprint = z
  .string()
  .regex(/^fp:[0-9a-f]{8}$/, "must be a fingerprint such as fp:0a1b2c3d")
  .meta({ description: "The first digits of the SHA-256 of a key's value.", examples: ["fp:0a1b2c3d"] });

const stated = {
  name: KeyName,
  type: KeyType,
  fingerprint: Fingerprint,
  scopes,
  from,
  createdAt: Timestamp,
  expiresAt,
  leaked,
};
export const ConfigKey = z.object(stated).meta({ id: "ConfigKey" });

export const ApiKeyItem = z
  .object({
    name: KeyName,
    type: KeyType,
    active: z.boolean().describe("Whether the key works now."),
    onRecord: z
      .boolean()
      .describe(
        "Whether an audit entry records the key's creation. A key without such an entry is listed as stored, but requests with it are refused.",
      ),
    fingerprint: Fingerprint,
    scopes,
    from,
    createdAt: Timestamp,
    expiresAt,
    leaked,
    lastUsedAt: Timestamp.nullable().describe(
      "When a request last used the key, updated within a minute; null if never.",
    ),
  })
  .meta({
    id: "ApiKey",
    description: "What is stored about an API key. Its value is shown once, when the key is created, and never stored.",
  });

export const KeyInput = z
  .object({
    name: KeyName,
    type: KeyType,
    scopes: KeyScopes.optional().meta({
      description: "What an admin key may do; `*` unless given. The caller's own key must have all of them.",
      examples: [["read", "settle"]],
    }),
    from: KeyNetworks.default([]).meta({
      description: "Networks (CIDR) from which the key works; by default any.",
      examples: [["192.0.2.0/24"]],
    }),
    expiresAt: Timestamp.nullable().optional().describe("When the key stops working; never by default."),
  })
  .meta({ id: "KeyInput" });

const key = z
  .string()
  .nullable()
  .meta({
    description:
      "The key's value, shown only once; null when a stored response is repeated, because the value is never stored.",
    examples: ["sk_3q2-7wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"],
  });

export const KeyCreated = z
  .object({ name: KeyName, type: KeyType, scopes, from, key, createdAt: Timestamp, expiresAt })
  .meta({ id: "KeyCreated" });

export const KeyRotation = z
  .object({
    name: KeyName,
    type: KeyType.optional().describe("An error if the key has another type."),
    overlapSeconds: z
      .number()
      .int()
      .min(0)
      .max(30 * DAY_SECONDS)
      .default(DAY_SECONDS)
      .meta({ description: "How long the old value still works; the default is a day.", examples: [3600] }),
    leaked: z
      .boolean()
      .optional()
      .describe("Revokes the old value at once and for ever, whatever `overlapSeconds` says."),
    expiresAt: Timestamp.optional().describe(
      "When the new value stops working. By default it has the old value's lifetime, counted from now.",
    ),
  })
  .meta({ id: "KeyRotation" });

export const KeyRotated = KeyCreated.extend({
  oldUntil: Timestamp.describe("When the old value stops working."),
}).meta({ id: "KeyRotated" });

export const KeyRef = z.object({
  name: KeyName,
  type: KeyType.optional().describe("An error if the key has another type."),
});

export const KeyRevoked = z.object({ name: KeyName, type: KeyType, revokedAt: Timestamp }).meta({ id: "KeyRevoked" });

const { operatorRead, operatorChange } = operationsUnder("operations", { extension: true });

export const keyOperations = {
  listKeys: operatorRead({
    path: "/v1/keys",
    summary: "List the API keys, including those that have ended.",
    output: z.array(ApiKeyItem),
  }),
  createKey: operatorChange("keys", {
    path: "/v1/keys",
    summary: "Create an API key; its value is shown once.",
    input: KeyInput,
    output: orProposal(KeyCreated),
    refusals: ["KEY_EXISTS", "PROPOSAL_PENDING"],
  }),
  rotateKey: operatorChange("keys", {
    path: "/v1/keys/:name/rotate",
    summary: "Give an API key a new value; the old value keeps working for a while.",
    input: KeyRotation,
    output: orProposal(KeyRotated),
    refusals: ["PROPOSAL_PENDING"],
  }),
  revokeKey: operatorChange("keys", {
    path: "/v1/keys/:name/revoke",
    summary: "Revoke an API key at once.",
    input: KeyRef,
    output: KeyRevoked,
    refusals: ["KEY_IN_USE"],
  }),
};
