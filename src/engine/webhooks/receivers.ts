import type { CommandKind } from "../command.ts";

/** Records that a receiver of webhooks is tested. The entry causes the event, as every event has an entry. */
export const testReceiver: CommandKind<{ receiver: string }, undefined> = {
  needs: () => [],
  decide(draft, { receiver }) {
    draft.record("webhook.tested", { receiver });
  },
};
