/**
 * Host names, of which `*.acme.example` stands for each with one label more. Case, port, the dot of the root and the brackets
 * of an IPv6 address tell no names apart.
 */
export class HostNames {
  readonly #names: ReadonlySet<string>;

  constructor(names: readonly string[]) {
    this.#names = new Set(names.map(plainName));
  }

  get isEmpty(): boolean {
    return this.#names.size === 0;
  }

  /** @param host as a `Host` header or a URL carries it */
  has(host: string): boolean {
    const name = plainName(host.replace(/:\d*$/, ""));
    return this.#names.has(name) || this.#names.has(name.replace(/^[^.]+/, "*"));
  }
}

/** The host of a request target that is a whole URL; empty where that cannot be read, undefined for any other target. */
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
