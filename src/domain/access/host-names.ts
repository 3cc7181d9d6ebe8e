/**
 * Values by host name. `*.acme.example` matches each name with one more label. Case, port, a final dot and the brackets
 * of an IPv6 address are ignored.
 */
export class HostTable<Value> {
  readonly #values: ReadonlyMap<string, Value>;

  constructor(entries: readonly (readonly [name: string, value: Value])[]) {
    this.#values = new Map(entries.map(([name, value]) => [plainName(name), value]));
  }

  get isEmpty(): boolean {
    return this.#values.size === 0;
  }

  /** @param host in the format of a `Host` header or a URL */
  find(host: string): Value | undefined {
    const name = plainName(host.replace(/:\d*$/, ""));
    return this.#values.get(name) ?? this.#values.get(name.replace(/^[^.]+/, "*"));
  }
}

/** A set of host names. */
export class HostNames {
  readonly #table: HostTable<true>;

  constructor(names: readonly string[]) {
    this.#table = new HostTable(names.map((name) => [name, true]));
  }

  get isEmpty(): boolean {
    return this.#table.isEmpty;
  }

  /** @param host in the format of a `Host` header or a URL */
  has(host: string): boolean {
    return this.#table.find(host) === true;
  }
}

/** Whether a host is in `.example`, a domain that cannot be registered (RFC 2606); `init` writes such a host. */
export function isPlaceholder(hostname: string): boolean {
  return /(^|\.)example$/.test(hostname);
}

/** The host of a request. If the target is a whole URL, its host precedes the header (RFC 9112, 3.2.2). */
export function requestedHost(target: string | undefined, header: string | undefined): string {
  return targetHost(target ?? "") ?? header ?? "";
}

/** The host of a request target that is a whole URL; empty if it is unreadable, undefined for other targets. */
export function targetHost(target: string): string | undefined {
  if (target.startsWith("/") || target === "*") return undefined;
  return URL.canParse(target) ? new URL(target).host : "";
}

function plainName(name: string): string {
  return name
    .toLowerCase()
    .replace(/\.$/, "")
    .replace(/^\[|\]$/g, "");
}
