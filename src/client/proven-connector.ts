import { randomBytes } from "node:crypto";
import type { Socket } from "node:net";
import type { buildConnector } from "undici";
import { isProof, PROOF_BODY_BYTES, proofPath } from "../contract/server-proof.ts";
import { Fault } from "../domain/fault.ts";
import { isThisMachine } from "./this-machine.ts";

/** The server that a connection is opened to. */
export interface ExpectedServer {
  tenant: string;
  /** Host and port, for the message. */
  address: string;
  /** The `Host` that the server is found under, where it shares its port with others. */
  host?: string | undefined;
  /** The secrets of the tenant's servers at this address; a restart changes them. */
  secrets(): Promise<readonly string[]>;
}

/** Codes of a connection without a proof, which do not say which process answered. */
export const PROOF_TIMEOUT = "PROOF_TIMEOUT";
export const PROOF_LOST = "PROOF_LOST";

const TIMEOUT_MS = 5000;
const MAX_HEAD_BYTES = 4096;

/** The refusal of a process that did not prove to be the tenant's server. */
export function unproven(tenant: string, address: string, remedy?: string): Fault {
  const message = `the process at ${address} is not proven to be the server of ${tenant}`;
  return new Fault("SERVER_UNPROVEN", remedy === undefined ? message : `${message}; ${remedy}`);
}

/**
 * Opens connections by `connect` and passes on only those whose other end proved that it is the server; before the proof
 * only a nonce is sent. Every connection is proven, because another process may take the port between two.
 */
export function provenConnector(connect: buildConnector.connector, expected: ExpectedServer): buildConnector.connector {
  return (options, callback) =>
    connect(options, (error, socket) => {
      if (error) return callback(error, null);
      prove(socket, expected).then(
        () => callback(null, socket),
        (failure: Error) => {
          socket.destroy();
          callback(failure, null);
        },
      );
    });
}

/** @throws Fault SERVER_UNPROVEN; an Error with the code PROOF_TIMEOUT or PROOF_LOST when nothing was answered */
async function prove(
  socket: Socket,
  { tenant, address: shown, host = "localhost", secrets }: ExpectedServer,
): Promise<void> {
  const nonce = randomBytes(32).toString("base64url");
  const { remoteAddress: address, remotePort: port } = socket;
  const known = await secrets();
  // A run file with the address of another machine was copied, so others may know its secret.
  if (address === undefined || port === undefined || known.length === 0 || !isThisMachine(address))
    throw unproven(tenant, shown);
  socket.write(`GET ${proofPath(nonce)} HTTP/1.1\r\nhost: ${host}\r\n\r\n`);
  const body = await readProof(socket);
  const holds = known.filter((secret) => isProof(body, secret, tenant, nonce, { address, port }));
  if (holds.length === 0) throw unproven(tenant, shown);
}

/** The body of the proof; an empty text as soon as the answer cannot be one. */
function readProof(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let seen = "";
    const onReadable = (): void => {
      const chunk: Buffer | null = socket.read();
      seen += chunk?.toString("latin1") ?? "";
      const body = proofIn(seen);
      if (body !== undefined) end(() => resolve(body));
    };
    const onClose = (): void =>
      end(() => (seen === "" ? reject(failure("The connection was closed", PROOF_LOST)) : resolve("")));
    const timer = setTimeout(
      () => end(() => reject(failure("The proof did not come in time", PROOF_TIMEOUT))),
      TIMEOUT_MS,
    );
    const end = (settle: () => void): void => {
      clearTimeout(timer);
      socket.off("readable", onReadable).off("end", onClose).off("close", onClose).off("error", onClose);
      settle();
    };
    socket.on("readable", onReadable).on("end", onClose).on("close", onClose).on("error", onClose);
  });
}

/**
 * The body of the proof, an empty text for another answer, undefined while it is incomplete. Nothing may follow the proof,
 * because it would be taken for the answer to the first request.
 */
function proofIn(seen: string): string | undefined {
  const end = seen.indexOf("\r\n\r\n");
  if (end < 0) return seen.length > MAX_HEAD_BYTES ? "" : undefined;
  const head = seen.slice(0, end).toLowerCase();
  const body = seen.slice(end + 4);
  const isFit =
    head.startsWith("http/1.1 200 ") && `${head}\r\n`.includes(`\r\ncontent-length: ${PROOF_BODY_BYTES}\r\n`);
  if (!isFit || body.length > PROOF_BODY_BYTES) return "";
  return body.length < PROOF_BODY_BYTES ? undefined : body;
}

function failure(message: string, code: string): Error {
  return Object.assign(new Error(message), { code });
}
