import { z } from "zod";
import { MARKET_KINDS } from "../../domain/market/market-makers.ts";
import { MAX_AMOUNT_USD } from "../../domain/money.ts";
import { MarketKey, Sha256, text } from "../scalars.ts";
import { MarketInput } from "./markets.ts";
import { AppliedPolicy, StoredPolicy } from "./policy.ts";

const State = z.enum(["open", "suspended"]);

/** A market to create, with its key in the files and its first state. */
export const ConfigMarketInput = MarketInput.extend({ key: MarketKey, state: State }).meta({ id: "ConfigMarketInput" });

const usd = z.number().min(0).max(MAX_AMOUNT_USD);

const Terms = z.object({
  question: text(500),
  category: text(64),
  kind: z.enum(MARKET_KINDS),
  p0: z.number().min(0).max(1),
  closeAt: z.number().int(),
  resolutionRef: text(500),
  meta: z.record(z.string(), z.json()),
  liquidityUsd: usd.optional(),
  state: State,
});
/**
 * A market's terms as a document keeps them: dollars, the tenant's default unless stated, and instants in milliseconds.
 */
export type DeclaredTerms = z.output<typeof Terms>;

const Document = z.object({
  tenant: text(64),
  kyc: z.object({ required: z.boolean() }).catchall(z.json()),
  treasury: z.object({ capitalUsd: usd }).catchall(z.json()),
  markets: z.object({ liquidityUsd: usd }).catchall(z.json()),
  policy: AppliedPolicy,
  /** API keys by name: type, fingerprint, scopes, networks, expiry. */
  keyring: z.record(text(64), text(2000)),
  /** Markets by key. */
  declared: z.record(text(64), Terms.catchall(z.json())),
  /** Live values that an operator kept although the file differs, by field. */
  adopted: z.record(text(200), z.json()),
});

/**
 * What an apply stores for the next plan to compare with. The order of keys and of lists that are sets, and explicitly
 * stated defaults, make no difference to it. Secrets are references in it, API keys fingerprints. Further sections are
 * those of the tenant file.
 */
export type ConfigDocument = Omit<z.output<typeof Document>, "declared"> & { declared: Record<string, DeclaredTerms> };

/**
 * The parts of a document that later plans read; the other sections are those of the tenant file. This schema changes
 * no value, because documents are compared by their text.
 */
export const ConfigDocumentInput = Document.catchall(z.json()).meta({
  id: "ConfigDocument",
  description: "The tenant's files in canonical form, without secrets, for later plans to compare with.",
});

const seq = z.number().int().min(0);
const applied = {
  seq,
  ts: z.string(),
  actor: z.string(),
  reason: z.string().nullable(),
  hash: Sha256.meta({ description: "The hash of the apply's audit entry." }),
  gitCommit: z.string().nullable().meta({
    description: "The commit of the operator's files; it ends in `-dirty` where an applied file was not the commit's.",
  }),
  sha256: z.string().meta({ description: "SHA-256 of the document's JSON with sorted keys, computed by the server." }),
  fileSha256: z.string().nullable().meta({
    description:
      "SHA-256 of the tenant file, as `sha256sum` prints it and the apply stated it; the server cannot check it.",
  }),
  rollbackTo: seq.nullable().meta({ description: "The sequence number of the apply that this one restored." }),
  policy: z.array(z.string()).meta({ description: "The policy fields that the apply changed." }),
  adopted: z.array(z.string()).meta({ description: "The fields whose live values the apply kept." }),
};
export const AppliedItem = z
  .object({
    ...applied,
    changes: z
      .object({ policy: seq, markets: seq, keys: seq, settings: seq })
      .meta({ description: "How many fields differ from the apply before, by what they are about." }),
  })
  .meta({ id: "AppliedItem" });
export const AppliedConfiguration = z
  .object({
    ...applied,
    changes: z
      .array(z.object({ field: z.string(), before: z.json(), after: z.json() }))
      .meta({ description: "The fields that differ from the apply before; null where one does not state it." }),
    livePolicy: StoredPolicy.nullable().meta({
      description: "The whole policy as the apply left it, without overrides; null for an apply by an older version.",
    }),
    document: z.record(z.string(), z.json()),
  })
  .meta({ id: "AppliedConfiguration" });
