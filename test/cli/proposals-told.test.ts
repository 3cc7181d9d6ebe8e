import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  proposalApprove,
  proposalExecute,
  proposalList,
  proposalReject,
  proposalShow,
} from "../../src/cli/commands/proposal.ts";
import { resolveId } from "../../src/cli/input/names.ts";
import { runMarketSettle } from "../../src/cli/market/market-settle.ts";
import { QUESTIONS } from "../../src/client/inbox/questions.ts";
import type { WireResult } from "../../src/contract/operations.ts";
import { type Office, overHttp } from "../server/support/office.ts";
import { anyMarket } from "../support/market.ts";
import { testIo } from "./support/io.ts";

type Proposal = WireResult<"getProposal">;

const REASON = "The final report";

describe("what a person is shown who decides about a proposal", () => {
  let office: Office;
  beforeAll(async () => {
    office = await overHttp({
      resolution: { approvals: 2, correctionHours: 24, categories: { slow: { holdHours: 1 } } },
      approvals: {
        ...{ withdraw: { aboveUsd: 10, approvals: 2 }, credit: { aboveUsd: 100, approvals: 2 } },
        ...{ loosen: { approvals: 2 }, key: { approvals: 2 } },
      },
    });
  });
  afterAll(() => office?.close());

  const ann = (reason?: string) => office.as("ann_key", undefined, reason === undefined ? {} : { reason });
  const eve = () => office.as("eve");
  const proposed = async (work: Promise<unknown>) => (await work) as Proposal;

  let users = 0;
  async function traded(change: object = {}) {
    const user = `usr_${++users}`;
    const { id } = await ann().createMarket(anyMarket({ question: "Will it rain?", ...change }));
    await office.tenant.deposit(user, 1000);
    await office.user(user).placeTrade({ marketId: id, selection: { side: "yes" }, amount: 50 });
    return { id, user };
  }

  /** Asks about a proposal on a terminal, and says no. */
  async function asked(command: typeof proposalApprove | typeof proposalExecute, id: string, width = 100) {
    const io = testIo({ format: "table", color: false, terminal: width, answers: [false] });
    await expect(command.run({ id }, eve(), io, true)).rejects.toThrow("Not confirmed");
    return { shown: io.stderr.text, question: io.questions.join() };
  }

  async function shown(id: string, width = 100) {
    const io = testIo({ format: "table", color: false, terminal: width });
    await proposalShow.run({ id }, eve(), io);
    return io.stdout.text;
  }

  test("whose key was revoked since, also where the name was given again", async () => {
    const { user } = await traded();
    const { proposalId } = await proposed(office.as("payer").creditWallet({ id: user, amount: 500, reason: REASON }));
    expect((await asked(proposalApprove, proposalId)).shown).not.toContain("since");
    await ann().revokeKey({ name: "payer" });
    expect((await asked(proposalApprove, proposalId)).shown).toContain("by admin:payer (key revoked or expired since)");
    const name = "payer";
    const command = { type: "createKey", name, keyType: "admin", hash: "0".repeat(64), expiresAt: null } as const;
    await office.tenant.services.sequencer.submit({ command, actor: "cli:setup" });
    expect(await shown(proposalId)).toContain("by admin:payer (key revoked or expired since)");
  });

  test("a settlement: the question, the outcome, what it pays, the reason and the evidence", async () => {
    const { id } = await traded();
    const { proposalId, ...proposal } = await proposed(
      ann(REASON).settleMarket({ marketId: id, outcome: "yes", evidence: "page 3" }),
    );
    const { shown: seen, question } = await asked(proposalApprove, proposalId);
    expect(question).toBe('settle "Will it rain?" as yes: approve it, and so carry it out?');
    const { totalUsd } = await ann().previewSettlement({ id, outcome: "yes" });
    for (const text of ["Will it rain?", "YES", "1 position", `${totalUsd} USD`, "treasury", REASON, "page 3", id])
      expect(seen).toContain(text);
    expect(seen).toContain(proposal.proposedBy);
    expect(await shown(proposalId)).toContain(`${totalUsd} USD`);
  });

  test("a void and a correction: what is paid back and taken back", async () => {
    const first = await traded();
    const voided = await proposed(ann().voidMarket({ id: first.id, reason: REASON }));
    const { shown: back } = await asked(proposalApprove, voided.proposalId);
    expect(back).toMatch(/to\s+void "Will it rain\?"/);
    expect(back).toContain("50.00 USD");
    expect(back).toMatch(/treasury may add|from the treasury/);

    const second = await traded();
    await eve().approveProposal({
      id: (await proposed(ann().settleMarket({ marketId: second.id, outcome: "yes" }))).proposalId,
    });
    const corrected = await proposed(ann().correctMarket({ id: second.id, outcome: "no", reason: REASON }));
    const { shown: taken, question } = await asked(proposalApprove, corrected.proposalId);
    expect(question).toContain('correct "Will it rain?" to no');
    expect(taken).toContain("from YES to NO");
    expect(taken).toContain("taken back");
  });

  test("a person who settles learns before that it becomes a proposal, and what it waits for", async () => {
    const { id } = await traded({ category: "slow" });
    const io = testIo({ format: "table", color: false, terminal: 100, answers: ["no"] });
    await expect(runMarketSettle({ id, outcome: "yes", reason: REASON }, ann(), io)).rejects.toThrow();
    expect(io.stderr.text).toMatch(
      /becomes a proposal +it waits for 2 approvals, yours among them, and for a hold of 1 h/,
    );
    expect(io.stderr.text).toContain("To propose to pay the positions, type");
    expect(io.stderr.text).not.toContain("cannot be undone");
  });

  test("the hold that a market has for itself is among it", async () => {
    const { id } = await traded({ resolution: { holdHours: 5 } });
    const io = testIo({ format: "table", color: false, terminal: 100, answers: ["no"] });
    await expect(runMarketSettle({ id, outcome: "yes", reason: REASON }, ann(), io)).rejects.toThrow();
    expect(io.stderr.text).toContain("and for a hold of 5 h");
  });

  test("the users who object, each with the words of the objection", async () => {
    const { id, user } = await traded({ category: "slow" });
    const { proposalId } = await proposed(ann(REASON).settleMarket({ marketId: id, outcome: "no" }));
    await office.user(user).objectToProposal({ id, reason: "It did rain in the suburbs" });
    const { shown: seen, question } = await asked(proposalExecute, proposalId);
    expect(seen).toContain(`${user}: It did rain in the suburbs`);
    expect(question).toBe('settle "Will it rain?" as no: execute it?');
    expect((await asked(proposalApprove, proposalId)).question).toBe('settle "Will it rain?" as no: approve it?');
  });

  test("a withdrawal and a credit: the user and the amount, also in lists and in the inbox", async () => {
    await office.tenant.deposit("fay", 100);
    const { withdrawalId } = await office.user("fay").requestWithdrawal({ amount: 95 });
    const { proposalId } = await proposed(ann(REASON).approveWithdrawal({ id: withdrawalId }));
    const credit = await proposed(ann().creditWallet({ id: "fay", amount: 150, reason: REASON }));
    const { shown: seen, question } = await asked(proposalApprove, proposalId);
    expect(question).toBe("withdraw $95 of fay: approve it, and so carry it out?");
    expect(seen).toMatch(/user\s+fay/);
    expect(seen).toMatch(/amount\s+95.00 USD/);
    expect((await asked(proposalApprove, credit.proposalId)).shown).toMatch(/amount\s+150.00 USD/);
    const waiting = await QUESTIONS.proposals.ask(
      { api: ann(), config: { overrides: [], keys: [] } },
      { tenant: "acme", now: Date.now(), until: Date.now() },
    );
    expect(waiting.find(({ id }) => id === proposalId)).toMatchObject({
      ...{ amountUsd: 95, title: "admin:ann_key proposes to withdraw $95 of fay: 1 of 2 approvals" },
    });
    const io = testIo({ format: "table", color: false, terminal: 60 });
    await proposalList.run({ status: "pending" }, ann(), io);
    const lines = io.stdout.text.split("\n");
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(60);
    expect(io.stdout.text).toContain("of fay");
    expect(io.stdout.text).not.toContain("…");
    await eve().approveProposal({ id: proposalId });
    expect(await shown(proposalId)).toContain("withdraw $95 of fay");
  });

  test("a change of the policy and a key: the changed values, and whether a value is new or replaced", async () => {
    const { maxTradeUsd } = await ann().getPolicy({});
    const loosen = await proposed(ann(REASON).updatePolicy({ maxTradeUsd: 2_000_000 }));
    expect((await asked(proposalApprove, loosen.proposalId)).shown).toContain(`maxTradeUsd: ${maxTradeUsd} -> 2000000`);
    const created = await proposed(ann().createKey({ name: "second", type: "admin" }));
    expect((await asked(proposalApprove, created.proposalId)).question).toBe("issue the key second: approve it?");
    const rotated = await proposed(ann().rotateKey({ name: "zoe", type: "admin" }));
    expect((await asked(proposalApprove, rotated.proposalId)).question).toContain("give the key zoe a new value");
  });

  test("a rejected one: the proposer's reason and the rejection's, each with its actor", async () => {
    const { id } = await traded();
    const { proposalId } = await proposed(ann(REASON).settleMarket({ marketId: id, outcome: "yes" }));
    const io = testIo({ format: "table", color: false, terminal: 100, answers: [true] });
    await proposalReject.run({ id: proposalId, reason: "Not final yet" }, eve(), io, true);
    for (const text of [io.stdout.text, await shown(proposalId)]) {
      expect(text).toMatch(/reason\s+The final report/);
      expect(text).toMatch(/rejected\s+by admin:eve at .*: Not final yet/);
    }
  });

  test("the beginning of its id names it, with prefix or without", async () => {
    const { id } = await traded();
    await eve().approveProposal({
      id: (await proposed(ann().settleMarket({ marketId: id, outcome: "yes" }))).proposalId,
    });
    const { proposalId } = await proposed(ann().correctMarket({ id, outcome: "no", reason: REASON }));
    const [, rest] = proposalId.split("_");
    for (const text of [`prp_${rest}`, rest?.slice(0, 20) ?? "", `prp_${rest?.slice(0, 20)}`])
      expect(await resolveId("proposal", text, ann(), { tenant: {} as never })).toBe(proposalId);
  });
});
