import { lookup as resolve } from "node:dns";
import type { LookupFunction } from "node:net";
import ipaddr from "ipaddr.js";
import type { Dispatcher } from "undici";
import {
  isInNetworks,
  isListedHost,
  isListedPort,
  isPublic,
  type Network,
  type OutgoingRules,
} from "../domain/access/networks.ts";

/** Why our request got no answer. The message may go to logs, but never to callers, because it would map our network. */
export class OutgoingFailure extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = "OutgoingFailure";
  }
}

export interface OutgoingRequest {
  method?: "GET" | "POST";
  headers?: Record<string, string>;
  body?: string;
  timeoutMs: number;
  /** A longer answer is an error. */
  limitBytes: number;
  /** Truncates a longer answer instead: its beginning is enough. */
  cut?: true;
}

export interface OutgoingAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
}

/** How an address is called; the port is empty for the protocol's default. */
interface Reached {
  protocol: string;
  port: string;
}

/** Assumed for the lookup of a name; the real protocol and port are checked when it is connected. */
const LISTED: Reached = { protocol: "https:", port: "" };

/**
 * Requests to addresses that tenants and operators name: key sets, oracles, webhooks. They reach the public internet,
 * and private networks, ports and hosts only if the tenant file allows them. An address is checked as written, as
 * resolved and as connected. So neither a redirect (never followed), nor a name that resolves differently, nor an odd
 * notation leads inside.
 */
export class OutgoingHttp {
  readonly #rules: OutgoingRules;
  readonly #allowed: readonly Network[];
  /** Created with the first request: undici needs 3 MB, and many tenants' servers never send requests. */
  #agent: Promise<Dispatcher> | undefined;

  constructor(rules: OutgoingRules = {}) {
    this.#rules = rules;
    this.#allowed = (rules.allowPrivate ?? []).map((range) => ipaddr.parseCIDR(range));
  }

  /** @throws OutgoingFailure if there is no complete answer; the caller judges the status */
  async request(url: string, options: OutgoingRequest): Promise<OutgoingAnswer> {
    const { method = "GET", headers = {}, body, timeoutMs, limitBytes, cut } = options;
    const target = URL.canParse(url) ? new URL(url) : undefined;
    if (!target || !/^https?:$/.test(target.protocol) || target.username !== "" || target.password !== "")
      throw new OutgoingFailure("The address is not an https URL without credentials");
    // An address stored before the file listed hosts is refused here.
    if (!isListedHost(target.hostname, this.#rules)) throw new OutgoingFailure("The host is not in network.allowHosts");
    const signal = AbortSignal.timeout(timeoutMs);
    try {
      this.#agent ??= this.#openAgent();
      const dispatcher = await this.#agent;
      const { request } = await import("undici");
      const answer = await request(target, {
        method,
        headers,
        signal,
        dispatcher,
        ...(body === undefined ? {} : { body }),
      });
      const chunks: Buffer[] = [];
      let size = 0;
      for await (const chunk of answer.body) {
        size += (chunk as Buffer).length;
        if (size > limitBytes && !cut) throw new OutgoingFailure(`The answer is longer than ${limitBytes} bytes`);
        chunks.push(chunk as Buffer);
        // Leaving the loop destroys the connection and the rest of the answer.
        if (size > limitBytes) break;
      }
      return { status: answer.statusCode, headers: answer.headers, body: Buffer.concat(chunks) };
    } catch (error) {
      if (error instanceof OutgoingFailure) throw error;
      const reason = signal.aborted ? `no answer within ${timeoutMs} ms` : codeOf(error);
      throw new OutgoingFailure(`The request failed: ${reason}`, error);
    }
  }

  async close(): Promise<void> {
    await (await this.#agent)?.destroy();
  }

  async #openAgent(): Promise<Dispatcher> {
    const { Agent, buildConnector } = await import("undici");
    // A name is resolved before its port is known, so each kind of port has its own resolution.
    const toListedPort = buildConnector({ lookup: this.#lookup((address) => this.#mayReach(address, LISTED)) });
    const toOtherPort = buildConnector({ lookup: this.#lookup((address) => this.#isAllowed(address)) });
    return new Agent({
      pipelining: 1,
      maxHeaderSize: 16 * 1024,
      connect: (options, callback) => {
        // Node calls `lookup` for names only.
        const refusal = this.#refusalOfLiteral(options);
        if (refusal) return callback(refusal, null);
        const connect = isListedPort(options, this.#rules) ? toListedPort : toOtherPort;
        connect(options, (error, socket) => {
          if (error) return callback(error, null);
          if (socket && this.#mayReach(socket.remoteAddress ?? "", options)) return callback(null, socket);
          socket?.destroy();
          callback(new OutgoingFailure("The connection led to an address that is not allowed"), null);
        });
      },
    });
  }

  #lookup(mayReach: (address: string) => boolean): LookupFunction {
    return (hostname, options, callback) => {
      resolve(hostname, { ...options, all: true }, (error, addresses) => {
        // A name with one private address among public ones would sometimes lead inside, so it is refused.
        const refused = addresses?.some(({ address }) => !mayReach(address));
        const [first] = addresses ?? [];
        if (error || !first) callback(error ?? new OutgoingFailure("The name has no address"), "", 0);
        else if (refused) callback(new OutgoingFailure("The name leads to an address that is not allowed"), "", 0);
        else if (options.all) callback(null, addresses);
        else callback(null, first.address, first.family);
      });
    };
  }

  #refusalOfLiteral(options: Reached & { hostname: string }): OutgoingFailure | undefined {
    const address = options.hostname.replace(/^\[|\]$/g, "");
    if (!ipaddr.isValid(address)) return undefined;
    return this.#mayReach(address, options) ? undefined : new OutgoingFailure("The address is not allowed");
  }

  /** Plain http is allowed only in allowed private networks: elsewhere it could be read and changed on its way. */
  #mayReach(address: string, { protocol, port }: Reached): boolean {
    if (this.#isAllowed(address)) return true;
    return protocol === "https:" && isListedPort({ port }, this.#rules) && isPublic(address);
  }

  #isAllowed(address: string): boolean {
    return ipaddr.isValid(address) && isInNetworks(ipaddr.process(address), this.#allowed);
  }
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  return "code" in error && typeof error.code === "string" ? error.code : error.message;
}
