import type { RequestListener } from "node:http";
import type { Socket } from "node:net";
import ipaddr from "ipaddr.js";
import { nonceOf, plainAddress, proofBody, signProof } from "../contract/server-proof.ts";
import { nextRequestId } from "./exchange.ts";
import { SECURITY_HEADERS } from "./responses.ts";

/**
 * Proves to commands on this machine that this process is the tenant's server, before the request goes on to `handle`: it
 * takes no key, has a count of its own, and costs one HMAC. To other machines, those behind a proxy on this one included,
 * the path does not exist.
 *
 * @param secret of the run file; without one nothing is proven
 * @param admit whether a connection may have a proof; one that may not is closed without an answer
 */
export function proving(
  handle: RequestListener,
  tenant: string,
  secret: string | undefined,
  admit: (socket: Socket) => Promise<boolean> = async () => true,
): RequestListener {
  if (secret === undefined) return handle;
  return (req, res) => {
    const { socket, method } = req;
    const nonce = method === "GET" || method === "HEAD" ? nonceOf(req.url) : undefined;
    if (nonce === undefined) return handle(req, res);
    const { localAddress: address, localPort: port } = socket;
    const isCommand = isFromThisMachine(socket) && req.headers["x-forwarded-for"] === undefined;
    if (address === undefined || port === undefined || !isCommand) return handle(req, res);
    const prove = (): void => {
      const body = proofBody(signProof(secret, tenant, nonce, { address, port }));
      res.writeHead(
        200,
        [...SECURITY_HEADERS, ["request-id", nextRequestId()], ["content-length", String(body.length)]].flat(),
      );
      res.end(body);
    };
    admit(socket).then(
      (admitted) => (admitted ? prove() : socket.destroy()),
      () => socket.destroy(),
    );
  };
}

/** A connection to an address of this machine comes from that same address, or from a loopback one. */
function isFromThisMachine({ localAddress = "", remoteAddress = "" }: Socket): boolean {
  const [local, remote] = [plainAddress(localAddress), plainAddress(remoteAddress)];
  return local === remote || [local, remote].every((one) => ipaddr.isValid(one) && isLoopbackAddress(one));
}

function isLoopbackAddress(address: string): boolean {
  return ipaddr.parse(address).range() === "loopback";
}
