import type { Tables } from "../engine/rows.ts";
import { integer, journal, json, replaced, text, whole } from "./codec.ts";

/** Commands that wait, who objects to them, and who approved applies. */
export const APPROVAL_TABLES = {
  proposal: replaced<Tables["proposal"]>("proposal", ["id"], "chain", {
    id: text(),
    kind: text(),
    status: text(),
    subject: text(),
    marketId: text(),
    outcome: text(),
    reason: text(),
    evidence: text(),
    request: text(),
    proposedBy: text(),
    proposedAt: whole(),
    finalAt: whole(),
    approvalsNeeded: integer(),
    approvals: json(),
    objections: integer(),
    decidedBy: text(),
    decidedAt: whole(),
    result: text(),
  }),
  objection: journal<Tables["objection"]>("objection", ["proposalId", "traderId"], "chain", {
    proposalId: text(),
    traderId: text(),
    reason: text(),
    at: whole(),
  }),
  planApproval: journal<Tables["planApproval"]>("plan_approval", ["sha256", "actor"], "chain", {
    sha256: text(),
    actor: text(),
    at: whole(),
  }),
};
