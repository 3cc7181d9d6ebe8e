import { expect, onTestFinished, test, vi } from "vitest";
import { Metrics } from "../../src/server/observe/metrics.ts";

test("metrics show deliveries by receiver and result, and how long the oldest undelivered event has waited", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const metrics = new Metrics();
  metrics.countDelivery("crm", "failed");
  metrics.countDelivery("crm", "delivered");
  metrics.countDelivery("crm", "delivered");
  let oldest = new Map([["crm", Date.now() - 90_000]]);
  metrics.setOldestUndelivered(() => oldest);
  const text = await metrics.text();
  expect(text).toContain('pmctl_webhook_deliveries_total{receiver="crm",result="delivered"} 2');
  expect(text).toContain('pmctl_webhook_deliveries_total{receiver="crm",result="failed"} 1');
  const age = Number(/pmctl_webhook_oldest_undelivered_seconds\{receiver="crm"\} (\S+)/.exec(text)?.[1]);
  expect(age).toBe(90);
  oldest = new Map();
  expect(await metrics.text()).not.toContain("pmctl_webhook_oldest_undelivered_seconds{");
});
