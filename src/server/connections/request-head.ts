import type { IncomingMessage } from "node:http";

const PLAIN_HOST = /^[^\s,/?#@\\]*$/;

/**
 * What is wrong with a request's head although Node's parser takes it. Node's own refusal of a missing `Host` has no body.
 * Its parser takes two of them (joined by a comma here), one that is no host, and other codings before `chunked`: a proxy
 * in front may read each of those in another way than we do.
 */
export function headFault({ headers, httpVersion }: IncomingMessage): string | undefined {
  const { host, "transfer-encoding": coding } = headers;
  if (host === undefined && httpVersion === "1.1") return "A Host header is required";
  if (host !== undefined && !PLAIN_HOST.test(host)) return "The Host header is not a host";
  if (coding !== undefined && coding.toLowerCase() !== "chunked")
    return "The body must come in chunks or with its length";
  return undefined;
}
