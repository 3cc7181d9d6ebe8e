import { z } from "zod";
import { operationsUnder } from "../operation.ts";
import { Timestamp, UserId } from "../scalars.ts";

export const Session = z
  .object({
    userId: UserId,
    expiresAt: Timestamp.describe("When the cookie and the token in it expire."),
  })
  .meta({ id: "Session" });

export const SessionEnded = z.object({ ended: z.literal(true) }).meta({ id: "SessionEnded" });

const { operation } = operationsUnder("identity", { extension: true });

/** Only the HTTP server has sessions: cookies have no meaning elsewhere. */
export const sessionOperations = {
  createSession: operation({
    method: "POST",
    path: "/v1/session",
    auth: "user",
    summary: "Start a session: store the bearer token in a cookie that scripts cannot read.",
    output: Session,
    refusals: [],
  }),
  deleteSession: operation({
    method: "DELETE",
    path: "/v1/session",
    auth: "public",
    summary: "End the session: delete the cookie and refuse its token from now on.",
    output: SessionEnded,
    refusals: [],
  }),
};
