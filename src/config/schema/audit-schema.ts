import { z } from "zod";
import { text } from "../../contract/scalars.ts";
import { isMapping } from "../../domain/json/mapping.ts";
import { listOf, OutgoingUrl, previousSecrets, SecretReference } from "./scalars.ts";

const MOST_TARGETS = 5;
const Count = z.number().int().min(1);

const NO_TARGET = "must be { file }, { exec: [program] } or { url, secret }, or a list of them";

const TARGETS = [
  z.strictObject({
    file: text(1024).meta({
      description: "File to which anchors are appended, relative to the tenant's folder.",
      examples: ["anchors.ndjson"],
    }),
  }),
  z.strictObject({
    exec: z
      .array(z.string().min(1).max(1024))
      .min(1)
      .max(64)
      .meta({
        description: "Program and arguments that read an anchor from stdin; needs --allow-exec.",
        examples: [["/usr/local/bin/keep-anchor"]],
      }),
  }),
  z.strictObject({
    url: OutgoingUrl.meta({
      description: "Address to which anchors are posted, signed like outgoing webhooks.",
      examples: ["https://keep.acme.example/anchors"],
    }),
    secret: SecretReference.describe("Reference to the signing secret."),
    previousSecrets: previousSecrets("anchors are signed with them"),
  }),
] as const;
const AnchorTarget = z.union(TARGETS, { error: ({ input }) => (isMapping(input) ? undefined : NO_TARGET) });
export type AnchorTarget = z.output<typeof AnchorTarget>;

/** The section `audit` of the tenant file. */
export const AuditSection = z.strictObject({
  key: SecretReference.describe("Where the key of the audit chain is kept; outside the database."),
  previous: listOf(SecretReference, 10).describe(
    "Keys that sealed earlier entries: they verify those, and seal no new ones.",
  ),
  anchors: z
    // The kinds are listed separately, so that a mistake in a list yields only the list's message.
    .union([z.array(AnchorTarget).max(MOST_TARGETS), ...TARGETS], {
      error: ({ input }) => (typeof input === "object" && input !== null ? undefined : NO_TARGET),
    })
    .default([])
    .describe(`Up to ${MOST_TARGETS} places, besides .pmctl/anchors, for signed anchors of the log.`),
  anchorEvery: z
    .strictObject({
      entries: Count.max(100_000)
        .default(100)
        .describe("Number of new entries after which the server writes an anchor."),
      minutes: Count.max(1440).default(5).describe("Minutes after which the server anchors new entries."),
    })
    .prefault({})
    .describe("How often the server anchors the log."),
});
export type AuditSection = z.output<typeof AuditSection>;
