import { randomBytes } from "node:crypto";
import { hostname } from "node:os";

/** Names this process among all that serve a tenant, whatever machine they are on. */
export const SERVER_ID = `${hostname()}-${process.pid}-${randomBytes(4).toString("hex")}`;
