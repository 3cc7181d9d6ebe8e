import { isIP } from "node:net";
import { InvalidArgumentError } from "commander";
import type { DatabaseNode } from "../../app/deploy/deployment.ts";

/** Readers of option values whose text goes into files of several formats, none of which has to quote what they let pass. */

const NAME = /^[a-z][a-z0-9-]{0,39}$/;
const HOST_NAME = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/i;

/** `/srv/pmctl`, without a slash at its end. */
export function absolutePath(value: string): string {
  if (!/^(\/[\w.@:+-]+)+\/?$/.test(value) || /\/\.\.?(\/|$)/.test(value))
    throw new InvalidArgumentError("It must be an absolute path of A-Z, a-z, 0-9, _, ., @, :, + and -.");
  return value.replace(/\/$/, "");
}

/** `registry.acme.example/pmctl:1.2.3` */
export function imageReference(value: string): string {
  if (!/^[\w.-]+(:\d+)?(\/[\w.-]+)*(:[\w.-]+)?(@sha256:[0-9a-f]{64})?$/.test(value))
    throw new InvalidArgumentError("It must be an image such as registry.acme.example/pmctl:1.2.3.");
  return value;
}

/** `a=10.0.0.1,b=db.acme.example`; an IPv6 address may stand in brackets. */
export function databaseNodes(value: string): DatabaseNode[] {
  const nodes = value.split(",").map((part) => {
    const [, name = "", host = ""] = /^([^=]*)=(.*)$/.exec(part.trim()) ?? [];
    return { name, host: host.replace(/^\[(.*)\]$/, "$1") };
  });
  for (const { name, host } of nodes)
    if (!NAME.test(name) || !(isIP(host) || HOST_NAME.test(host)))
      throw new InvalidArgumentError("It must be a list such as a=10.0.0.1,b=10.0.0.2,c=10.0.0.3.");
  for (const key of ["name", "host"] as const)
    if (new Set(nodes.map((node) => node[key])).size < nodes.length)
      throw new InvalidArgumentError(`Each node must have a ${key} of its own.`);
  return nodes;
}
