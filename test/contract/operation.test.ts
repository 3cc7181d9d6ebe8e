import { expect, test } from "vitest";
import { NoInput, type Operation, operationsUnder } from "../../src/contract/operation.ts";
import { operations } from "../../src/contract/operations.ts";
import { OPERATION_SCOPES } from "../../src/domain/access/scopes.ts";

const { operation, operatorChange, operatorRead, userChange } = operationsUnder("operations");
const rest = { path: "/v1/x", summary: "X.", input: NoInput, output: NoInput, refusals: [] } as const;

test("an admin operation without a scope does not compile, nor one that reads with another than read", () => {
  const rows = [
    operation({ ...rest, method: "POST", auth: "admin", scope: "settle" }),
    operation({ ...rest, method: "GET", auth: "admin", scope: "read" }),
    operation({ ...rest, method: "GET", auth: "public" }),
    // @ts-expect-error an admin operation asks for a scope
    operation({ ...rest, method: "POST", auth: "admin" }),
    // @ts-expect-error one that reads too
    operation({ ...rest, method: "GET", auth: "admin" }),
    // @ts-expect-error and what reads asks for `read`
    operation({ ...rest, method: "GET", auth: "admin", scope: "funds" }),
    // @ts-expect-error no operation asks for all scopes
    operation({ ...rest, method: "POST", auth: "admin", scope: "*" }),
    // @ts-expect-error nor for an unknown one
    operation({ ...rest, method: "POST", auth: "admin", scope: "reed" }),
    // @ts-expect-error other operations ask for none
    operation({ ...rest, method: "GET", auth: "user", scope: "read" }),
  ];
  expect(rows).toHaveLength(9);
});

test("a change without its refusals does not compile, nor an operation with a code that is none, nor without a tag", () => {
  const { refusals: _, ...unstated } = rest;
  const rows = [
    operation({ ...rest, method: "GET", auth: "public", refusals: ["MARKET_NOT_FOUND"] }),
    // @ts-expect-error every row states what it refuses
    operation({ ...unstated, method: "GET", auth: "public" }),
    // @ts-expect-error a change by an operator
    operatorChange("settle", unstated),
    // @ts-expect-error or by a user too
    userChange(unstated),
    // A read that has none of its own need not say so.
    operatorRead(unstated),
    // @ts-expect-error by codes that exist
    operation({ ...rest, method: "GET", auth: "public", refusals: ["NO_SUCH_CODE"] }),
    // @ts-expect-error and stands under a tag
    { ...rest, method: "GET", auth: "public" } satisfies Operation,
    // @ts-expect-error that exists
    operationsUnder("elsewhere"),
  ];
  expect(rows).toHaveLength(8);
});

test("the scopes of the operations are the documented ones", () => {
  const changes = Object.entries(operations).flatMap(([id, row]) =>
    row.auth === "admin" && row.method !== "GET" ? [[row.scope, id] as const] : [],
  );
  const byScope = Object.fromEntries(
    OPERATION_SCOPES.map((scope) => [scope, changes.flatMap(([own, id]) => (own === scope ? [id] : [])).sort()]),
  );
  expect(byScope).toEqual({
    read: ["approveProposal", "executeProposal", "reconcile", "rejectProposal"],
    "config:read": ["listLatestPrices", "previewPolicy"],
    markets: ["clarifyMarket", "createMarket", "resumeMarket", "suspendMarket"],
    settle: ["checkFeeds", "correctMarket", "settleMarket", "sweepOracle", "voidMarket"],
    funds: ["approveWithdrawal", "creditWallet", "debitWallet", "rejectWithdrawal"],
    users: ["releaseUser", "restrictUser", "revokeUser"],
    config: [
      "applyConfig",
      "approvePlan",
      "enableWebhookReceiver",
      "freezeConfig",
      "replayWebhook",
      "testWebhookReceiver",
      "unfreezeConfig",
      "updatePolicy",
    ],
    keys: ["createKey", "revokeKey", "rotateKey"],
  });
});
