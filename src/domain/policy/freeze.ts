import { DAY_MS } from "../time/units.ts";

/** A tenant that accepts no change for longer is not frozen but abandoned. */
export const MAX_FREEZE_DAYS = 30;
export const MAX_FREEZE_MS = MAX_FREEZE_DAYS * DAY_MS;
