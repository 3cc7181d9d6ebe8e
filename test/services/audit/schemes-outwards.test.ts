import { afterEach, beforeEach, expect, test } from "vitest";
import { readAuditHead } from "../../../src/queries/audit.ts";
import type { TestReceiver } from "../../outgoing/support/receiver.ts";
import { receiverAt, Stage } from "../../outgoing/support/stage.ts";

let stage: Stage;
let receiver: TestReceiver;
beforeEach(async () => {
  stage = await Stage.open();
  receiver = await stage.receiver();
});
afterEach(() => stage.close());

const alter = () => stage.tenant.sql`
  update audit set payload = replace(payload, '"amount":"5"', '"amount":"500"')
   where type = 'wallet.credited' and payload like '%"amount":"5"%'`;

test("no webhook is signed over an altered entry: not when its event is made, and not when it is due", async () => {
  const worker = stage.worker([receiverAt(receiver.url)]);
  await worker.tick();
  await stage.tenant.deposit("usr_1", 5);
  expect((await alter()).count).toBe(1);
  await stage.tenant.deposit("usr_1", 6);
  await worker.tick();
  expect(receiver.received.map(({ data }) => data.amount)).toEqual([6]);
});

test("an entry that is altered after its event was made is not signed when the event is due", async () => {
  const { sql } = stage.tenant;
  const worker = stage.worker([receiverAt(receiver.url)]);
  await worker.tick();
  await stage.tenant.deposit("usr_1", 5);
  receiver.behave = (res) => res.writeHead(500).end();
  await worker.tick();
  expect(receiver.received.map(({ data }) => data.amount)).toEqual([5]);
  const kept = await sql`select seq, payload from audit where type = 'wallet.credited'`;
  await alter();
  receiver.behave = (res) => res.writeHead(204).end();
  stage.advance(60_000);
  await worker.tick();
  expect(receiver.received).toHaveLength(1);
  expect(await stage.deliveries()).toMatchObject([{ status: "pending", attempts: 2, last_status: null }]);
  // Once the entry is what was sealed, the event is delivered as it was.
  await sql`update audit set payload = ${kept[0]?.payload} where seq = ${kept[0]?.seq}`;
  stage.advance(3_600_000);
  await worker.tick();
  expect(receiver.received.map(({ data }) => data.amount)).toEqual([5, 5]);
});

test("a stream tells nothing of an altered entry", async () => {
  const { services } = stage.tenant;
  const { seq } = await services.pool.read(readAuditHead);
  await stage.tenant.deposit("usr_1", 5);
  await alter();
  expect((await services.tail.entriesAfter(seq, 10)).map(({ content }) => content)).toEqual([undefined]);
});
