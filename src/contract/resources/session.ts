import { z } from "zod";
import { NoInput, operationsUnder } from "../operation.ts";
import { Timestamp } from "../scalars.ts";
import { StoredUserId } from "../stored.ts";

export const Session = z
  .object({
    userId: StoredUserId,
    expiresAt: Timestamp.meta({ description: "When the token behind the cookie expires, and the cookie with it." }),
  })
  .meta({ id: "Session" });

export const SessionEnded = z.object({ ended: z.literal(true) }).meta({ id: "SessionEnded" });

const { operation } = operationsUnder("identity");

/** Served by the HTTP server alone: a cookie has no meaning elsewhere. */
export const sessionOperations = {
  createSession: operation({
    method: "POST",
    path: "/v1/session",
    auth: "user",
    summary: "Keep the bearer token in a cookie that scripts cannot read.",
    input: NoInput,
    output: Session,
    refusals: [],
    extension: true,
  }),
  deleteSession: operation({
    method: "DELETE",
    path: "/v1/session",
    auth: "public",
    summary: "End the session: the cookie goes, and the token behind it is refused from then on.",
    input: NoInput,
    output: SessionEnded,
    refusals: [],
    extension: true,
  }),
};
