import type { Socket } from "node:net";

/** The longest message of a server during a login, in bytes. */
const MAX_LENGTH = 65_536;
const AUTHENTICATION = 0x52;
const OK = 0;
const CLEARTEXT = 3;
const MD5 = 5;
const SASL = 10;
const SASL_CONTINUE = 11;
const SASL_FINAL = 12;

/** Whether the message that the driver is about to handle may be answered with the password. */
let isAsked = false;

/**
 * The password as the driver's option. The driver (postgres 3.4.9) answers a server that asks for it in clear, during the
 * login and at any time after it. It asks here while it handles the message, right behind `guardLogin`, and is told an
 * empty password unless that message is a fair one.
 */
export function passwordWhenAsked(password: string): () => string {
  return () => {
    const told = isAsked ? password : "";
    isAsked = false;
    return told;
  };
}

/**
 * Reads what a server sends until it accepts the login, before the driver does. The login is refused when the server asks
 * for the password in clear or as MD5, or accepts a login that SCRAM began without the signature that only one who knows
 * the password can give; the driver compares that one where it comes.
 * @param socket that nothing else reads yet
 * @param mayTell whether the server may have the password itself
 * @param refuse must destroy the connection, and is told what the server does
 */
export function guardLogin(socket: Socket, mayTell: boolean, refuse: (problem: string) => void): void {
  const problemOf = loginReader(mayTell);
  const spokenBefore = socket.bytesWritten;
  const read = (chunk: Buffer) => {
    // The driver may not listen yet, and would take what follows for the beginning of a message.
    const result = socket.bytesWritten === spokenBefore ? "speaks first" : problemOf(chunk);
    isAsked = result === "asks";
    if (result === "reads on" || result === "asks") return;
    socket.off("data", read);
    if (result !== "accepts") refuse(result);
  };
  socket.on("data", read);
}

type Result = "reads on" | "asks" | "accepts" | Problem;
type Problem = (typeof PROBLEMS)[keyof typeof PROBLEMS] | "speaks first";

const PROBLEMS = {
  [CLEARTEXT]: "asks for the password in clear; it is told with sslmode=require or stronger, or takes scram-sha-256",
  [MD5]: "asks for the password as MD5; it is told with sslmode=require or stronger, or takes scram-sha-256",
  unsigned: "accepts the login without showing that it knows the password",
  unknown: "asks for a kind of login that pmctl does not have",
  malformed: "does not speak PostgreSQL's protocol",
} as const;

/** What the messages come to that a server sends during one login, piece by piece as they arrive. */
function loginReader(mayTell: boolean): (chunk: Buffer) => Result {
  let unread = Buffer.alloc(0);
  let last: number | undefined;
  return (chunk) => {
    let result: Result = "reads on";
    unread = Buffer.concat([unread, chunk]);
    while (unread.length > 4) {
      const length = unread.readUInt32BE(1);
      const isAuthentication = unread[0] === AUTHENTICATION;
      if (length < (isAuthentication ? 8 : 4) || length > MAX_LENGTH) return PROBLEMS.malformed;
      if (unread.length <= length) break;
      const kind = isAuthentication ? unread.readUInt32BE(5) : undefined;
      unread = unread.subarray(length + 1);
      if (kind === undefined) continue;
      result = resultOf(kind, last, mayTell);
      if (result !== "reads on" && result !== "asks") break;
      last = kind;
    }
    return result;
  };
}

function resultOf(kind: number, last: number | undefined, mayTell: boolean): Result {
  if (kind === OK) return last === SASL || last === SASL_CONTINUE ? PROBLEMS.unsigned : "accepts";
  if (kind === CLEARTEXT || kind === MD5) return mayTell && last === undefined ? "asks" : PROBLEMS[kind];
  if (kind === SASL && last === undefined) return "reads on";
  if (kind === SASL_CONTINUE && last === SASL) return "asks";
  if (kind === SASL_FINAL && last === SASL_CONTINUE) return "reads on";
  return PROBLEMS.unknown;
}
