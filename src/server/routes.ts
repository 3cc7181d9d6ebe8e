import { createHash } from "node:crypto";
import type { HTTPMethod } from "h3";
import type { InboundEndpoint } from "../contract/constants.ts";
import type { Operation } from "../contract/operation.ts";
import { type OperationId, operations } from "../contract/operations.ts";
import type { OperationScope } from "../domain/access/scopes.ts";
import type { SignatureFault } from "../domain/access/signature-faults.ts";
import { Fault, invariant } from "../domain/fault.ts";
import { wallClockMs } from "../domain/time/clock.ts";
import type { Sequencer } from "../ledger/sequencer/sequencer.ts";
import { type EndpointSecrets, inboundFault } from "../providers/endpoint.ts";
import type { InboundProvider, KycFinding } from "../providers/kyc.ts";
import { verifyStripeSignature } from "../providers/stripe/verify.ts";
import { type Caller, decodeInput, type Handlers, invoke, perform } from "../services/invoke.ts";
import type { SecurityLog } from "../services/security/security-log.ts";
import { keepNews } from "../services/webhooks/inbound.ts";
import type { AdminHosts } from "./access/admin-hosts.ts";
import {
  type Authenticated,
  authenticate,
  callerOf,
  type Identities,
  type Identity,
  repeatableCaller,
} from "./access/authenticate.ts";
import { isForBrowsers } from "./access/cors.ts";
import { parseJsonObject, readBody, requireJson } from "./body.ts";
import type { Exchange } from "./exchange.ts";
import { assembleInput, planInput, RememberedInputs } from "./input.ts";
import { csvAnswer, wireAnswer } from "./operation-answer.ts";
import { type Answer, ok, wired } from "./responses.ts";

/** Answers requests of one method on one path. */
export interface Route {
  /** Empty for any method. */
  method: HTTPMethod | "";
  path: string;
  /** The path as logs and metrics name it; by default `path`. */
  name?: string;
  /** The route's operation, set if a user's token may be refused. */
  operation?: OperationId | "streamEvents";
  /** Whether pages on the tenant's listed origins may read the answers. */
  forBrowsers: boolean;
  /** Whether the answers count as trades in the metrics. */
  trades?: true;
  /** The route counts its requests itself, because the bucket depends on their signature. */
  countsItself?: true;
  /** Counts in the separate widget bucket of the client's address. */
  bucket?: "embed";
  answer(exchange: Exchange): Promise<Answer>;
  /** How the route renders an error; JSON by default. */
  refuse?(exchange: Exchange, fault: Fault): Answer;
}

export interface RouteServices {
  tenantId: string;
  handlers: Handlers;
  identities: Identities;
  security: SecurityLog;
  adminHosts: AdminHosts;
  /** Establishes who calls, instead of keys and tokens in headers. */
  identify?: ((exchange: Exchange, operation: Authenticated) => Identity) | undefined;
  webhookSecrets: Readonly<Partial<Record<InboundEndpoint, EndpointSecrets>>>;
  stripeSecrets: readonly string[];
  kycProvider: InboundProvider | undefined;
  /** Stores the provider's events that concern no user. */
  sequencer: Sequencer | undefined;
  /** Counts a webhook in the signed or the general bucket; null if there is only the general bucket. */
  countWebhook: ((exchange: Exchange, signed: boolean) => Promise<void> | undefined) | null;
}

const WEBHOOK_LIMIT_BYTES = 256 * 1024;

/** Returns the fault of a webhook's signature over the received bytes; undefined if it is valid. */
type Verify = (
  exchange: Exchange,
  body: Buffer,
  services: RouteServices,
) => SignatureFault | undefined | Promise<SignatureFault | undefined>;

const generic =
  (endpoint: InboundEndpoint): Verify =>
  (exchange, body, { webhookSecrets }) => {
    const secrets = webhookSecrets[endpoint];
    return secrets ? inboundFault(body, (name) => exchange.header(name), secrets, wallClockMs()) : "no-secret";
  };
const verifyGenericKyc = generic("kyc");
const verifyStripe: Verify = async (exchange, body, { stripeSecrets }) => {
  const signature = exchange.header("stripe-signature");
  if (await verifyStripeSignature(body, signature, stripeSecrets, wallClockMs())) return undefined;
  if (stripeSecrets.length === 0) return "no-secret";
  return signature === undefined ? "signature-missing" : "provider-signature";
};

/** A provider with its own scheme is recognised by its header. Every other webhook must use the generic scheme. */
const verifyKyc: Verify = (exchange, body, services) => {
  const provider = ownScheme(exchange, services);
  if (!provider) return verifyGenericKyc(exchange, body, services);
  return provider.verify(body, (name) => exchange.header(name), wallClockMs()) ? undefined : "provider-signature";
};

function ownScheme(exchange: Exchange, { kycProvider }: RouteServices): InboundProvider | undefined {
  return kycProvider && exchange.header(kycProvider.header) !== undefined ? kycProvider : undefined;
}

/** A provider's own event; undefined for a body in the generic format. */
type Read = (exchange: Exchange, body: Record<string, unknown>, services: RouteServices) => KycFinding | undefined;

const readKyc: Read = (exchange, body, services) => ownScheme(exchange, services)?.read(body);

/** How each webhook is verified and read, and the scope that an operator's key needs to send it for the provider. */
interface SignedWebhook {
  /** The actor in audit entries, unless the handler states another. */
  actor: string;
  verify: Verify;
  read?: Read;
  scope: OperationScope;
}

const SIGNED: Partial<Record<OperationId, SignedWebhook>> = {
  receiveKyc: { actor: "provider:kyc", verify: verifyKyc, read: readKyc, scope: "users" },
  receivePayment: { actor: "provider:payments", verify: generic("payments"), scope: "funds" },
  receivePrice: { actor: "oracle", verify: generic("oracle"), scope: "settle" },
  receiveStripe: { actor: "provider:stripe", verify: verifyStripe, scope: "funds" },
};

/** The route of an operation. Deny by default: a row with an unknown signature scheme gets no route. */
export function operationRoute(id: OperationId, services: RouteServices): Route | undefined {
  const operation: Operation = operations[id];
  if (operation.auth === "signature") {
    const scheme = SIGNED[id];
    return scheme && webhookRoute(id, operation, scheme, services);
  }
  const { handlers, identities, adminHosts, identify } = services;
  const plan = planInput(operation);
  const isChange = operation.method !== "GET" && operation.auth !== "none";
  const cached = cachedBy(identities, operation);
  const inputs = operation.method === "GET" ? new RememberedInputs<OperationId>() : undefined;
  return {
    method: operation.method,
    path: operation.path,
    operation: id,
    forBrowsers: isForBrowsers(operation),
    ...(operation.trades ? { trades: true } : {}),
    async answer(exchange) {
      requireExactPath(exchange);
      if (operation.auth === "admin") adminHosts.require(exchange);
      const authenticated = identify?.(exchange, operation) ?? authenticate(exchange, operation, identities);
      const identity = authenticated instanceof Promise ? await authenticated : authenticated;
      const known = inputs?.get(exchange);
      const input = known ?? (await assembleInput(exchange, plan));
      const caller = callerOf(exchange, operation, identity);
      exchange.userId = caller.user?.id;
      if (isChange) exchange.attempt = attemptOf(id, input, caller);
      try {
        const decoded = known ?? decodeInput(id, input);
        if (!known) inputs?.set(exchange, decoded);
        const answered = await perform(
          handlers,
          id,
          decoded,
          repeatableCaller(exchange, operation, identity, caller, decoded),
        );
        return operation.csv && "format" in decoded && decoded.format === "csv"
          ? csvAnswer(exchange, operation, answered)
          : wireAnswer(exchange, operation, answered);
      } finally {
        cached?.forget();
      }
    },
  };
}

/** h3 also matches a path with a trailing slash. @throws Fault NOT_FOUND */
function requireExactPath({ pathname }: Exchange): void {
  if (pathname.endsWith("/")) throw new Fault("NOT_FOUND", "Not found");
}

/** The cached credentials that an operation may change; the next request rereads them. */
function cachedBy({ keys, ended }: Identities, { scope, changes }: Operation): { forget(): void } | undefined {
  if (scope === "keys" || changes === "keys") return keys;
  return changes === "sessions" ? ended : undefined;
}

/** The attempt that the refusal log may record. The input is not validated yet, so a long `marketId` is omitted. */
function attemptOf(
  operation: OperationId,
  { marketId }: Record<string, unknown>,
  { actor, user }: Caller,
): NonNullable<Exchange["attempt"]> {
  const isShort = typeof marketId === "string" && marketId !== "" && marketId.length <= 64;
  return { operation, actor, userId: user?.id ?? null, marketId: isShort ? marketId : null };
}

function webhookRoute(
  id: OperationId,
  operation: Operation,
  { actor, verify, read, scope }: SignedWebhook,
  services: RouteServices,
): Route {
  const { tenantId, handlers, sequencer, countWebhook, identities, adminHosts } = services;
  /** An operator who acts for the provider gives a reason and a key, and becomes the recorded actor. */
  const senderOf = async (exchange: Exchange): Promise<Caller> => {
    if (exchange.header("audit-reason") === undefined) return { actor };
    adminHosts.require(exchange);
    const identity = await authenticate(exchange, { auth: "admin", method: "POST", scope }, identities);
    return callerOf(exchange, operation, identity);
  };
  return {
    method: operation.method,
    path: operation.path,
    forBrowsers: false,
    ...(countWebhook ? { countsItself: true } : {}),
    async answer(exchange) {
      requireExactPath(exchange);
      let body: Buffer | undefined;
      let signed = false;
      let fault: SignatureFault | undefined;
      try {
        body = await readBody(exchange.req, WEBHOOK_LIMIT_BYTES);
        // Checked before the body is parsed. A webhook for another tenant gets the same answer as a bad signature.
        fault = await verify(exchange, body, services);
        if (exchange.params.tenantId !== tenantId) fault = "other-tenant";
        signed = fault === undefined;
      } finally {
        await countWebhook?.(exchange, signed);
      }
      // Only the detail says what is wrong, and no caller sees the detail, so a forger learns nothing.
      if (!signed) throw new Fault("SIGNATURE_INVALID", "Invalid signature", { detail: { fault } });
      requireJson(exchange.header("content-type"));
      const parsed = parseJsonObject(body, JSON.parse);
      const said = read?.(exchange, parsed, services);
      const webhook = { sha256: createHash("sha256").update(body).digest("hex"), body: body.toString() };
      const sender = await senderOf(exchange);
      if (said && "news" in said) {
        invariant(sequencer, "where a provider is heard, its news can be kept");
        return ok(await keepNews({ sequencer }, said, webhook));
      }
      const { wire } = await invoke(handlers, id, { ...(said ?? parsed), tenantId }, { ...sender, webhook });
      return wired(wire);
    },
  };
}
