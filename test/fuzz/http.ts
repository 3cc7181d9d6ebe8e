import { createHmac } from "node:crypto";
import { connect as connectSocket } from "node:net";
import { Webhook } from "standardwebhooks";
import { Pool } from "undici";
import { z } from "zod";
import type { Operation } from "../../src/contract/operation.ts";
import { type OperationId, operationIds, operations } from "../../src/contract/operations.ts";
import { Deposit } from "../../src/contract/resources/inbound.ts";
import type { ClusterConnection } from "../../src/postgres/embedded/connection.ts";
import { planInput } from "../../src/server/input.ts";
import type { Random } from "../model/random.ts";
import { SECRETS, signatureOf, TENANT, tokenOf } from "../model/tenant.ts";
import {
  onfidoRun,
  personaInquiry,
  sumsubReviewed,
  veriffDecision,
  veriffFullAuto,
} from "../providers/fixtures/kyc.ts";
import type { Schema } from "../server/support/bad-values.ts";
import { generated, type Known, written } from "./generate.ts";
import { mutate, NUMBERS, TEXTS } from "./mutate.ts";
import { PROVIDER_SECRET, type ProviderName, Scene, USERS } from "./scene.ts";
import { Finding, type Target } from "./target.ts";

/** A request but for its credentials, which are made when it is sent: tokens and signatures hold for minutes. */
interface Message {
  method: string;
  path: string;
  headers: Record<string, string>;
  /** In base64: the bytes may be no text. */
  body: string | null;
  as: "admin" | "public" | "user" | "nobody";
  user: string;
  sign: "none" | "v1" | "v2" | "stripe" | ProviderName;
}

/** A tenant that was fuzzed for so long is full of what cases left; another begins afresh, with another provider. */
const CASES_PER_SCENE = 25_000;
const PROVIDERS = ["sumsub", "persona", "veriff", "onfido"] as const;
const STRIPE_TYPES = ["payment_intent.succeeded", "checkout.session.completed", "charge.refunded", "refund.created"];
const JSON_TYPE = "application/json";

/** Requests through the whole server, webhooks that are signed rightly, and bytes on a socket. */
export async function httpTargets(template: ClusterConnection): Promise<Target[]> {
  const stage = new Stage(template);
  await stage.scene();
  const shared = { seeds: [], guided: false, check: () => stage.check() };
  return [
    {
      ...shared,
      name: "http",
      concurrency: 8,
      make: (random) => packed(stage.request(random)),
      run: (input) => stage.send(unpacked(input)),
      close: () => stage.close(),
    },
    {
      ...shared,
      name: "webhook",
      concurrency: 8,
      make: (random) => packed(webhook(random, stage.provider)),
      run: (input) => stage.send(unpacked(input)),
    },
    {
      ...shared,
      name: "socket",
      concurrency: 4,
      make: (random) => mutate(random, [rawOf(stage.request(random))], RAW_WORDS),
      run: (input) => stage.sendRaw(input),
    },
  ];
}

const packed = (message: Message) => Buffer.from(JSON.stringify(message));
const unpacked = (input: Buffer) => JSON.parse(input.toString()) as Message;

class Stage {
  readonly #template: ClusterConnection;
  readonly #cursors: string[] = [];
  #sent = 0;
  #scenes = 0;
  #open: Promise<{ scene: Scene; pool: Pool }> | undefined;

  constructor(template: ClusterConnection) {
    this.#template = template;
  }

  get provider(): ProviderName {
    return PROVIDERS[Math.max(0, this.#scenes - 1) % PROVIDERS.length] as ProviderName;
  }

  scene(): Promise<{ scene: Scene; pool: Pool }> {
    this.#open ??= (async () => {
      this.#scenes += 1;
      const scene = await Scene.open(this.#template, this.provider);
      return { scene, pool: new Pool(scene.server.url, { connections: 16 }) };
    })();
    return this.#open;
  }

  async check(): Promise<void> {
    const { scene } = await this.scene();
    await scene.check();
    if (this.#sent < CASES_PER_SCENE) return;
    await this.close();
    this.#sent = 0;
    await this.scene();
  }

  async close(): Promise<void> {
    const open = await this.#open;
    this.#open = undefined;
    await open?.pool.destroy();
    await open?.scene.close();
  }

  /** A request of some operation, mostly of the right shape. */
  request(random: Random): Message {
    const id = random.pick(operationIds);
    const operation: Operation = operations[id];
    const { path: inPath, rest } = planInput(operation);
    const wrong = random.pick([0, 0.02, 0.1]);
    const input = fields(generated(schemaOf(id), random, this.#known, wrong));
    const segment = (name: string) => {
      const value = name === "tenantId" && random.chance(0.9) ? TENANT : (input[name] ?? "m1");
      return random.chance(0.05) ? random.pick(TEXTS).replace(/[^\x21-\x7e]/g, "%00") : encoded(textOf(value));
    };
    const query =
      rest === "query"
        ? Object.entries(input)
            .filter(([name]) => !inPath.includes(name))
            .map(([name, value]) => `${encoded(name)}=${encoded(textOf(value))}`)
            .join("&")
        : "";
    let path = operation.path.replace(/:(\w+)/g, (_, name: string) => segment(name)) + (query && `?${query}`);
    if (random.chance(0.03))
      path += random.pick(["?", "/", "//", "%00", "?a=1&a=2", "#x", ";x", "?limit=-1", "/../.."]);
    const body = rest === "body" ? Buffer.from(written(without(input, inPath))) : undefined;
    const changed =
      body && random.chance(0.15) ? mutate(random, [body], ["{", "}", ",", '"a":', "null"], 80_000) : body;
    return {
      method: random.chance(0.02)
        ? random.pick(["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"])
        : operation.method,
      path,
      headers: { ...(changed && { "content-type": JSON_TYPE }), ...oddHeaders(random) },
      body: changed?.toString("base64") ?? null,
      as: random.chance(0.05) ? random.pick(["admin", "public", "user", "nobody"]) : callerOf(operation, random),
      user: random.chance(0.9) ? random.pick(USERS) : random.pick(TEXTS.filter((text) => text.isWellFormed())),
      sign: operation.auth === "signature" ? (id === "receiveStripe" ? "stripe" : random.pick(["v1", "v2"])) : "none",
    };
  }

  readonly #known: Known = (field, random) => {
    if (field === "marketId" || field === "id" || field === "market") return random.pick(["m1", "m2", "m3"]);
    if (field === "userId" || field === "user") return random.pick(USERS);
    if (field === "closeAt" || field === "expiresAt") return new Date(Date.now() + 3_600_000).toISOString();
    if (field === "resolutionRef") return random.pick(["manual", "pm:btc > 1 @ close by last", "pm:eth between 1..2"]);
    if (field === "cursor" && this.#cursors.length > 0) return random.pick(this.#cursors);
    if (field === "side") return random.pick(["yes", "no"]);
    // Keys that the fuzzer itself needs are left alone most of the time.
    if (field === "name") return random.pick(["k1", "k2", "ops", "web"]);
    return undefined;
  };

  async send({ method, path, headers, body, as, user, sign }: Message): Promise<void> {
    this.#sent += 1;
    const { pool } = await this.scene();
    const bytes = body === null ? null : Buffer.from(body, "base64");
    const credentials = { ...credentialsOf(as, user), ...signed(sign, path, bytes ?? Buffer.alloc(0)) };
    const response = await pool.request({
      method: method as "GET",
      path,
      headers: { ...credentials, ...headers },
      body: bytes,
    });
    const text = Buffer.from(await response.body.arrayBuffer());
    judge(`${method} ${path}`, response.statusCode, response.headers, method === "HEAD" ? undefined : text);
    const cursor = response.headers["next-cursor"];
    if (typeof cursor === "string" && this.#cursors.push(cursor) > 50) this.#cursors.shift();
  }

  async sendRaw(input: Buffer): Promise<void> {
    this.#sent += 1;
    const { scene } = await this.scene();
    const received = await exchange(scene.server.port, input);
    // Of several answers each begins where the one before it ends, as its length says.
    for (let rest = received; rest.length > 0; ) {
      const end = rest.indexOf("\r\n\r\n");
      const [line = "", ...lines] = rest.subarray(0, Math.max(0, end)).toString("latin1").split("\r\n");
      const status = /^HTTP\/1\.1 (\d{3})/.exec(line)?.[1];
      if (end === -1 || status === undefined) throw new Finding(`no answer: ${rest.toString("latin1").slice(0, 200)}`);
      const headers = Object.fromEntries(
        lines.map((each) => [each.slice(0, each.indexOf(":")).toLowerCase(), each.slice(each.indexOf(":") + 2)]),
      );
      const length = headers["content-length"];
      // A wish to go on, which an answer follows.
      if (Number(status) < 200) {
        rest = rest.subarray(end + 4);
        continue;
      }
      // Streams and chunks go to the end.
      const body = rest.subarray(end + 4, length === undefined ? undefined : end + 4 + Number(length));
      const isWhole = length !== undefined && body.length === Number(length);
      judge(line, Number(status), headers, isWhole ? body : undefined);
      // An answer to HEAD has the length of the body that it does not have.
      if (!isWhole) return;
      rest = rest.subarray(end + 4 + body.length);
    }
  }
}

function judge(what: string, status: number, headers: Record<string, unknown>, body: Buffer | undefined): void {
  const shown = `${what.slice(0, 300)} → ${status} ${body?.toString().slice(0, 300) ?? ""}`;
  if (status >= 500) throw new Finding(shown);
  if (status >= 400 && typeof headers["error-code"] !== "string") throw new Finding(`a refusal without code: ${shown}`);
  if (typeof headers["request-id"] !== "string") throw new Finding(`an answer without Request-Id: ${shown}`);
  if (headers["content-type"] !== JSON_TYPE || body === undefined || status === 204) {
    if (status >= 400)
      if (headers["content-type"] !== JSON_TYPE) throw new Finding(`a refusal that is no JSON: ${shown}`);
    return;
  }
  let value: unknown;
  try {
    value = JSON.parse(body.toString());
  } catch {
    throw new Finding(`no JSON where it is promised: ${shown}`);
  }
  if (status < 400) return;
  const { error, ...more } = value as { error?: unknown };
  if (typeof error !== "string" || Object.keys(more).length > 0) throw new Finding(`another body: ${shown}`);
}

const schemas = new Map<OperationId, Schema>();

function schemaOf(id: OperationId): Schema {
  const known = schemas.get(id);
  if (known) return known;
  const convert = (schema: z.ZodType) => z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as Schema;
  const own = convert(operations[id].input);
  const more = id === "receivePayment" ? convert(Deposit) : undefined;
  const schema = more
    ? { ...more, $defs: { ...own.$defs, ...more.$defs }, properties: { ...own.properties, ...more.properties } }
    : own;
  schemas.set(id, schema);
  return schema;
}

type Fields = Record<string, Parameters<typeof written>[0]>;

const fields = (value: Parameters<typeof written>[0]): Fields =>
  typeof value === "object" &&
  value !== null &&
  !Array.isArray(value) &&
  Object.getPrototypeOf(value) === Object.prototype
    ? (value as Fields)
    : {};

function without(input: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(input).filter(([name]) => !names.includes(name)));
}

function textOf(value: Parameters<typeof written>[0]): string {
  return typeof value === "string" ? value : written(value);
}

/** What no URL can carry is replaced, as every client does. */
const encoded = (text: string) => encodeURIComponent(text.toWellFormed().slice(0, 3000));

function callerOf({ auth, optionalUser }: Operation, random: Random): Message["as"] {
  if (auth === "admin" || auth === "user" || auth === "public")
    return optionalUser && random.chance(0.5) ? "user" : auth;
  return "nobody";
}

function oddHeaders(random: Random): Record<string, string> {
  if (!random.chance(0.25)) return {};
  const value = () =>
    random
      .pick([...TEXTS, ...NUMBERS])
      .replace(/[^\t\x20-\x7e]/g, "?")
      .slice(0, 4000);
  const names =
    "idempotency-key if-match if-none-match policy-ttl audit-reason authorization cookie origin x-timestamp";
  const more =
    "accept-encoding content-type content-encoding x-forwarded-for last-event-id webhook-id webhook-signature";
  const name = random.pick([...names.split(" "), ...more.split(" "), "x-api-key", "range", "accept"]);
  return { [name]: name === "cookie" && random.chance(0.5) ? `__Host-pm_session=${value()}` : value() };
}

const tokens = new Map<string, { token: string; madeAt: number }>();

function credentialsOf(as: Message["as"], user: string): Record<string, string> {
  if (as === "nobody") return {};
  if (as === "admin") return { "x-api-key": SECRETS.ACME_ADMIN_KEY };
  if (as === "public") return { "x-api-key": SECRETS.ACME_PUBLIC_KEY };
  const now = Date.now();
  let kept = tokens.get(user);
  if (!kept || now - kept.madeAt > 3_600_000) kept = { token: tokenOf(user, undefined, now), madeAt: now };
  tokens.set(user, kept);
  return { "x-api-key": SECRETS.ACME_PUBLIC_KEY, authorization: `Bearer ${kept.token}` };
}

/** The right signature of these bytes. */
function signed(sign: Message["sign"], path: string, body: Buffer): Record<string, string> {
  const now = new Date();
  const seconds = String(Math.floor(now.getTime() / 1000));
  const hex = (secret: string, ...parts: (string | Buffer)[]) =>
    parts.reduce((mac, part) => mac.update(part), createHmac("sha256", secret)).digest("hex");
  switch (sign) {
    case "none":
      return {};
    case "v1":
      return { "x-signature": hex(SECRETS.ACME_WEBHOOK_SECRET, body) };
    case "v2": {
      const key = new TextEncoder().encode(SECRETS.ACME_WEBHOOK_SECRET);
      const signature = new Webhook(key, { format: "raw" }).sign("msg_1", now, body);
      return { "webhook-id": "msg_1", "webhook-timestamp": seconds, "webhook-signature": signature };
    }
    case "stripe":
      return signatureOf(path.includes("/stripe/") ? path : "/stripe/", body.toString(), now.getTime());
    case "sumsub":
      return { "x-payload-digest": hex(PROVIDER_SECRET, body), "x-payload-digest-alg": "HMAC_SHA256_HEX" };
    case "persona":
      return { "persona-signature": `t=${seconds},v1=${hex(PROVIDER_SECRET, `${seconds}.`, body)}` };
    case "veriff":
      return { "x-hmac-signature": hex(PROVIDER_SECRET, body) };
    case "onfido":
      return { "x-sha2-signature": hex(PROVIDER_SECRET, body) };
  }
}

const BODIES: Record<ProviderName, object[]> = {
  sumsub: [sumsubReviewed],
  persona: [personaInquiry("inquiry.approved"), personaInquiry("inquiry.declined")],
  veriff: [veriffDecision("approved"), veriffFullAuto("declined")],
  onfido: [onfidoRun("approved")],
};

/** A provider's webhook, signed as that provider signs, so that the parser behind the signature is reached. */
function webhook(random: Random, provider: ProviderName): Message {
  const kind = random.pick([provider, provider, "stripe", "stripe", "kyc", "payments", "oracle"] as const);
  const base = { method: "POST", as: "nobody", user: "", headers: { "content-type": JSON_TYPE } } as const;
  const at = new Date(Date.now() - random.integer(-400_000, 400_000)).toISOString();
  const user = random.pick([...USERS, "usr_9", ...TEXTS.filter((text) => text.length < 300)]);
  const generic = {
    kyc: {
      userId: user,
      status: random.pick(["passed", "failed", "pending"]),
      provider: "idv",
      verifiedAt: at,
      jurisdiction: "CH",
    },
    payments: { event: "deposit.completed", userId: user, amountUsd: 25, txRef: `tx_${random.integer(1, 500)}` },
    oracle: { source: "desk", id: "steel", price: "815.5", observedAt: at },
  };
  const words = ['"data":', '"type":', "{", "}", "[", "]", ",", "null"];
  const body =
    kind === "stripe"
      ? stripeEvent(random, user)
      : kind in generic
        ? generic[kind as "kyc"]
        : random.pick(BODIES[kind as ProviderName]);
  const text = Buffer.from(JSON.stringify(body));
  const changed = random.chance(0.7) ? mutate(random, [text], words, 300_000) : text;
  const sign = kind === "stripe" || kind === provider ? kind : random.pick(["v1", "v2"] as const);
  const noun =
    kind === "stripe" ? "payments/stripe" : `${kind === "payments" || kind === "oracle" ? kind : "kyc"}/inbound`;
  const headers = { ...base.headers, ...(random.chance(0.1) ? oddHeaders(random) : {}) };
  return { ...base, headers, path: `/${noun}/${TENANT}`, body: changed.toString("base64"), sign };
}

function stripeEvent(random: Random, userId: string): object {
  const type = random.pick(STRIPE_TYPES);
  const intent = `pi_${random.integer(1, 200)}`;
  const amounts = { amount: 100, amount_received: 100, amount_total: 100, amount_refunded: random.integer(0, 200) };
  const states = { status: "succeeded", payment_status: "paid", currency: random.pick(["usd", "USD", "eur"]) };
  const object = {
    id: type.startsWith("payment") ? intent : `x_${random.integer(1, 200)}`,
    object: type.split(".")[0],
  };
  const payment = { payment_intent: intent, metadata: { userId }, client_reference_id: userId };
  return {
    id: `evt_${random.integer(1, 1e9)}`,
    object: "event",
    type,
    data: { object: { ...object, ...amounts, ...states, ...payment } },
  };
}

const RAW_WORDS = [
  ..."\r\n|\n|\r|: |HTTP/1.1|HTTP/1.0|GET |POST |host: x\r\n|content-length: 0\r\n|content-length: 5\r\n|0\r\n\r\n".split(
    "|",
  ),
  ..."transfer-encoding: chunked\r\n|expect: 100-continue\r\n|upgrade: websocket\r\n|connection: upgrade\r\n".split(
    "|",
  ),
  ..."connection: keep-alive\r\n|%|?|//|;|\t|x-forwarded-for: 1\r\n|te: trailers\r\n|ffffffffffffffff\r\n".split("|"),
];

/** As it goes over the wire; the server ends the connection. */
function rawOf({ method, path, headers, body, as, user, sign }: Message): Buffer {
  const bytes = Buffer.from(body ?? "", "base64");
  const all = { host: "x", connection: "close", ...credentialsOf(as, user), ...signed(sign, path, bytes), ...headers };
  const lines = Object.entries({ ...all, ...(body === null ? {} : { "content-length": String(bytes.length) }) });
  const head = `${method} ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`;
  return Buffer.concat([Buffer.from(head, "latin1"), bytes]);
}

/** How long an answer may take to begin; an end of what is sent makes the server answer what it has. */
const SILENCE_MS = 10_000;
let sources = 0;

function exchange(port: number, input: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    // Of many addresses, so that none is over a limit of its own.
    sources = (sources % 200) + 1;
    const socket = connectSocket({ port, host: "127.0.0.1", localAddress: `127.0.1.${sources}`, allowHalfOpen: true });
    const parts: Buffer[] = [];
    const finish = () => {
      socket.resetAndDestroy();
      resolve(Buffer.concat(parts));
    };
    socket.on("connect", () => socket.end(input));
    socket.on("data", (chunk) => void parts.push(chunk));
    socket.on("end", finish);
    socket.on("close", finish);
    socket.on("error", ({ code }: NodeJS.ErrnoException) => {
      if (code !== "ECONNRESET" && code !== "EPIPE") reject(new Finding(`the connection fails: ${code}`));
    });
    socket.setTimeout(SILENCE_MS, () => {
      if (parts.length > 0) finish();
      else reject(new Finding("neither an answer nor an end"));
    });
  });
}
