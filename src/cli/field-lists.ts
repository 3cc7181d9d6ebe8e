import { z } from "zod";
import { TenantFileSchema } from "../config/schema/schema.ts";
import { type OperationId, operations } from "../contract/operations.ts";
import { Fault } from "../domain/fault.ts";

/** An operation's answer, the rows inside it, a document, or names of the command's own with spaces between. */
type Printed =
  | OperationId
  | { of: OperationId; rows: string }
  | { document: z.ZodType; and?: string }
  | { names: string };

const SERVED = { names: "tenant pid url opsUrl" };
const CLUSTER = { names: "running dataDir host port url version" };
const BACKUP = "file format tenant created schemaVersion head head.seq head.hash count sha256 keyId encrypted";
const PLANNED = "field kind base desired live by mark problem";

/** What each command prints. */
const PRINTED: Record<string, Printed> = {
  init: { names: "path result" },
  demo: { names: "tenant url playgroundUrl opsUrl adminKey publicKey userId userToken curl" },
  validate: { names: "tenant file markets" },
  render: { names: "tenant path value origin" },
  schema: { names: "$schema type properties required title description definitions openapi info paths components" },
  plan: { names: `tenant ${PLANNED}` },
  apply: { names: "tenant changed migrations" },
  drift: { names: PLANNED },
  pull: { document: TenantFileSchema },
  history: { names: "seq ts actor reason gitCommit sha256 fileSha256 rollbackTo policy adopted" },
  rollback: { names: "tenant to changed" },
  serve: SERVED,
  up: SERVED,
  "tenant list": { names: "tenant name baseUrl database problem" },
  "tenant show": { document: TenantFileSchema, and: "file door" },
  "key list": { names: "name type active onRecord scopes from createdAt expiresAt lastUsedAt reference fingerprint" },
  "key create": "createKey",
  "key rotate": "rotateKey",
  "key revoke": "revokeKey",
  "market watch": {
    names: "event marketId yesPrice noPrice side amount shares yesPriceAfter status outcome ts markets",
  },
  "market list": "listMarkets",
  "market show": "getMarket",
  "market create": "createMarket",
  "market suspend": "suspendMarket",
  "market resume": "resumeMarket",
  "market settle": "settleMarket",
  "market history": "getMarketHistory",
  "market trending": "listTrendingMarkets",
  "report overview": "getOverviewReport",
  "report house": { of: "getHouseReport", rows: "byCategory" },
  "report traders": { of: "getTradersReport", rows: "traders" },
  "report funding": "getFundingReport",
  risk: "listRisk",
  hedge: { of: "getHedgeExposure", rows: "hedgeBook" },
  "trade quote": "quoteTrade",
  "trade place": "placeTrade",
  "position list": "listPositions",
  "user show": "getUser",
  "user restrict": "restrictUser",
  "user release": "releaseUser",
  "user revoke": "revokeUser",
  "suitability show": "getSuitability",
  "suitability submit": "submitSuitability",
  "funding list": "listWithdrawals",
  "funding approve": "approveWithdrawal",
  "funding reject": "rejectWithdrawal",
  "funding credit": "creditWallet",
  "policy show": "getPolicy",
  "policy set": "updatePolicy",
  "audit list": { of: "listAudit", rows: "entries" },
  "audit status": "getAuditStatus",
  "audit security": { of: "listSecurityEvents", rows: "entries" },
  reconcile: "reconcile",
  "market depth": { names: "side price size" },
  "user token": { names: "token userId expiresAt" },
  "audit accept-rollback": { names: "anchor head lost seq" },
  "audit verify": { names: "verified head count broken" },
  "audit export": { names: "file entries head" },
  "oracle status": "getOracleStatus",
  "oracle feeds": { names: "feed sources lacking quorum maxAgeSec" },
  "oracle check": { names: "feed price ageSec spread session verdict detail" },
  "oracle sweep": { names: "watched asked settled held" },
  "webhook send": { names: "event url status body" },
  "webhook sign": { names: "signature scheme headers" },
  "webhook verify": { names: "valid" },
  "webhook deliveries": "listWebhookDeliveries",
  "webhook replay": { of: "replayWebhook", rows: "replayed" },
  "webhook receivers": "listWebhookReceivers",
  "webhook enable": "enableWebhookReceiver",
  "webhook listen": { names: "id type status problem" },
  "embed snippet": { names: "html csp scriptUrl integrity" },
  "embed check": { names: "check result detail" },
  "db start": CLUSTER,
  "db stop": CLUSTER,
  "db status": CLUSTER,
  "db migrate": { names: "tenant applied" },
  "db backup": { names: `${BACKUP} bytes` },
  "db restore": { names: `${BACKUP} keptAs` },
  doctor: { names: "ok checks" },
  why: { names: "kind refusal trade because rule" },
  completion: { names: "shell script" },
  help: { names: "topic text" },
  version: { names: "version node" },
};

/**
 * The names that `--fields` takes for a command, without running it: one that changes something must not do so because
 * somebody asked what it prints.
 *
 * @param path the command's words, such as `market list`
 * @throws Fault USAGE for a command that prints no data
 */
export function fieldsOfCommand(path: string): string[] {
  const printed = PRINTED[path];
  if (printed === undefined)
    throw new Fault("USAGE", `pmctl ${path} prints no data, so there are no fields to choose from`);
  if (typeof printed === "string") return namesIn(operations[printed].output);
  if ("names" in printed) return printed.names.split(" ");
  if ("document" in printed) return [...namesIn(printed.document), ...(printed.and?.split(" ") ?? [])];
  const { output } = operations[printed.of];
  return namesIn((output as z.ZodObject).shape[printed.rows]);
}

function namesIn(schema: unknown, prefix = ""): string[] {
  const inner = unwrapped(schema);
  if (inner instanceof z.ZodArray) return prefix === "" ? namesIn(inner.element) : [];
  if (inner instanceof z.ZodUnion) return [...new Set(inner.options.flatMap((option) => namesIn(option, prefix)))];
  if (!(inner instanceof z.ZodObject)) return [];
  return Object.entries(inner.shape).flatMap(([name, part]) => [
    `${prefix}${name}`,
    ...namesIn(part, `${prefix}${name}.`),
  ]);
}

function unwrapped(schema: unknown): unknown {
  if (
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault
  )
    return unwrapped(schema.unwrap());
  return schema;
}
