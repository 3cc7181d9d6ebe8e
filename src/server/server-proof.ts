import type { RequestListener } from "node:http";
import type { Socket } from "node:net";
import ipaddr from "ipaddr.js";
import { nonceOf, plainAddress, proofBody, signProof } from "../contract/server-proof.ts";
import { nextRequestId } from "./exchange.ts";

/**
 * Proves to commands on this machine that this process is the tenant's server, before the request goes on to `handle`: it
 * takes no key and no place in the rate limit, and costs one HMAC. To other machines the path does not exist.
 *
 * @param secret of the run file; without one nothing is proven
 */
export function proving(handle: RequestListener, tenant: string, secret: string | undefined): RequestListener {
  if (secret === undefined) return handle;
  return (req, res) => {
    const nonce = req.method === "GET" ? nonceOf(req.url) : undefined;
    const { localAddress: address, localPort: port } = req.socket;
    if (nonce === undefined || address === undefined || port === undefined || !isFromThisMachine(req.socket))
      return handle(req, res);
    const body = proofBody(signProof(secret, tenant, nonce, { address, port }));
    res.writeHead(200, {
      "content-type": "application/json",
      "cache-control": "no-store",
      "request-id": nextRequestId(),
      "content-length": body.length,
    });
    res.end(body);
  };
}

/** The system gives a connection to an address of its own that same address as its origin, or a loopback one. */
function isFromThisMachine({ localAddress = "", remoteAddress = "" }: Socket): boolean {
  const [local, remote] = [plainAddress(localAddress), plainAddress(remoteAddress)];
  return local === remote || [local, remote].every((one) => ipaddr.isValid(one) && isLoopbackAddress(one));
}

function isLoopbackAddress(address: string): boolean {
  return ipaddr.parse(address).range() === "loopback";
}
